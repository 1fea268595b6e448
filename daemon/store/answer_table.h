// The answers that can be found again: which result has the answer for a key, and what of that may
// be used (ARCHITECTURE.md, "Reuse of answers").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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
  // Of the cases without a result (not in `done`, ascending), those whose answers are known.
  std::vector<KnownAnswer> look_up(const LoadChunk& load, const ChunkCases& cases,
                                   const std::vector<std::uint32_t>& done, std::int64_t version);
  [[nodiscard]] std::uint64_t count() const { return is_read_ ? last_ - first_ + 1 : 0; }

 private:
  void read_ends();
  // Whether the answer of the row that `find_` is at may be used for this case, and how.
  bool fits(const LookUp& look_up, std::string_view entry, KnownAnswer& known);

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
