// The answers that can be found again: which result has the answer for a key, and what of that may
// be used (ARCHITECTURE.md, "Reuse of answers").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/broker/effect.h"
#include "daemon/broker/event.h"
#include "daemon/store/progress.h"
#include "daemon/store/sqlite.h"

namespace puzzled {

// What an answer takes in the table and its index: 65 with a million of them, and some slack.
inline constexpr std::uint64_t kAnswerRowBytes = 72;

class AnswerTable {
 public:
  // `bytes_max` 0: nothing is kept and nothing is found.
  AnswerTable(sqlite::Connection& connection, std::uint64_t bytes_max);

  // ---- In the open transaction. All throw sqlite::Error.
  // The result is the answer for that key and version (solver_versions.id). `stretch`: as in
  // InsertResults.
  void keep(std::string_view key, std::int64_t version, std::int64_t result, std::uint64_t stretch);
  void settle(const record::ForgetStretch& record);
  // A worker failed a canary: who else is wrong, nobody knows.
  void forget_unproven();
  void forget(const record::ReviseResults& record);
  void insert_keys(const record::InsertChunk& record);
  // Copies the results that the answers were found in. `version`: that of the record.
  void insert(const record::InsertCached& record, std::int64_t version, Progress& progress);
  // Before the commit: the oldest over the limit go, only so many at a time.
  void trim();
  void rolled_back() { is_read_ = false; }

  // ---- Also outside of one.
  // Sets `known` and `more_known`: of the cases without a result (not in `done`) those whose
  // answers are known.
  void look_up(const LoadChunk& load, std::int64_t version, event::ChunkLoaded& loaded);
  [[nodiscard]] std::uint64_t count() const { return is_read_ ? last_ - first_ + 1 : 0; }

 private:
  // What is claimed of a case that can be solved.
  struct Claim {
    bool is_plain = false;  // there is an instance, and no answer that cannot be read
    std::optional<std::string_view> expected;
  };
  static Claim claim_of(std::string_view serialised_case);

  void read_ends();
  // Whether the answer of the row that `find_` is at may be used for a case with this claim, and
  // how.
  bool fits(const LookUp& look_up, const Claim& claim, KnownAnswer& known);

  const std::uint64_t answers_max_;
  sqlite::Statement find_;
  sqlite::Statement present_;
  sqlite::Statement insert_;
  sqlite::Statement remove_;
  sqlite::Statement prove_;
  sqlite::Statement forget_stretch_;
  sqlite::Statement forget_unproven_;
  sqlite::Statement evict_;
  sqlite::Statement ends_;
  sqlite::Statement insert_keys_;
  sqlite::Statement keys_;
  sqlite::Statement copy_;
  // Ids of the first and the last. What lies between and was removed counts, until it is the
  // oldest.
  bool is_read_ = false;
  std::int64_t first_ = 1;
  std::int64_t last_ = 0;
  std::int64_t forgotten_ = 0;  // meta.answers_forgotten
  std::uint64_t added_ = 0;     // in the open transaction
};

}  // namespace puzzled
