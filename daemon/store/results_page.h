// One page of a job's results: filters decide on chunk progress and file names, and only rows that
// will be shown are read.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "daemon/store/file_table.h"
#include "daemon/store/options.h"
#include "daemon/store/page_clock.h"
#include "daemon/store/query.h"
#include "daemon/store/sqlite.h"

namespace puzzled {

// Lookups of one page at most, at about a microsecond each. A page that ends by it, or by its time,
// has `more` set, perhaps without any row.
inline constexpr std::uint64_t kPageStepsMax = 20'000;

class ResultsPager {
 public:
  ResultsPager(sqlite::Connection& connection, const StoreOptions& options);

  struct Job {  // what the open snapshot knows of the job
    std::uint64_t case_count = 0;
    std::uint32_t chunk_count = 0;
    std::uint64_t file_count = 0;
    bool cancelled = false;
  };
  // Gets at least one case further before `clock` is asked.
  query::ResultsPage page(const query::ListResults& query, const Job& job, const PageClock& clock);
  // The results of one case up to generation `newest`, oldest first: that one, if it is there, with
  // its answer, the others without. Leaves `label` alone.
  std::vector<query::ResultRow> results_of(JobId job, std::uint64_t case_no, std::uint64_t newest);
  // That of the case's next or newest result. REQUIRES: as chunk_of().
  std::uint64_t generation_of(JobId job, std::uint32_t chunk_count, std::uint64_t case_no);
  // Number of the chunk that holds the case. REQUIRES: 1 <= case_no <= job.case_count.
  std::uint32_t chunk_of(JobId job, std::uint32_t chunk_count, std::uint64_t case_no);
  std::string worker_name(std::int64_t worker);
  FileTable& files() { return files_; }

 private:
  struct Chunk {
    std::uint32_t number = 0;
    std::uint64_t first_case = 1;
    std::string verdicts;     // one byte a case; 0: none
    std::string generations;  // one byte a case; empty: all are in the first
    [[nodiscard]] std::uint64_t end() const { return first_case + verdicts.size(); }
  };

  // Chunks that have a wanted verdict. Only if open cases are wanted, all chunks are looked at.
  // With all generations a chunk may match that has none, so all are looked at as well.
  sqlite::Statement& walk() {
    return (wanted_set_ & 1U) != 0 || all_generations_ ? chunks_ : graded_;
  }
  // Whether `chunk_` now holds case `from`; if not, `from` is where to look next.
  bool seek_chunk(const query::ListResults& query, const Job& job, std::uint64_t& from);
  void start_walk(const query::ListResults& query, const Job& job, std::uint64_t from);
  void next_chunk();
  std::uint64_t first_case(JobId job, std::uint32_t chunk_no);
  // Whether the filters let case `from` through; if not, `from` is where to look next.
  bool next_match(const query::ListResults& query, const Job& job, std::uint64_t& from);
  // The rows of a case that passed the filters, oldest first. Those that were taken back have their
  // answers while they take no more than a page, newer ones first.
  std::vector<query::ResultRow> rows_of(const query::ListResults& query, std::uint64_t case_no);
  [[nodiscard]] bool wants(std::uint8_t verdict) const {
    return (wanted_set_ >> verdict & 1U) != 0;
  }
  // False: there is none. A longer answer is left out, and not read.
  bool read_result(JobId job, std::uint64_t case_no, std::uint64_t generation, bool with_answer,
                   std::uint64_t answer_bytes_max, query::ResultRow& row);
  void choose_verdicts(const query::ListResults& query, const Job& job);
  const std::string& solver_version(std::int64_t id);

  const StoreOptions options_;
  sqlite::Statement chunks_;
  sqlite::Statement graded_;
  sqlite::Statement chunk_start_;
  sqlite::Statement result_;
  sqlite::Statement generations_;
  sqlite::Statement worker_;
  sqlite::Statement version_;
  FileTable files_;
  // Rows of these two never change, so they are read once.
  std::unordered_map<std::int64_t, std::string> worker_names_;
  std::unordered_map<std::int64_t, std::string> versions_;

  // Of the page being made.
  std::string wanted_;       // verdict bytes to show, 0 for open cases of a cancelled job
  std::string glob_prefix_;  // what a label must start with to match
  Chunk chunk_;
  std::uint32_t wanted_set_ = 0;  // the same as bits, as progress.present
  std::uint32_t walk_end_ = 0;    // the chunk before which the walk over chunks ends
  bool all_generations_ = false;
  bool walking_ = false;  // walk() stands on chunk_
  std::uint64_t steps_ = 0;
};

}  // namespace puzzled
