// What clients may ask of the store, and the answers, as plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/broker/finding.h"
#include "daemon/broker/types.h"

namespace puzzled::query {

struct GetJob {
  JobId job;
};
struct ListJobs {
  std::uint64_t before = 0;  // only smaller ids; 0: from the newest
  std::uint32_t limit = 0;   // > 0
};
struct ListResults {
  JobId job;
  std::uint64_t after_case = 0;
  // > 0, of rows; those of the last case are all there. A page also ends at page_bytes_max.
  std::uint32_t limit = 0;
  std::vector<Verdict> verdicts;
  std::string label_glob;  // fnmatch(3) without flags; empty: all
  bool with_answers = false;
  bool all_generations = false;  // also results that were taken back, together with the newest
};
struct GetCase {
  JobId job;
  CaseNo case_no;
};
struct ListFiles {
  JobId job;
  std::uint64_t after_file = 0;
  std::uint32_t limit = 0;  // > 0
};
struct Check {  // see daemon/store/check.h
  std::vector<std::uint64_t> cursor;
};
using Query = std::variant<GetJob, ListJobs, ListResults, GetCase, ListFiles, Check>;

// ---- Answers. Times are Unix milliseconds, 0 for never.

struct NotFound {
  enum class What : std::uint8_t { kJob, kCase } what = What::kJob;
  JobId job = {};                // that was asked for
  std::uint64_t case_count = 0;  // of the job, if it is there
};
struct JobRow {
  JobId job;
  Bytes16 request_id{};
  JobSpec spec;
  bool sealed = false;
  bool cancelled = false;
  std::int64_t created_ms = 0;
  std::int64_t sealed_ms = 0;
  std::int64_t finished_ms = 0;  // done or cancelled
  std::uint64_t case_count = 0;
  std::uint64_t done_count = 0;
  std::uint32_t chunk_count = 0;
  std::uint64_t file_count = 0;
  std::array<std::uint64_t, kVerdictCount> verdicts{};
  std::string cancel_reason;
  // Solver versions and how many results each gave, the 20 with the most, those first; only in
  // answer to GetJob.
  std::vector<std::pair<std::string, std::uint64_t>> versions;
  bool canary = false;
  std::uint64_t revised = 0;       // results that were taken back
  std::uint64_t cached_count = 0;  // of done_count: answers that were known
};
struct JobsPage {
  std::vector<JobRow> jobs;
  bool more = false;
};
struct ResultRow {
  CaseNo case_no;
  std::string label;  // "path#index", index from 1 in its file
  Verdict verdict = Verdict::kInternalError;
  std::uint64_t time_us = 0;
  std::uint64_t memory_bytes = 0;
  std::uint32_t attempt = 0;
  std::string worker;
  std::string solver_version;
  std::int64_t graded_ms = 0;
  bool has_answer = false;
  bool answer_left_out = false;  // it was asked for, but the page has no room for it
  std::string answer;
  std::string message;
  std::uint32_t generation = 1;
  bool cached = false;  // the answer was known; what else is said of it is of the result it was in
};
struct ResultsPage {
  std::vector<ResultRow> rows;
  bool more = false;
  std::uint64_t next_after = 0;
};
struct AttemptRow {
  std::uint32_t attempt = 0;
  std::int64_t ended_ms = 0;
  std::string worker;
  std::string message;
};
struct CaseDetail {
  JobId job;
  JobSpec spec;
  CaseNo case_no;
  std::string label;
  std::string content;  // a serialised Case, as it was submitted
  std::optional<ResultRow> result;
  std::vector<ResultRow> earlier;  // that were taken back, oldest first, no answers
  std::vector<AttemptRow> attempts;
  bool cancelled = false;  // of the job
};
struct FilesPage {
  std::vector<FileEntry> files;
  bool more = false;
  std::uint64_t next_after = 0;
};
struct CheckPage {
  std::vector<Finding> findings;
  std::vector<std::uint64_t> cursor;  // of the next page; empty: this was the last
  std::uint64_t chunks_done = 0;      // how far it is, of all that there are
  std::uint64_t chunk_count = 0;
  bool integrity_skipped = false;  // the file is too large for SQLite's own check
};
using Answer =
    std::variant<NotFound, JobRow, JobsPage, ResultsPage, CaseDetail, FilesPage, CheckPage>;

}  // namespace puzzled::query
