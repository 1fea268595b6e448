#include "daemon/store/reader.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <utility>

#include "daemon/store/keys.h"
#include "daemon/store/labels.h"
#include "daemon/store/progress.h"
#include "proto/base/fatal.h"
#include "proto/wire.h"

namespace puzzled {
namespace {

std::string jobs_sql(const char* condition) {
  return fmt::format(
      "SELECT job, request_id, name, puzzle, solver, priority, time_limit_us, memory_limit_bytes, "
      "answer_bytes_max, sealed_ms IS NOT NULL, cancelled_ms IS NOT NULL, created_ms, sealed_ms, "
      "coalesce(cancelled_ms, finished_ms), case_count, chunk_count, file_count, cancel_reason, "
      "t.done, canary_ms IS NOT NULL, revised, {}, require, solver_version, no_cache, t.cached "
      "FROM jobs LEFT JOIN "
      "totals t ON t.id = job << 7 | {} {}",
      kCountedColumns, keys::kFirstGeneration, condition);
}

query::JobRow job_row(const sqlite::Statement& row) {
  query::JobRow job;
  job.job = {row.number(0)};
  const std::string_view request_id = row.bytes(1);
  std::copy_n(request_id.begin(), std::min(request_id.size(), job.request_id.size()),
              job.request_id.begin());
  job.spec.name = row.bytes(2);
  job.spec.puzzle = row.bytes(3);
  job.spec.solver = row.bytes(4);
  job.spec.priority = static_cast<std::int32_t>(row.integer(5));
  job.spec.limits = {.time_limit_us = row.number(6),
                     .memory_limit_bytes = row.number(7),
                     .answer_bytes_max = row.number(8)};
  job.sealed = row.integer(9) != 0;
  job.cancelled = row.integer(10) != 0;
  job.created_ms = row.integer(11);
  job.sealed_ms = row.integer(12);
  job.finished_ms = row.integer(13);
  job.case_count = row.number(14);
  job.chunk_count = row.number32(15);
  job.file_count = row.number(16);
  job.cancel_reason = row.bytes(17);
  job.done_count = row.number(18);
  job.canary = row.integer(19) != 0;
  job.revised = row.number(20);
  int column = 21;
  for (const Verdict verdict : kCountedVerdicts) {
    job.verdicts[static_cast<std::size_t>(verdict)] = row.number(column++);
  }
  job.spec.require = read_labels(row.bytes(column++));
  job.spec.solver_version = row.bytes(column++);
  job.spec.no_cache = row.integer(column++) != 0;
  job.cached_count = row.number(column++);
  if (job.cancelled) {
    job.verdicts[static_cast<std::size_t>(Verdict::kCancelled)] = job.case_count - job.done_count;
  }
  return job;
}

// The bytes of one entry of a CaseList without its tag and length.
std::string_view without_header(std::string_view entry) {
  std::size_t at = 1;
  while (at < entry.size() && (static_cast<unsigned char>(entry[at]) & 0x80U) != 0) ++at;
  return entry.substr(std::min(at + 1, entry.size()));
}

Fatal cannot_read(const std::string& path, const sqlite::Error& error) {
  return {kExitIo, fmt::format("cannot read the database {}: {}", path, error.what())};
}

}  // namespace

Reader::Reader(const std::string& path, const StoreOptions& options) try
    : clock_(options.snapshot_ms_max),
      connection_(path, sqlite::Connection::Mode::kReadOnly),
      begin_(connection_, "BEGIN"),
      end_(connection_, "COMMIT"),
      job_(connection_, jobs_sql("WHERE job = ?")),
      jobs_(connection_, jobs_sql("WHERE job < ? ORDER BY job DESC LIMIT ?")),
      versions_(connection_,
                "SELECT s.version, v.cases FROM job_versions v JOIN solver_versions s "
                "ON s.id = v.solver_version WHERE v.job = ? AND v.cases > 0 "
                "ORDER BY v.cases DESC, s.version LIMIT 20"),
      files_(connection_,
             "SELECT id, path, first_case, case_count FROM files WHERE id > ? AND id < ? "
             "ORDER BY id LIMIT ?"),
      attempts_(connection_,
                "SELECT attempt, ended_ms, worker, message FROM attempts "
                "WHERE job = ? AND generation BETWEEN ? AND ? AND case_no = ? ORDER BY rowid"),
      chunk_(connection_,
             "SELECT first_case, payload FROM chunks c JOIN chunk_cases p ON p.id = c.id "
             "WHERE c.id = ?"),
      pager_(connection_, options),
      checker_(connection_, {.page_ms = options.check_step_ms}) {
  sqlite3_busy_timeout(connection_.handle(), static_cast<int>(options.lock_wait_ms));
  connection_.exec(fmt::format(
      "PRAGMA query_only = 1; PRAGMA wal_autocheckpoint = 0; PRAGMA cell_size_check = 1; "
      "PRAGMA cache_size = -{}",
      options.cache_bytes / 1024));
} catch (const sqlite::Error& error) {
  throw cannot_read(path, error);
}

query::Answer Reader::answer(const query::Query& query) {
  if (const auto* check = std::get_if<query::Check>(&query)) return checker_.page(check->cursor);
  begin_.run();
  clock_.start();
  try {
    query::Answer answer = std::visit([this](const auto& it) { return read(it); }, query);
    end_.run();
    return answer;
  } catch (...) {
    sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

bool Reader::find_job(JobId job, query::JobRow& row) {
  if (job.value > keys::kJobMax) return false;
  const sqlite::ResetAtEnd reset(job_);
  job_.bind(job.value);
  if (!job_.step()) return false;
  row = job_row(job_);
  return true;
}

query::Answer Reader::read(const query::GetJob& query) {
  query::JobRow row;
  if (!find_job(query.job, row)) return query::NotFound{.job = query.job};
  const sqlite::ResetAtEnd reset(versions_);
  versions_.bind(query.job.value);
  while (versions_.step()) row.versions.emplace_back(versions_.string(0), versions_.number(1));
  return row;
}

query::Answer Reader::read(const query::ListJobs& query) {
  const sqlite::ResetAtEnd reset(jobs_);
  const std::uint64_t before =
      query.before == 0 ? keys::kJobMax + 1 : std::min(query.before, keys::kJobMax + 1);
  jobs_.bind(before, query.limit + std::uint64_t{1});
  query::JobsPage page;
  while (jobs_.step()) {
    if (page.jobs.size() == query.limit || (!page.jobs.empty() && clock_.is_over())) {
      page.more = true;
      break;
    }
    page.jobs.push_back(job_row(jobs_));
  }
  return page;
}

query::Answer Reader::read(const query::ListResults& query) {
  query::JobRow job;
  if (!find_job(query.job, job)) return query::NotFound{.job = query.job};
  return pager_.page(query,
                     {.case_count = job.case_count,
                      .chunk_count = job.chunk_count,
                      .file_count = job.file_count,
                      .cancelled = job.cancelled},
                     clock_);
}

query::Answer Reader::read(const query::GetCase& query) {
  query::JobRow job;
  if (!find_job(query.job, job)) return query::NotFound{.job = query.job};
  const std::uint64_t case_no = query.case_no.value;
  if (case_no == 0 || case_no > job.case_count) {
    return query::NotFound{
        .what = query::NotFound::What::kCase, .job = query.job, .case_count = job.case_count};
  }
  query::CaseDetail detail;
  detail.job = query.job;
  detail.case_no = query.case_no;
  detail.cancelled = job.cancelled;
  detail.content = case_content(query.job, job.chunk_count, case_no);
  pager_.files().start(query.job, job.file_count);
  detail.label = pager_.files().label(case_no);
  detail.spec = std::move(job.spec);
  const std::uint64_t newest = pager_.generation_of(query.job, job.chunk_count, case_no);
  detail.earlier = pager_.results_of(query.job, case_no, newest);
  for (query::ResultRow& row : detail.earlier) row.label = detail.label;
  if (!detail.earlier.empty() && detail.earlier.back().generation == newest) {
    detail.result = std::move(detail.earlier.back());
    detail.earlier.pop_back();
  }
  const sqlite::ResetAtEnd reset(attempts_);
  attempts_.bind(query.job.value, keys::kFirstGeneration, keys::kGenerationMax, case_no);
  while (attempts_.step()) {
    detail.attempts.push_back({.attempt = attempts_.number32(0),
                               .ended_ms = attempts_.integer(1),
                               .worker = pager_.worker_name(attempts_.integer(2)),
                               .message = attempts_.string(3)});
  }
  return detail;
}

std::string Reader::case_content(JobId job, std::uint32_t chunk_count, std::uint64_t case_no) {
  const std::uint32_t chunk_no = pager_.chunk_of(job, chunk_count, case_no);
  const sqlite::ResetAtEnd reset(chunk_);
  chunk_.bind(keys::chunk(job, chunk_no));
  if (!chunk_.step()) throw sqlite::corrupt("a chunk is missing");
  const std::uint64_t position = case_no - chunk_.number(0);
  const std::string_view payload = chunk_.bytes(1);
  const auto offsets = wire::split_cases(payload);
  if (!offsets || position >= offsets->size() - 1) {
    throw sqlite::corrupt(
        fmt::format("chunk {} of job {} cannot be read back", chunk_no, job.value));
  }
  const std::uint32_t begin = (*offsets)[position];
  return std::string(without_header(payload.substr(begin, (*offsets)[position + 1] - begin)));
}

query::Answer Reader::read(const query::ListFiles& query) {
  query::JobRow job;
  if (!find_job(query.job, job)) return query::NotFound{.job = query.job};
  query::FilesPage page;
  page.next_after = query.after_file;
  if (query.after_file >= job.file_count) return page;
  const sqlite::ResetAtEnd reset(files_);
  const std::uint64_t limit = std::min<std::uint64_t>(query.limit, kPageStepsMax);
  files_.bind(keys::file(query.job, query.after_file), keys::file(query.job, job.file_count + 1),
              limit + 1);
  while (files_.step()) {
    if (page.files.size() == limit || (!page.files.empty() && clock_.is_over())) {
      page.more = true;
      break;
    }
    page.next_after = keys::number(files_.integer(0));
    page.files.push_back(
        {.path = files_.string(1), .first_case = files_.number(2), .case_count = files_.number(3)});
  }
  return page;
}

}  // namespace puzzled
