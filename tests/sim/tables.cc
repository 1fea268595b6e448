#include "tests/sim/tables.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <variant>

#include "daemon/broker/runs.h"
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

bool JobRow::has_result(CaseNo case_no) const {
  const ChunkRow* chunk = chunk_of(case_no);
  return chunk != nullptr && !chunk->results[case_no.value - chunk->first_case.value].empty();
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
                        .keys = r.keys,
                        .done = std::vector<bool>(r.cases->count()),
                        .done_count = 0,
                        .results = std::vector<std::vector<StoredResult>>(r.cases->count())});
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
  job.finished = job.was_finished = true;
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
    chunk.results[index].push_back({.worker = r.worker,
                                    .verdict = result.verdict,
                                    .answer = std::string(result.answer),
                                    .version = r.solver_version});
    keep(r, result, source_of(r.job, chunk.results[index].size(), row.case_no));
    if (result.verdict == Verdict::kInternalError) continue;  // Oracle::check_quarantine
    const std::string_view bytes = case_bytes(*chunk.cases, static_cast<std::uint32_t>(index));
    std::uint64_t answer = 0;
    if (result.answer.size() == sizeof answer) {
      std::memcpy(&answer, result.answer.data(), sizeof answer);
    }
    require(result.verdict == right_verdict(bytes) &&
                (answer == right_answer(bytes) || is_lie(result.answer, bytes)),
            8, [&] { return text() + " gets the result of another case"; });
  }
  if (r.stretch == 0) return;
  for (const CaseRun& run : runs_of(r.rows)) {
    unproven[r.stretch].push_back({.worker = r.worker,
                                   .job = r.job,
                                   .chunk_no = run.chunk_no,
                                   .first_case = run.first,
                                   .count = run.count});
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

void Tables::add(const record::MarkCanary& r) {
  const auto job = jobs.find(r.job);
  require(job != jobs.end() && job->second.canary == r.off, 0,
          [&] { return name(r.job) + " is marked twice, or was not"; });
  require(r.off || job->second.finished, 0, [&] { return name(r.job) + " is marked, and open"; });
  job->second.canary = !r.off;
}

void Tables::add(const record::ForgetStretch& r) {
  require(unproven.erase(r.stretch) == 1, 0, [&] {
    return "stretch " + std::to_string(r.stretch) + " is forgotten, but there is none";
  });
  settle_answers(r.stretch, r.proven);
}

// The old result stays, the case is open again.
void Tables::add(const record::ReviseResults& r) {
  const auto job = jobs.find(r.job);
  require(job != jobs.end() && r.chunk_no < job->second.chunks.size(), 0,
          [&] { return "results of " + name(r.job) + " are taken back that there never were"; });
  std::vector<UnprovenRow>& rows = unproven[r.stretch];
  const auto row = std::ranges::find_if(rows, [&](const UnprovenRow& one) {
    return one.job == r.job && one.chunk_no == r.chunk_no && one.first_case == r.first_case;
  });
  require(row != rows.end() && row->count == r.count, 0,
          [&] { return "results of " + name(r.job) + " are taken back that were proven"; });
  ChunkRow& chunk = job->second.chunks[r.chunk_no];
  for (std::uint32_t i = 0; i < r.count; ++i) {
    const std::uint64_t index = r.first_case.value + i - chunk.first_case.value;
    require(chunk.done.at(index) && chunk.results[index].back().worker == row->worker, 8, [&] {
      return "a result of " + name(r.job) + " is taken back that is another worker's, or not there";
    });
    chunk.done[index] = false;
    // Its charges are of the generation before.
    std::erase_if(job->second.attempts, [&](const RecoveredAttempt& attempt) {
      return attempt.case_no.value == r.first_case.value + i;
    });
    --chunk.done_count;
    --job->second.done_count;
    ++job->second.revised;
  }
  rows.erase(row);
  if (rows.empty()) unproven.erase(r.stretch);
  settle_answers(r.stretch, false);
}

void Tables::add(const record::ReopenJob& r) {
  const auto job = jobs.find(r.job);
  require(
      job != jobs.end() && job->second.finished && job->second.done_count < job->second.case_count,
      4, [&] { return name(r.job) + " is opened again without a reason"; });
  job->second.finished = false;
}

void Tables::add(const record::AdmitWorker& r) {
  std::erase_if(barred,
                [&](const Barred& one) { return one.name == r.name || one.host == r.name; });
}

void Tables::recover_canaries(Recovery& recovery) const {
  for (const auto& [stretch, rows] : unproven) {
    recovery.last_stretch = stretch;
    for (const UnprovenRow& row : rows) {
      const ChunkRow& chunk = jobs.at(row.job).chunks.at(row.chunk_no);
      recovery.runs.push_back(
          {.stretch = stretch,
           .worker = row.worker,
           .start_id = workers.at(row.worker),
           .job = row.job,
           .chunk_no = row.chunk_no,
           .chunk_first_case = chunk.first_case,
           .chunk_case_count = chunk.cases->count(),
           .first = static_cast<std::uint32_t>(row.first_case.value - chunk.first_case.value),
           .count = row.count});
    }
  }
  recovery.barred.assign(barred.begin(), barred.end());
}

event::CanariesLoaded Tables::load_canaries(const LoadCanaries& load) const {
  const JobRow* job = find(load.job);
  require(job != nullptr, 0,
          [&] { return "canaries of " + name(load.job) + ", which is unknown"; });
  event::CanariesLoaded loaded;
  loaded.job = load.job;
  loaded.chunk_no = load.chunk_no;
  loaded.epoch = load.epoch;
  if (load.chunk_no >= job->chunks.size()) return loaded;
  const ChunkRow& chunk = job->chunks[load.chunk_no];
  loaded.first_case = chunk.first_case;
  loaded.cases = chunk.cases;
  for (std::uint32_t i = 0; i < chunk.done.size(); ++i) {
    if (!chunk.done[i]) continue;
    const StoredResult& result = chunk.results[i].back();
    if (result.verdict == Verdict::kCrashed || result.verdict == Verdict::kInternalError) continue;
    loaded.known.push_back({.index = i,
                            .verdict = result.verdict,
                            .has_answer = true,
                            .answer_bytes = result.answer.size(),
                            .answer_digest = wire::digest_of(result.answer)});
  }
  return loaded;
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
    r.canary = job.canary;
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
                               .done_count = chunk.done_count,
                               .keyed = !chunk.keys.empty()});
    }
    for (const RecoveredAttempt& attempt : job.attempts) {
      if (!job.is_done(attempt.case_no)) r.attempts.push_back(attempt);
    }
  }
  recover_canaries(recovery);
  recover_answers(recovery);
  return recovery;
}

event::ChunkLoaded Tables::load(const LoadChunk& load) const {
  event::ChunkLoaded loaded{
      .job = load.job, .chunk_no = load.chunk_no, .cases = {}, .done = {}, .ask = load.ask};
  const JobRow* job = find(load.job);
  require(job != nullptr && load.chunk_no < job->chunks.size(), 6,
          [&] { return "a chunk of " + name(load.job) + " is read that is not stored"; });
  const ChunkRow& chunk = job->chunks[load.chunk_no];
  loaded.cases = chunk.cases;
  loaded.look_up = load.look_up;
  if (load.look_up) loaded.known = known_answers(load.job, load.chunk_no, *load.look_up);
  // Some questions are answered in part, as those about many large answers are.
  if (load.ask % 4 == 0 && loaded.known.size() > 1) {
    loaded.known.resize(loaded.known.size() / 2);
    loaded.more_known = true;
  }
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
