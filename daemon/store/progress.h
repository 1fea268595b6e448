// The counters that change with every result, gathered in memory during a transaction and written
// once per chunk and job at its end.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "daemon/broker/types.h"
#include "daemon/store/sqlite.h"

namespace puzzled {

// Columns of `totals` after `done`, and the verdicts they count. CANCELLED is never stored.
inline constexpr std::array kCountedVerdicts = {Verdict::kSolved,        Verdict::kAccepted,
                                                Verdict::kWrongAnswer,   Verdict::kInvalidInstance,
                                                Verdict::kInvalidAnswer, Verdict::kTimeLimit,
                                                Verdict::kMemoryLimit,   Verdict::kOutputLimit,
                                                Verdict::kCrashed,       Verdict::kInternalError};
inline constexpr const char* kCountedColumns =
    "solved, accepted, wrong_answer, invalid_instance, invalid_answer, time_limit, memory_limit, "
    "output_limit, crashed, internal_error";

class Progress {
 public:
  struct Chunk {
    std::uint64_t first_case = 0;
    std::uint32_t done = 0;
    std::uint32_t present = 0;  // bit v: a case has verdict v
    bool changed = false;
    std::string verdicts;     // one byte a case, 0 while it has none
    std::string generations;  // one byte a case; empty: all are in the first

    // REQUIRES: the case lies in the chunk.
    [[nodiscard]] std::uint64_t generation(CaseNo case_no) const;
  };

  explicit Progress(sqlite::Connection& connection);

  // The chunk as the open transaction sees it, valid until forget().
  Chunk& chunk(JobId job, ChunkNo chunk_no);
  // Marks one case of a chunk as graded. REQUIRES: it is not, and lies in the chunk.
  void add(JobId job, Chunk& chunk, CaseNo case_no, Verdict verdict, bool cached);

  // The case has no result any more and gets a new one: in the next generation, or, if there is
  // none, in the same. REQUIRES: it has one, and lies in the chunk.
  void reopen(JobId job, Chunk& chunk, CaseNo case_no, bool cached);

  void flush();   // writes all changes
  void forget();  // after a commit or a rollback

 private:
  struct Counts {
    std::array<std::int64_t, kVerdictCount> verdicts{};
    std::int64_t cached = 0;
  };

  sqlite::Statement read_;
  sqlite::Statement write_;
  sqlite::Statement write_totals_;
  std::map<std::pair<JobId, ChunkNo>, Chunk> chunks_;
  Counts& counts(JobId job);

  std::map<JobId, Counts> added_;  // since the last commit
  JobId last_job_;                 // whose counts `last_counts_` are; 0: none
  Counts* last_counts_ = nullptr;
};

}  // namespace puzzled
