#include "tests/sim/tables.h"

#include <cstring>
#include <string>
#include <variant>

#include "proto/base/digest.h"
#include "tests/sim/cases.h"
#include "tests/sim/sim.h"

namespace puzzled::sim {
namespace {

std::string name(JobId job) { return "job " + std::to_string(job.value); }

}  // namespace

std::string_view case_bytes(const ChunkCases& cases, std::uint32_t index) {
  return std::string_view(cases.bytes)
      .substr(cases.offsets[index], cases.offsets[index + 1] - cases.offsets[index]);
}

const ChunkRow* JobRow::chunk_of(CaseNo case_no) const {
  for (const ChunkRow& chunk : chunks) {
    if (case_no >= chunk.first_case &&
        case_no.value < chunk.first_case.value + chunk.cases->count()) {
      return &chunk;
    }
  }
  return nullptr;
}

bool JobRow::is_done(CaseNo case_no) const {
  const ChunkRow* chunk = chunk_of(case_no);
  return chunk != nullptr && chunk->done[case_no.value - chunk->first_case.value];
}

const JobRow* Tables::find(JobId job) const {
  const auto it = jobs.find(job);
  return it == jobs.end() ? nullptr : &it->second;
}

JobId Tables::find(const Bytes16& request_id) const {
  const auto it = by_request_.find(request_id);
  return it == by_request_.end() ? JobId{} : it->second;
}

void Tables::apply(const Record& record) {
  std::visit([this](const auto& r) { add(r); }, record);
}

JobRow& Tables::open_row(JobId job) {
  const auto it = jobs.find(job);
  require(it != jobs.end(), 6,
          [&] { return "a record for " + name(job) + ", which is not stored"; });
  require(!it->second.cancelled, 0, [&] { return "a record for cancelled " + name(job); });
  require(!it->second.finished, 4, [&] { return "a record for finished " + name(job); });
  return it->second;
}

void Tables::add(const record::InsertJob& r) {
  require(!by_request_.contains(r.request_id), 7,
          [&] { return name(r.job) + " has the request id of another job"; });
  require(jobs.empty() || jobs.rbegin()->first < r.job, 7,
          [&] { return name(r.job) + ": the number was used before"; });
  by_request_.emplace(r.request_id, r.job);
  JobRow& row = jobs[r.job];
  row.request_id = r.request_id;
  row.spec = r.spec;
  row.created_ms = r.created_ms;
  row.digest = wire::kEmptyDigest;
}

void Tables::add(const record::InsertChunk& r) {
  JobRow& job = open_row(r.job);
  require(!job.sealed && r.chunk_no == job.chunks.size() &&
              r.first_case.value == job.case_count + 1 && r.first_file_no == job.file_count + 1,
          6, [&] { return "a chunk of " + name(r.job) + " that does not follow the last"; });
  job.chunks.push_back({.first_case = r.first_case,
                        .cases = r.cases,
                        .hash = r.hash,
                        .done = std::vector<bool>(r.cases->count()),
                        .done_count = 0});
  job.case_count += r.cases->count();
  job.file_count += r.files.size();
  job.digest = wire::fold_digest(job.digest, r.hash);
}

void Tables::add(const record::SealJob& r) {
  JobRow& job = open_row(r.job);
  require(!job.sealed && r.digest == job.digest, 6,
          [&] { return name(r.job) + " is sealed twice or with another digest"; });
  job.sealed = true;
}

void Tables::add(const record::CancelJob& r) { open_row(r.job).cancelled = true; }

void Tables::add(const record::FinishJob& r) {
  JobRow& job = open_row(r.job);
  require(job.sealed && job.done_count == job.case_count, 9,
          [&] { return name(r.job) + " is finished, but not sealed or with open cases"; });
  job.finished = true;
}

void Tables::add(const record::InsertWorker& r) {
  require(workers.emplace(r.worker, r.start_id).second, 8,
          [&] { return "worker number " + std::to_string(r.worker.value) + " was used before"; });
}

void Tables::add(const record::InsertResults& r) {
  JobRow& job = open_row(r.job);
  require(workers.contains(r.worker), 8, [] { return "results of a worker without a row"; });
  for (const record::ResultRow& row : r.rows) {
    const auto text = [&] {
      return "case " + std::to_string(row.case_no.value) + " of " + name(r.job);
    };
    require(row.chunk_no < job.chunks.size(), 8, [&] { return text() + " is in no chunk"; });
    ChunkRow& chunk = job.chunks[row.chunk_no];
    const std::uint64_t index = row.case_no.value - chunk.first_case.value;
    require(row.case_no >= chunk.first_case && index < chunk.done.size(), 8,
            [&] { return text() + " is not in its chunk"; });
    require(!chunk.done[index], 8, [&] { return text() + " gets a second result"; });
    chunk.done[index] = true;
    ++chunk.done_count;
    ++job.done_count;
    const CaseResult& result = r.results.results.at(row.index);
    if (result.verdict == Verdict::kInternalError) continue;  // Oracle::check_quarantine
    const std::string_view bytes = case_bytes(*chunk.cases, static_cast<std::uint32_t>(index));
    std::uint64_t answer = 0;
    if (result.answer.size() == sizeof answer) {
      std::memcpy(&answer, result.answer.data(), sizeof answer);
    }
    require(result.verdict == right_verdict(bytes) && answer == right_answer(bytes), 8,
            [&] { return text() + " gets the result of another case"; });
  }
}

void Tables::add(const record::InsertAttempt& r) {
  JobRow& job = open_row(r.job);
  require(workers.contains(r.worker), 8, [] { return "an attempt of a worker without a row"; });
  job.attempts.push_back({.case_no = r.case_no, .attempt = r.attempt, .start_id = r.start_id});
}

void Tables::add(const record::RetractAttempt& r) {
  // Others may have graded the case, and finished the job, before its worker came back.
  const auto job = jobs.find(r.job);
  require(job != jobs.end(), 0, [] { return "a charge is taken back in no job"; });
  std::erase_if(job->second.attempts, [&](const RecoveredAttempt& attempt) {
    return attempt.case_no == r.case_no && attempt.start_id == r.start_id;
  });
}

Recovery Tables::recover() const {
  Recovery recovery;
  recovery.boot = Boot{boot};
  if (!workers.empty()) recovery.last_worker = workers.rbegin()->first;
  for (const auto& [id, job] : jobs) {
    RecoveredJob& r = recovery.jobs.emplace_back();
    recovery.last_job = r.job = id;
    r.request_id = job.request_id;
    r.spec = job.spec;
    r.sealed = job.sealed;
    r.cancelled = job.cancelled;
    r.finished = job.finished;
    r.created_ms = job.created_ms;
    r.chunk_count = static_cast<std::uint32_t>(job.chunks.size());
    r.case_count = job.case_count;
    r.file_count = job.file_count;
    r.done_count = job.done_count;
    r.digest = job.digest;
    if (job.cancelled || job.finished) continue;
    for (std::uint32_t no = 0; no < job.chunks.size(); ++no) {
      const ChunkRow& chunk = job.chunks[no];
      if (!job.sealed) r.chunk_hashes.push_back(chunk.hash);
      if (chunk.done_count == chunk.cases->count()) continue;
      r.open_chunks.push_back({.chunk_no = no,
                               .first_case = chunk.first_case,
                               .case_count = chunk.cases->count(),
                               .done_count = chunk.done_count});
    }
    for (const RecoveredAttempt& attempt : job.attempts) {
      if (!job.is_done(attempt.case_no)) r.attempts.push_back(attempt);
    }
  }
  return recovery;
}

event::ChunkLoaded Tables::load(const LoadChunk& load) const {
  event::ChunkLoaded loaded{.job = load.job, .chunk_no = load.chunk_no, .cases = {}, .done = {}};
  const JobRow* job = find(load.job);
  require(job != nullptr && load.chunk_no < job->chunks.size(), 6,
          [&] { return "a chunk of " + name(load.job) + " is read that is not stored"; });
  const ChunkRow& chunk = job->chunks[load.chunk_no];
  loaded.cases = chunk.cases;
  if (!load.with_done) return loaded;
  for (std::uint32_t i = 0; i < chunk.done.size(); ++i) {
    if (chunk.done[i]) loaded.done.push_back(i);
  }
  return loaded;
}

event::ChunkCompared Tables::compare(const CompareChunk& compare) const {
  const JobRow* job = find(compare.job);
  require(job != nullptr && compare.chunk_no < job->chunks.size(), 6,
          [&] { return "a chunk of " + name(compare.job) + " is compared that is not stored"; });
  return {.peer = compare.peer,
          .request = compare.request,
          .chunk_no = compare.chunk_no,
          .same = job->chunks[compare.chunk_no].hash == compare.hash};
}

}  // namespace puzzled::sim
