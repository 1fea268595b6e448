#include "daemon/store/canary_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/broker/runs.h"
#include "daemon/store/keys.h"
#include "proto/base/assert.h"
#include "proto/base/digest.h"

namespace puzzled {
namespace {

sqlite::Error missing_result(JobId job, CaseNo case_no) {
  return sqlite::corrupt(
      fmt::format("the result of case {} of job {} is missing", case_no.value, job.value));
}

}  // namespace

CanaryTable::CanaryTable(sqlite::Connection& c)
    : mark_(c, "UPDATE jobs SET canary_ms = ?2 WHERE job = ?1"),
      note_(c,
            "INSERT INTO unproven (stretch, worker, job, chunk_no, first_case, case_count) "
            "VALUES (?, ?, ?, ?, ?, ?)"),
      forget_stretch_(c, "DELETE FROM unproven WHERE stretch = ?"),
      forget_run_(c,
                  "DELETE FROM unproven WHERE stretch = ? AND job = ? AND chunk_no = ? "
                  "AND first_case = ?"),
      version_(c, "SELECT solver_version, cached FROM results WHERE id = ?"),
      delete_result_(c, "DELETE FROM results WHERE id = ?"),
      count_revised_(c, "UPDATE jobs SET revised = revised + ?2 WHERE job = ?1"),
      reopen_(c, "UPDATE jobs SET finished_ms = NULL WHERE job = ?"),
      bar_(c,
           "INSERT INTO barred (name, host, version, puzzle, solver, solver_version, barred_ms, "
           "reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"),
      admit_(c, "DELETE FROM barred WHERE name = ?1 OR host = ?1"),
      result_(c, "SELECT time_us, memory_bytes, length(answer) FROM results WHERE id = ?"),
      answer_(c, "SELECT answer FROM results WHERE id = ?"),
      runs_(c,
            "SELECT u.stretch, u.worker, w.start_id, u.job, u.chunk_no, c.first_case, "
            "c.case_count, u.first_case, u.case_count, w.worker IS NULL OR c.id IS NULL OR "
            "j.job IS NULL FROM unproven u "
            "LEFT JOIN workers w ON w.worker = u.worker "
            "LEFT JOIN chunks c ON c.id = u.job << 32 | u.chunk_no "
            "LEFT JOIN jobs j ON j.job = u.job "
            "ORDER BY u.stretch, u.job, u.chunk_no, u.first_case"),
      barred_(c,
              "SELECT name, host, version, puzzle, solver, solver_version, barred_ms, reason "
              "FROM barred ORDER BY id") {}

void CanaryTable::insert(const record::MarkCanary& record) {
  mark_.bind_at(1, record.job.value);
  if (record.off) {
    mark_.bind_at(2, nullptr);
  } else {
    mark_.bind_at(2, record.marked_ms);
  }
  mark_.step();
  mark_.reset();
}

void CanaryTable::note(const record::InsertResults& record) {
  ASSERT(record.stretch > 0);
  for (const CaseRun& run : runs_of(record.rows)) {
    note_.run(record.stretch, record.worker.value, record.job.value, run.chunk_no, run.first.value,
              run.count);
  }
}

void CanaryTable::insert(const record::ForgetStretch& record) {
  forget_stretch_.run(record.stretch);
}

std::vector<std::int64_t> CanaryTable::insert(const record::ReviseResults& record,
                                              Progress& progress) {
  Progress::Chunk& chunk = progress.chunk(record.job, record.chunk_no);
  std::vector<std::int64_t> versions;
  std::uint64_t revised = 0;
  for (std::uint32_t i = 0; i < record.count; ++i) {
    const CaseNo case_no{record.first_case.value + i};
    const std::uint64_t generation = chunk.generation(case_no);
    const std::int64_t id = keys::result(record.job, case_no.value, generation);
    bool cached = false;
    {
      const sqlite::ResetAtEnd reset(version_);
      version_.bind(id);
      if (!version_.step()) throw missing_result(record.job, case_no);
      versions.push_back(version_.integer(0));
      cached = version_.integer(1) != 0;
    }
    progress.reopen(record.job, chunk, case_no, cached);
    if (generation < keys::kGenerationMax) {
      ++revised;
    } else {  // there is no further one: the next result takes this one's place
      delete_result_.run(id);
    }
  }
  count_revised_.run(record.job.value, revised);
  forget_run_.run(record.stretch, record.job.value, record.chunk_no, record.first_case.value);
  return versions;
}

void CanaryTable::insert(const record::ReopenJob& record) { reopen_.run(record.job.value); }

void CanaryTable::insert(const record::BarWorker& record) {
  const Barred& it = record.barred;
  bar_.run(std::string_view(it.name), std::string_view(it.host), std::string_view(it.version),
           std::string_view(it.puzzle), std::string_view(it.solver),
           std::string_view(it.solver_version), it.barred_ms, std::string_view(it.reason));
}

void CanaryTable::insert(const record::AdmitWorker& record) {
  admit_.run(std::string_view(record.name));
}

std::vector<KnownResult> CanaryTable::known_of(JobId job, const Progress::Chunk& chunk) {
  std::vector<std::uint32_t> usable;
  for (std::uint32_t i = 0; i < chunk.verdicts.size(); ++i) {
    if (is_known(static_cast<Verdict>(chunk.verdicts[i]))) usable.push_back(i);
  }
  std::vector<KnownResult> known;
  const std::size_t count = std::min(usable.size(), kCanariesOfChunkMax);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t index = usable[i * usable.size() / count];
    const CaseNo case_no{chunk.first_case + index};
    const std::int64_t id = keys::result(job, case_no.value, chunk.generation(case_no));
    const sqlite::ResetAtEnd reset(result_);
    result_.bind(id);
    if (!result_.step()) {
      throw missing_result(job, case_no);
    }
    KnownResult& one = known.emplace_back();
    one.index = index;
    one.verdict = static_cast<Verdict>(chunk.verdicts[index]);
    one.time_us = result_.number(0);
    one.memory_bytes = result_.number(1);
    one.has_answer = !result_.null(2);
    one.answer_bytes = result_.number(2);
    if (!one.has_answer) continue;
    if (one.answer_bytes > kCanaryAnswerBytesMax) {
      known.pop_back();
      continue;
    }
    const sqlite::ResetAtEnd reset_answer(answer_);
    answer_.bind(id);
    if (answer_.step()) one.answer_digest = wire::digest_of(answer_.bytes(0));
  }
  return known;
}

void CanaryTable::recover(Recovery& recovery) {
  {
    const sqlite::ResetAtEnd reset(runs_);
    while (runs_.step()) {
      if (runs_.integer(9) != 0) {
        throw sqlite::corrupt(
            fmt::format("unproven results of job {} are noted, but their worker, job or chunk is "
                        "missing",
                        runs_.number(3)));
      }
      RecoveredRun& run = recovery.runs.emplace_back();
      run.stretch = runs_.number(0);
      run.worker = {runs_.number(1)};
      const std::string_view start_id = runs_.bytes(2);
      if (start_id.size() != run.start_id.size()) throw sqlite::corrupt("an id of a wrong length");
      std::ranges::copy(start_id, run.start_id.begin());
      run.job = {runs_.number(3)};
      run.chunk_no = runs_.number32(4);
      run.chunk_first_case = {runs_.number(5)};
      run.chunk_case_count = runs_.number32(6);
      run.first = static_cast<std::uint32_t>(runs_.number(7) - run.chunk_first_case.value);
      run.count = runs_.number32(8);
      recovery.last_stretch = run.stretch;
      if (run.first >= run.chunk_case_count || run.count > run.chunk_case_count - run.first) {
        throw sqlite::corrupt(
            fmt::format("unproven results of job {} lie in no chunk", run.job.value));
      }
    }
  }
  const sqlite::ResetAtEnd reset(barred_);
  while (barred_.step()) {
    recovery.barred.push_back({.name = barred_.string(0),
                               .host = barred_.string(1),
                               .version = barred_.string(2),
                               .puzzle = barred_.string(3),
                               .solver = barred_.string(4),
                               .solver_version = barred_.string(5),
                               .barred_ms = barred_.integer(6),
                               .reason = barred_.string(7)});
  }
}

}  // namespace puzzled
