// Store::recover(): what the broker starts from. Reads jobs, chunks and progress, no result rows.
#include <sqlite3.h>

#include <algorithm>

#include "daemon/store/keys.h"
#include "daemon/store/labels.h"
#include "daemon/store/store.h"
#include "proto/base/assert.h"

namespace puzzled {
namespace {

Bytes16 bytes16(std::string_view bytes) {
  if (bytes.size() != std::tuple_size_v<Bytes16>) throw sqlite::corrupt("an id of a wrong length");
  Bytes16 id{};
  std::ranges::copy(bytes, id.begin());
  return id;
}

// At least the Unix time in milliseconds: a file that is put back from a backup must not give out
// again the boot numbers that it has forgotten, while workers of those boots still answer.
constexpr const char* kRaiseBootSql =
    "UPDATE meta SET boot = max(boot + 1, "
    "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))";

constexpr const char* kJobsSql =
    "SELECT j.job, j.request_id, j.name, j.puzzle, j.solver, j.priority, j.time_limit_us, "
    "j.memory_limit_bytes, j.answer_bytes_max, j.sealed_ms IS NOT NULL, "
    "j.cancelled_ms IS NOT NULL, j.finished_ms IS NOT NULL, j.created_ms, j.chunk_count, "
    "j.case_count, j.file_count, j.digest, coalesce(t.done, 0), j.canary_ms IS NOT NULL, "
    "j.require, j.solver_version, j.no_cache "
    "FROM jobs j LEFT JOIN totals t ON t.id = j.job << 7 | ? ORDER BY j.job";

constexpr const char* kChunksSql =
    "SELECT c.id, c.first_case, c.case_count, c.hash, coalesce(p.done, 0), c.keyed FROM chunks c "
    "LEFT JOIN progress p ON p.id = ?3 + (c.id & 4294967295) "
    "WHERE c.id >= ?1 AND c.id < ?2 ORDER BY c.id";

constexpr const char* kAttemptsSql =
    "SELECT a.case_no, a.attempt, a.start_id FROM attempts a WHERE a.job = ?1 AND "
    "NOT EXISTS (SELECT 1 FROM results r WHERE r.id = (a.job << 39) | (a.generation << 32) | "
    "a.case_no) ORDER BY a.case_no, a.rowid";

constexpr const char* kVersionsSql =
    "SELECT j.puzzle, j.solver, s.version, max(j.job) FROM job_versions v "
    "JOIN jobs j ON j.job = v.job JOIN solver_versions s ON s.id = v.solver_version "
    "WHERE v.cases > 0 GROUP BY j.puzzle, j.solver, s.version";

void read_answers(sqlite::Connection& connection, Recovery& recovery) {
  sqlite::Statement rows(connection, kVersionsSql);
  while (rows.step()) {
    recovery.versions.push_back({.puzzle = rows.string(0),
                                 .solver = rows.string(1),
                                 .version = rows.string(2),
                                 .last_job = {rows.number(3)}});
  }
  recovery.has_answers = connection.integer("SELECT EXISTS (SELECT 1 FROM answers)") != 0;
}

void read_job(const sqlite::Statement& row, RecoveredJob& job) {
  JobSpec spec;
  job.job = {row.number(0)};
  job.request_id = bytes16(row.bytes(1));
  spec.name = row.string(2);
  spec.puzzle = row.string(3);
  spec.solver = row.string(4);
  spec.priority = static_cast<std::int32_t>(row.integer(5));
  spec.limits = {.time_limit_us = row.number(6),
                 .memory_limit_bytes = row.number(7),
                 .answer_bytes_max = row.number(8)};
  spec.require = read_labels(row.bytes(19));
  spec.solver_version = row.string(20);
  spec.no_cache = row.integer(21) != 0;
  job.spec = std::make_shared<const JobSpec>(std::move(spec));
  job.sealed = row.integer(9) != 0;
  job.cancelled = row.integer(10) != 0;
  job.finished = row.integer(11) != 0;
  job.created_ms = row.integer(12);
  job.chunk_count = row.number32(13);
  job.case_count = row.number(14);
  job.file_count = row.number(15);
  job.digest = row.number(16);
  job.done_count = row.number(17);
  job.canary = row.integer(18) != 0;
}

void read_chunks(sqlite::Statement& rows, RecoveredJob& job) {
  const sqlite::ResetAtEnd reset(rows);
  rows.bind(keys::chunk(job.job, 0), keys::chunk(job.job, job.chunk_count),
            keys::progress(job.job, 0));
  while (rows.step()) {
    const RecoveredChunk chunk{.chunk_no = static_cast<ChunkNo>(keys::number(rows.integer(0))),
                               .first_case = {rows.number(1)},
                               .case_count = rows.number32(2),
                               .done_count = rows.number32(4),
                               .keyed = rows.integer(5) != 0};
    if (!job.sealed) job.chunk_hashes.push_back(rows.number(3));
    if (chunk.done_count < chunk.case_count) job.open_chunks.push_back(chunk);
  }
}

void read_attempts(sqlite::Statement& rows, RecoveredJob& job) {
  const sqlite::ResetAtEnd reset(rows);
  rows.bind(job.job.value);
  while (rows.step()) {
    job.attempts.push_back({.case_no = {rows.number(0)},
                            .attempt = rows.number32(1),
                            .start_id = bytes16(rows.bytes(2))});
  }
}

}  // namespace

Recovery Store::recover() {
  try {
    connection_.exec(kRaiseBootSql);  // commits by itself, synced
    Recovery recovery;
    recovery.boot = {static_cast<std::uint64_t>(connection_.integer("SELECT boot FROM meta"))};
    if (recovery.boot.value == 0) throw sqlite::corrupt("there is no boot number");
    recovery.last_worker = {
        static_cast<std::uint64_t>(connection_.integer("SELECT max(worker) FROM workers"))};
    sqlite::Statement rows(connection_, kJobsSql);
    sqlite::Statement chunks(connection_, kChunksSql);
    sqlite::Statement attempts(connection_, kAttemptsSql);
    rows.bind(keys::kFirstGeneration);
    while (rows.step()) {
      RecoveredJob& job = recovery.jobs.emplace_back();
      read_job(rows, job);
      recovery.last_job = job.job;
      if (job.cancelled || job.finished) continue;
      read_chunks(chunks, job);
      read_attempts(attempts, job);
    }
    canaries_->recover(recovery);
    read_answers(connection_, recovery);
    // From now on there are more tries: whoever holds the lock is noticed soon, and said.
    sqlite3_busy_timeout(connection_.handle(), static_cast<int>(options_.retry_ms));
    return recovery;
  } catch (const sqlite::Error& error) {
    throw failure(error);
  }
}

}  // namespace puzzled
