// Jobs: the ways they end, who waits for that, and what is known of them after a restart.
#include <algorithm>
#include <utility>

#include "daemon/broker/canaries.h"
#include "daemon/broker/jobs.h"
#include "daemon/broker/leases.h"
#include "daemon/broker/sessions.h"
#include "daemon/broker/suspects.h"
#include "daemon/broker/window.h"
#include "proto/base/assert.h"

namespace puzzled::broker {

using message::ErrorCode;

bool Jobs::finish_if_done(Job& job) {
  if (!job.sealed || job.open_count() > 0) return false;
  core_.step.record(record::FinishJob{.job = job.id, .finished_ms = core_.step.wall_ms()});
  end_job(job, End::kFinished);
  return true;
}

void Jobs::cancel(const event::CancelJob& request) {
  const Entry* entry = find(request.job);
  if (entry == nullptr) {
    return fail(request.peer, request.request, ErrorCode::kUnknownJob,
                message::no_such_job(request.job));
  }
  if (entry->end == End::kFinished) {
    return fail(request.peer, request.request, ErrorCode::kJobFinished,
                "the job has ended: there is nothing left to cancel");
  }
  if (entry->end == End::kOpen) cancel_job(open(request.job), request.reason);
  core_.step.reply_when_durable(
      request.peer, message::JobCancelled{.request = request.request, .job = request.job});
}

void Jobs::cancel_job(Job& job, const std::string& reason) {
  core_.step.record(
      record::CancelJob{.job = job.id, .reason = reason, .cancelled_ms = core_.step.wall_ms()});
  core_.leases->revoke(job);
  end_job(job, End::kCancelled);
}

void Jobs::end_job(Job& job, End how) {
  const JobId id = job.id;
  for (const Waiter& waiter : job.waiters) {
    core_.step.reply_when_durable(waiter.peer,
                                  message::JobDone{.request = waiter.request, .job = id});
    const auto it = waits_.find(waiter.peer);
    if (it == waits_.end()) continue;  // a second request of the same client
    std::erase(it->second, id);
    if (it->second.empty()) waits_.erase(it);
  }
  core_.leases->leave_canaries(job);
  core_.window->drop(job);
  core_.queue.remove_job(job.place.lane);
  core_.canaries->job_ended(job, how == End::kCancelled);
  Entry& entry = *find(id);
  entry.digest = job.digest;
  entry.chunk_count = job.chunk_count;
  entry.end = how;
  open_.erase(id);
  allowed_open_ = open_.size();
}

std::optional<Jobs::Facts> Jobs::end_of(JobId id) {
  const Entry* entry = find(id);
  if (entry == nullptr) return std::nullopt;
  return Facts{.how = entry->end,
               .chunk_count = entry->chunk_count,
               .lane = entry->lane,
               .requirements = *entry->requirements};
}

Job& Jobs::reopen(JobId id, const EndedJob& ended) {
  Entry& entry = *find(id);
  ASSERT(entry.end == End::kFinished);
  entry.end = End::kOpen;
  auto job = std::make_unique<Job>();
  job->id = id;
  job->request_id = ended.request_id;
  job->spec = ended.spec;
  job->sealed = true;
  job->chunk_count = job->durable_chunks = ended.chunk_count;
  job->case_count = job->done_count = ended.case_count;
  job->file_count = ended.file_count;
  job->digest = ended.digest;
  place(*job);
  core_.step.record(record::ReopenJob{.job = id});
  Job& opened = *open_.emplace(id, std::move(job)).first->second;
  allowed_open_ = std::max(allowed_open_, open_.size());
  return opened;
}

void Jobs::place(Job& job) {
  job.place.lane = *core_.sessions->enter_lane(*job.spec, true);
  job.place.turn = {.priority = std::clamp(job.spec->priority, kPriorityMin, kPriorityMax),
                    .virtual_us = 0,
                    .job = job.id};
}

void Jobs::wait(const event::WaitJob& request) {
  if (find(request.job) == nullptr) {
    return fail(request.peer, request.request, ErrorCode::kUnknownJob,
                message::no_such_job(request.job));
  }
  Job* job = find_open(request.job);
  if (job == nullptr) {
    core_.step.reply_when_durable(request.peer,
                                  message::JobDone{.request = request.request, .job = request.job});
    return;
  }
  std::vector<JobId>& jobs = waits_[request.peer];
  if (jobs.size() >= core_.options.waits_max) {
    return fail(request.peer, request.request, ErrorCode::kUnavailable,
                "more than " + std::to_string(core_.options.waits_max) +
                    " unanswered requests to wait on one connection");
  }
  jobs.push_back(job->id);
  job->waiters.push_back({.peer = request.peer, .request = request.request});
}

void Jobs::forget_client(PeerId peer) {
  const auto it = waits_.find(peer);
  if (it == waits_.end()) return;
  for (const JobId id : it->second) {
    std::erase_if(open(id).waiters, [&](const Waiter& w) { return w.peer == peer; });
  }
  waits_.erase(it);
}

// ---- Tables.

const Requirements* Jobs::requirements_of(const JobSpec& spec) {
  return &*requirements_.insert({.solver_version = spec.solver_version, .labels = spec.require})
               .first;
}

Jobs::Entry* Jobs::find(const Bytes16& request_id) {
  const auto it = by_request_.find(request_id);
  return it == by_request_.end() ? nullptr : &entries_[it->second];
}

Jobs::Entry* Jobs::find(JobId id) {
  const auto it = std::ranges::lower_bound(entries_, id, {}, &Entry::id);
  return it == entries_.end() || it->id != id ? nullptr : &*it;
}

Job* Jobs::find_open(JobId id) {
  const auto it = open_.find(id);
  return it == open_.end() ? nullptr : it->second.get();
}

const Job* Jobs::find_open(JobId id) const {
  const auto it = open_.find(id);
  return it == open_.end() ? nullptr : it->second.get();
}

Job& Jobs::open(JobId id) {
  Job* job = find_open(id);
  ASSERT(job != nullptr);
  return *job;
}

void Jobs::recover(std::vector<RecoveredJob>&& jobs, JobId last_job) {
  last_job_ = last_job;
  entries_.reserve(jobs.size());
  for (RecoveredJob& from : jobs) {
    ASSERT(from.spec != nullptr && from.job <= last_job);
    ASSERT(entries_.empty() || entries_.back().id < from.job);
    by_request_.emplace(from.request_id, static_cast<std::uint32_t>(entries_.size()));
    entries_.push_back({.id = from.job,
                        .request_id = from.request_id,
                        .spec_hash = hash_of(*from.spec),
                        .digest = from.digest,
                        .chunk_count = from.chunk_count,
                        .requirements = requirements_of(*from.spec),
                        .lane = core_.queue.lane_of(from.spec->puzzle, from.spec->solver),
                        .end = from.cancelled  ? End::kCancelled
                               : from.finished ? End::kFinished
                                               : End::kOpen});
    if (from.cancelled || from.finished) continue;
    auto job = std::make_unique<Job>();
    job->id = from.job;
    job->request_id = from.request_id;
    job->spec = std::move(from.spec);
    job->sealed = from.sealed;
    job->chunk_count = from.chunk_count;
    job->durable_chunks = from.chunk_count;
    job->case_count = from.case_count;
    job->file_count = from.file_count;
    if (from.file_count > 0) job->file_cases.reset();
    job->done_count = from.done_count;
    job->digest = from.digest;
    job->hashes = std::move(from.chunk_hashes);
    ASSERT(job->sealed || job->hashes.size() == job->chunk_count);
    place(*job);
    std::uint64_t open_cases = 0;
    for (const RecoveredChunk& chunk : from.open_chunks) {
      if (chunk.done_count == chunk.case_count) continue;
      open_cases += chunk.case_count - chunk.done_count;
      job->backlog.push_back({.first_case = chunk.first_case,
                              .chunk_no = chunk.chunk_no,
                              .case_count = chunk.case_count,
                              .done_count = chunk.done_count,
                              .bytes = chunk.bytes,
                              .keyed = chunk.keyed});
    }
    ASSERT(open_cases == job->open_count());
    core_.suspects->recover(*job, from.attempts);
    core_.window->update_place(*job);
    if (!job->sealed) recovered_uploads_.emplace_back(job->id, from.created_ms);
    open_.emplace(from.job, std::move(job));
  }
  allowed_open_ = open_.size();
}

void Jobs::check() const {
  std::uint64_t window_bytes = 0;
  std::size_t waiters = 0;
  for (const auto& [id, job] : open_) {
    ASSERT(job->id == id && !(job->sealed && job->open_count() == 0));
    core_.window->check(*job);
    window_bytes += job->window_bytes;
    waiters += job->waiters.size();
  }
  core_.window->check_total(window_bytes);
  std::size_t waits = 0;
  for (const auto& [peer, jobs] : waits_) waits += jobs.size();
  ASSERT(waits == waiters);
  ASSERT(open_.size() <= std::max<std::size_t>(core_.options.open_jobs_max, allowed_open_));
}

}  // namespace puzzled::broker
