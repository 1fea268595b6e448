// The part of a check that looks at one chunk: its cases, what is done of them, their results.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/broker/finding.h"
#include "daemon/store/sqlite.h"

namespace puzzled {

// Where a check is inside a job: what the chunks before the next one add up to.
struct JobCheck {
  JobId job;
  std::uint64_t chunk_no = 0;    // the next one
  std::uint64_t next_case = 1;   // with which it must begin
  std::uint64_t next_file = 1;   // the first that the chunks before have not named
  std::uint64_t file_cases = 0;  // of the files before that one
  std::uint64_t digest = 0;      // of the chunks before
  std::uint64_t revised = 0;     // results of them that were taken back
  std::uint64_t cached = 0;      // of the others: answers that were known
  std::array<std::uint64_t, kVerdictCount> verdicts{};  // as noted in `progress`
};

class ChunkChecker {
 public:
  explicit ChunkChecker(sqlite::Connection& connection);

  // Checks the chunk `at.chunk_no` and moves on to the next. `file_count` is the job's;
  // `was_revised`: results of the job were taken back.
  void check(JobCheck& at, std::uint64_t file_count, bool was_revised,
             std::vector<Finding>& findings);

 private:
  struct Chunk {
    std::uint64_t first_case = 0;
    std::uint32_t case_count = 0;
    std::uint64_t hash = 0;
    [[nodiscard]] std::uint64_t end() const { return first_case + case_count; }
  };
  void report(Rule rule, std::string text, std::uint64_t case_no = 0);
  bool read_chunk(const JobCheck& at, Chunk& chunk);
  void check_cases(JobCheck& at, const Chunk& chunk, std::uint64_t file_count);
  // What is noted of the chunk's cases, one byte each. Empty verdicts: nothing is done, or the row
  // is unusable; empty generations: all are in the first.
  struct Noted {
    std::string verdicts;
    std::string generations;
    std::uint64_t newest = 1;  // generation of them
  };
  Noted check_progress(JobCheck& at, const Chunk& chunk);
  // One row for each case that is done, with the same verdict, and none for the others.
  void check_results(JobCheck& at, const Chunk& chunk, const Noted& noted, bool was_revised);
  // Of one generation: the rows that were taken back, too.
  void check_generation(JobCheck& at, const Chunk& chunk, const Noted& noted,
                        std::uint64_t generation);
  bool exists(sqlite::Statement& by_id, std::int64_t id, std::int64_t& last_found);

  sqlite::Statement chunk_;
  sqlite::Statement cases_;
  sqlite::Statement files_;
  sqlite::Statement progress_;
  sqlite::Statement results_;
  sqlite::Statement worker_;
  sqlite::Statement version_;
  std::int64_t last_worker_ = 0;   // that was found
  std::int64_t last_version_ = 0;  // likewise
  JobId job_;
  ChunkNo chunk_no_ = 0;
  std::vector<Finding>* findings_ = nullptr;
};

}  // namespace puzzled
