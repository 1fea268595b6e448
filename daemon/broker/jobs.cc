#include "daemon/broker/jobs.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "daemon/broker/leases.h"
#include "daemon/broker/reuse.h"
#include "daemon/broker/sessions.h"
#include "daemon/broker/window.h"
#include "proto/base/assert.h"
#include "proto/base/digest.h"

namespace puzzled::broker {
namespace {

using message::ErrorCode;

// An upload timer looks at its job at least this often, so that entries of jobs sealed long ago do
// not pile up for a whole upload expiry.
constexpr std::int64_t kUploadLookMs = 3'600'000;
// After a restart the client of an expired upload has this part of the expiry to come back.
constexpr std::int64_t kUploadGraceParts = 24;

}  // namespace

// ---- Opening.

std::uint64_t Jobs::hash_of(const JobSpec& spec) {
  std::uint64_t hash = wire::kEmptyDigest;
  for (const std::string* text : {&spec.name, &spec.puzzle, &spec.solver, &spec.solver_version}) {
    hash = wire::fold_digest(hash, std::hash<std::string>{}(*text));
  }
  for (const std::uint64_t number :
       {static_cast<std::uint64_t>(spec.priority), spec.limits.time_limit_us,
        spec.limits.memory_limit_bytes, spec.limits.answer_bytes_max}) {
    hash = wire::fold_digest(hash, number);
  }
  if (spec.no_cache) hash = wire::fold_digest(hash, 1);
  for (const Label& label : spec.require) {
    hash = wire::fold_digest(hash, std::hash<std::string>{}(label.key));
    hash = wire::fold_digest(hash, std::hash<std::string>{}(label.value));
  }
  return hash;
}

void Jobs::open_job(event::OpenJob&& request) {
  if (const Entry* entry = find(request.request_id)) {
    const Job* job = find_open(entry->id);
    if (job != nullptr ? request.spec != *job->spec : hash_of(request.spec) != entry->spec_hash) {
      return fail(request.peer, request.request, ErrorCode::kConflict,
                  "this request id was used for a job with other settings");
    }
    if (entry->end == End::kCancelled) {
      return fail(request.peer, request.request, ErrorCode::kJobCancelled,
                  "the job was cancelled: submit it as a new one");
    }
    core_.step.reply_when_durable(
        request.peer,
        message::JobOpened{.request = request.request,
                           .job = entry->id,
                           .next_chunk = job != nullptr ? job->chunk_count : entry->chunk_count,
                           .digest = job != nullptr ? job->digest : entry->digest,
                           .sealed = job == nullptr || job->sealed,
                           .keys_wanted = job != nullptr && core_.reuse->wants_keys(*job)});
    return;
  }
  const JobSpec& spec = request.spec;
  if (spec.priority < kPriorityMin || spec.priority > kPriorityMax || spec.puzzle.empty() ||
      spec.solver.empty() || spec.limits.time_limit_us == 0) {
    return fail(request.peer, request.request, ErrorCode::kInvalidArgument,
                "a job needs a puzzle, a solver, a time limit and a priority of -100..100");
  }
  if (!intake_open(request.peer, request.request)) return;
  if (open_.size() >= core_.options.open_jobs_max) {
    return fail(request.peer, request.request, ErrorCode::kUnavailable,
                "there are " + std::to_string(open_.size()) +
                    " open jobs, as many as the daemon allows: try again when one has ended");
  }
  if (last_job_.value >= core_.options.job_number_max) {
    return fail(request.peer, request.request, ErrorCode::kTooLarge,
                "the database has had " + std::to_string(last_job_.value) +
                    " jobs, as many as it can number: start the daemon with a new one");
  }
  const std::optional<LaneNo> lane = core_.sessions->enter_lane(spec, false);
  if (!lane) {
    return fail(request.peer, request.request, ErrorCode::kUnavailable,
                "open jobs have " + std::to_string(core_.options.requirement_sets_max) +
                    " different sets of requirements, as many as the daemon allows "
                    "(requirement_sets_max): try again when one has ended");
  }
  const Job& job = create(request, *lane);
  core_.step.record(record::InsertJob{.job = job.id,
                                      .request_id = job.request_id,
                                      .spec = job.spec,
                                      .created_ms = core_.step.wall_ms()});
  core_.step.reply_when_durable(request.peer,
                                message::JobOpened{.request = request.request,
                                                   .job = job.id,
                                                   .next_chunk = 0,
                                                   .digest = job.digest,
                                                   .sealed = false,
                                                   .keys_wanted = core_.reuse->wants_keys(job)});
}

Job& Jobs::create(const event::OpenJob& request, LaneNo lane) {
  last_job_ = JobId{last_job_.value + 1};
  auto job = std::make_unique<Job>();
  job->id = last_job_;
  job->request_id = request.request_id;
  job->spec = std::make_shared<const JobSpec>(request.spec);
  job->digest = wire::kEmptyDigest;
  job->place.lane = lane;
  job->place.turn = {.priority = request.spec.priority, .virtual_us = 0, .job = job->id};
  by_request_.emplace(job->request_id, static_cast<std::uint32_t>(entries_.size()));
  entries_.push_back({.id = job->id,
                      .request_id = job->request_id,
                      .spec_hash = hash_of(request.spec),
                      .requirements = requirements_of(request.spec),
                      .lane = core_.queue.lane(job->place.lane).plain});
  touch_upload(*job,
               core_.step.steady_ms() + static_cast<std::int64_t>(core_.options.upload_expiry_ms));
  return *open_.emplace(job->id, std::move(job)).first->second;
}

// ---- Chunks.

void Jobs::add_chunk(event::AddChunk&& request) {
  const auto refuse = [&](ErrorCode code, std::string text) {
    fail(request.peer, request.request, code, std::move(text));
  };
  const Entry* entry = find(request.request_id);
  if (entry == nullptr) return refuse(ErrorCode::kUnknownJob, "no job was opened with this id");
  if (entry->end == End::kCancelled) {
    return refuse(ErrorCode::kJobCancelled, "the job was cancelled");
  }
  Job* job = find_open(entry->id);
  const std::uint32_t next = job != nullptr ? job->chunk_count : entry->chunk_count;
  const bool sealed = job == nullptr || job->sealed;
  if (request.chunk_no < next) {
    // The hashes of a sealed job are in the store alone.
    if (sealed) {
      return core_.step.compare({.peer = request.peer,
                                 .request = request.request,
                                 .job = entry->id,
                                 .chunk_no = request.chunk_no,
                                 .hash = request.hash});
    }
    return chunk_compared({.peer = request.peer,
                           .request = request.request,
                           .chunk_no = request.chunk_no,
                           .same = job->hashes[request.chunk_no] == request.hash});
  }
  if (sealed) return refuse(ErrorCode::kJobSealed, "the job is sealed: it takes no more cases");
  if (request.chunk_no > next) {
    return refuse(ErrorCode::kOutOfOrder,
                  "the next chunk of this job is number " + std::to_string(next));
  }
  if (!accept_chunk(*job, request)) return;
  core_.step.reply_when_durable(
      request.peer, message::ChunkAccepted{.request = request.request,
                                           .chunk_no = request.chunk_no,
                                           .keys_wanted = core_.reuse->wants_keys(*job)});
}

void Jobs::chunk_compared(const event::ChunkCompared& chunk) {
  if (!chunk.same) {
    return fail(chunk.peer, chunk.request, ErrorCode::kConflict,
                "chunk " + std::to_string(chunk.chunk_no) +
                    " was accepted before with other cases or files");
  }
  core_.step.reply_when_durable(
      chunk.peer, message::ChunkAccepted{.request = chunk.request, .chunk_no = chunk.chunk_no});
}

bool Jobs::accept_chunk(Job& job, event::AddChunk& request) {
  const auto refuse = [&](ErrorCode code, std::string text) {
    fail(request.peer, request.request, code, std::move(text));
    return false;
  };
  if (!intake_open(request.peer, request.request)) return false;
  if (core_.window->unacknowledged(request.peer) >= core_.options.unacknowledged_chunks_max) {
    return refuse(ErrorCode::kUnavailable,
                  "more than " + std::to_string(core_.options.unacknowledged_chunks_max) +
                      " chunks without an answer: wait for one before sending the next");
  }
  if (request.cases == nullptr) return refuse(ErrorCode::kInvalidArgument, "a chunk without cases");
  const std::uint64_t count = request.cases->count();
  if (job.case_count + count > core_.options.job_cases_max) {
    return refuse(ErrorCode::kTooLarge, "a job may have at most " +
                                            std::to_string(core_.options.job_cases_max) + " cases");
  }
  if (job.chunk_count >= core_.options.job_chunks_max ||
      job.file_count + request.files.size() > core_.options.job_files_max) {
    return refuse(ErrorCode::kTooLarge,
                  "a job may have at most " + std::to_string(core_.options.job_chunks_max) +
                      " chunks and " + std::to_string(core_.options.job_files_max) + " files");
  }
  std::optional<std::uint64_t> file_cases = job.file_cases;
  const std::string wrong = check_files(job, request, core_.options.job_cases_max, file_cases);
  if (!wrong.empty()) return refuse(ErrorCode::kInvalidArgument, wrong);

  const CaseNo first_case{job.case_count + 1};
  const std::uint64_t file_count = request.files.size();
  // Sent before the client knew that they are not wanted.
  if (!request.keys.empty() && !core_.reuse->wants_keys(job)) request.keys.clear();
  core_.window->accept(job, request.peer, first_case, request.cases, !request.keys.empty());
  core_.step.record(record::InsertChunk{.job = job.id,
                                        .chunk_no = request.chunk_no,
                                        .first_case = first_case,
                                        .cases = std::move(request.cases),
                                        .first_file_no = job.file_count + 1,
                                        .files = std::move(request.files),
                                        .hash = request.hash,
                                        .keys = std::move(request.keys)});
  ++job.chunk_count;
  job.case_count += count;
  job.file_count += file_count;
  job.file_cases = file_cases;
  job.digest = wire::fold_digest(job.digest, request.hash);
  job.hashes.push_back(request.hash);
  touch_upload(job,
               core_.step.steady_ms() + static_cast<std::int64_t>(core_.options.upload_expiry_ms));
  return true;
}

// Files follow each other without gaps, each is named by the chunk with its first case, and no case
// is outside of them. A job may also do without files altogether.
std::string Jobs::check_files(const Job& job, const event::AddChunk& chunk, std::uint64_t cases_max,
                              std::optional<std::uint64_t>& file_cases) {
  const std::uint64_t first = job.case_count + 1;
  const std::uint64_t end = first + chunk.cases->count();
  for (const FileEntry& file : chunk.files) {
    if (!file_cases) file_cases = file.first_case - 1;  // the first one after a restart
    if (file.first_case != *file_cases + 1 || file.first_case < first || file.first_case > end ||
        (file.case_count > 0 && file.first_case == end)) {
      return "a file starts at case " + std::to_string(file.first_case) +
             ", but the file before it ends at case " + std::to_string(*file_cases) +
             " and the chunk has cases " + std::to_string(first) + " to " + std::to_string(end - 1);
    }
    if (file.case_count > cases_max - *file_cases) {
      return "a file claims more cases than a job may have";
    }
    *file_cases += file.case_count;
  }
  const bool has_files = job.file_count + chunk.files.size() > 0;
  if (has_files && file_cases && *file_cases + 1 < end) {
    return "case " + std::to_string(*file_cases + 1) + " belongs to no file";
  }
  return {};
}

// ---- The end of an upload.

void Jobs::seal(const event::SealJob& request) {
  const auto refuse = [&](ErrorCode code, std::string text) {
    fail(request.peer, request.request, code, std::move(text));
  };
  const Entry* entry = find(request.request_id);
  if (entry == nullptr) return refuse(ErrorCode::kUnknownJob, "no job was opened with this id");
  if (entry->end == End::kCancelled) {
    return refuse(ErrorCode::kJobCancelled, "the job was cancelled");
  }
  Job* job = find_open(entry->id);
  const bool sealed = job == nullptr || job->sealed;
  const std::uint64_t digest = job != nullptr ? job->digest : entry->digest;
  if (!sealed) {
    if (request.chunk_count > job->chunk_count) {
      return refuse(ErrorCode::kOutOfOrder,
                    "the next chunk of this job is number " + std::to_string(job->chunk_count));
    }
    const bool files_fit =
        job->file_count == 0 || !job->file_cases || *job->file_cases == job->case_count;
    if (request.chunk_count != job->chunk_count || request.case_count != job->case_count ||
        request.file_count != job->file_count || !files_fit) {
      return refuse(ErrorCode::kInvalidArgument, "the job has " + std::to_string(job->chunk_count) +
                                                     " chunks, " + std::to_string(job->case_count) +
                                                     " cases, " + std::to_string(job->file_count) +
                                                     " files; the seal claims others");
    }
  }
  if (request.digest != digest) {
    return refuse(ErrorCode::kConflict, "the job's cases are others than those of the seal");
  }
  const JobId id = entry->id;
  if (!sealed) {
    if (!intake_open(request.peer, request.request)) return;
    core_.step.record(
        record::SealJob{.job = id, .digest = digest, .sealed_ms = core_.step.wall_ms()});
    job->sealed = true;
    job->upload_deadline_ms = kNever;
    job->hashes = {};
    finish_if_done(*job);
  }
  core_.step.reply_when_durable(request.peer,
                                message::JobSealed{.request = request.request, .job = id});
}

void Jobs::touch_upload(Job& job, std::int64_t deadline_ms) {
  job.upload_deadline_ms = deadline_ms;
  core_.timers.arm(std::min(deadline_ms, core_.step.steady_ms() + kUploadLookMs),
                   Timers::Kind::kUpload, job.id.value, job.upload_timer_ms);
}

void Jobs::upload_timer(JobId id, std::int64_t at_ms) {
  Job* job = find_open(id);
  if (job == nullptr || at_ms != job->upload_timer_ms) return;
  job->upload_timer_ms = kNever;
  if (job->sealed) return;
  if (job->upload_deadline_ms > core_.step.steady_ms()) {
    return touch_upload(*job, job->upload_deadline_ms);
  }
  cancel_job(*job, "the upload was not finished in time");
}

void Jobs::start() {
  const auto expiry = static_cast<std::int64_t>(core_.options.upload_expiry_ms);
  for (const auto& [id, created_ms] : recovered_uploads_) {
    const std::int64_t left = expiry - (core_.step.wall_ms() - created_ms);
    touch_upload(open(id),
                 core_.step.steady_ms() + std::clamp(left, expiry / kUploadGraceParts, expiry));
  }
  recovered_uploads_ = {};
  for (auto it = open_.begin(); it != open_.end();) finish_if_done(*(it++)->second);
}

void Jobs::fail(PeerId peer, std::uint64_t request, ErrorCode code, std::string text) {
  message::Error error{.request = request, .code = code, .text = std::move(text)};
  // What has become of a job is a promise like any other.
  const bool states_a_fact = code == ErrorCode::kJobSealed || code == ErrorCode::kJobCancelled ||
                             code == ErrorCode::kJobFinished;
  states_a_fact ? core_.step.reply_when_durable(peer, std::move(error))
                : core_.step.reply_now(peer, std::move(error));
}

bool Jobs::intake_open(PeerId peer, std::uint64_t request) {
  if (core_.intake_paused.empty()) return true;
  fail(peer, request, ErrorCode::kUnavailable, core_.intake_paused);
  return false;
}

}  // namespace puzzled::broker
