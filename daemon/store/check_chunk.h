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
  std::array<std::uint64_t, kVerdictCount> verdicts{};  // as noted in `progress`
};

class ChunkChecker {
 public:
  explicit ChunkChecker(sqlite::Connection& connection);

  // Checks the chunk `at.chunk_no` and moves on to the next. `file_count` is the job's.
  void check(JobCheck& at, std::uint64_t file_count, std::vector<Finding>& findings);

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
  // The verdict bytes of the chunk; empty: nothing is done, or the row is unusable.
  std::string check_progress(JobCheck& at, const Chunk& chunk);
  void check_results(const JobCheck& at, const Chunk& chunk, const std::string& verdicts);
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
