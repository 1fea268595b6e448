// Canaries: who failed one, and what becomes of its results; and what a restart knows of all that.
#include <algorithm>
#include <utility>

#include "daemon/broker/canaries.h"
#include "daemon/broker/jobs.h"
#include "daemon/broker/sessions.h"
#include "daemon/broker/window.h"
#include "proto/base/assert.h"

namespace puzzled::broker {
namespace {

std::string with_versions(const Barred& barred) {
  return "version " + (barred.version.empty() ? "unknown" : barred.version) + ", " + barred.puzzle +
         "/" + barred.solver + " " + barred.solver_version;
}

}  // namespace

// ---- A failed canary.

void Canaries::convict(Session& session, LaneNo lane, const std::string& why) {
  ASSERT(session.leases.empty());
  std::vector<Unproven> results;
  std::uint64_t cases = 0;
  for (auto& [no, watched] : session.watched) {
    for (Stretch& stretch : watched.stretches) {
      for (const UnprovenRun& run : stretch.runs) {
        results.push_back({.stretch = stretch.number, .run = run});
        cases += run.count;
      }
    }
  }
  session.watched.clear();
  ++trust_;
  const Lane& of = core_.queue.lane(lane);
  Barred barred{.name = session.name,
                .host = session.host,
                .version = session.version,
                .puzzle = of.puzzle,
                .solver = of.solver,
                .solver_version = session.solver_version(lane),
                .barred_ms = core_.step.wall_ms(),
                .reason = why};
  core_.step.notice("worker " + session.name + " (" + session.host + ", pid " +
                    std::to_string(session.pid) + ", " + with_versions(barred) +
                    ") failed a canary: " + why + ". It is taken out, and " +
                    std::to_string(cases) +
                    " of its results are graded again; let it in with "
                    "'puzzlectl admit'");
  core_.step.record(record::BarWorker{.barred = barred});
  barred_.push_back(std::move(barred));
  trim_barred();
  // The worker may exit when it hears of it; by then the disk knows why.
  core_.step.tell_when_durable(session.peer, message::Refused{"it failed a canary: " + why});
  revise(results);
}

// Over the limit the oldest are let in again.
void Canaries::trim_barred() {
  while (barred_.size() > core_.options.barred_workers_max) {
    const std::string name = barred_.front().name;
    core_.step.record(record::AdmitWorker{.name = name});
    core_.step.notice("worker " + name +
                      " is let in again: more workers are barred than the daemon remembers "
                      "(barred_workers_max)");
    std::erase_if(barred_, [&](const Barred& one) { return one.name == name || one.host == name; });
  }
}

void Canaries::revise(const std::vector<Unproven>& results) {
  std::map<JobId, std::vector<Unproven>> by_job;
  for (const Unproven& result : results) by_job[result.run.job].push_back(result);
  for (const auto& [id, of_job] : by_job) revise_job(id, of_job);
}

void Canaries::revise_job(JobId id, const std::vector<Unproven>& results) {
  if (const auto marked = marked_.find(id); marked != marked_.end()) {
    unload(marked->second);
    marked->second.is_done = false;
  }
  // Kept: the job is tracked no more once its last run is gone.
  const std::optional<EndedJob> ended = tracked_.at(id).ended;
  for (const auto& [stretch, run] : results) {
    core_.step.record(
        record::ReviseResults{.job = id,
                              .chunk_no = run.chunk_no,
                              .first_case = CaseNo{run.chunk_first_case.value + run.first},
                              .count = run.count,
                              .stretch = stretch});
    untrack(run);
  }
  Job* job = core_.jobs->find_open(id);
  if (job == nullptr) {
    ASSERT(ended.has_value());
    if (ended->cancelled) return;  // open cases of a cancelled job are never graded
    job = &core_.jobs->reopen(id, *ended);
    if (const auto tracked = tracked_.find(id); tracked != tracked_.end()) {
      tracked->second.ended.reset();
    }
  }
  std::vector<Reopened> reopened;
  reopened.reserve(results.size());
  for (const auto& [stretch, run] : results) {
    reopened.push_back({.chunk = {.first_case = run.chunk_first_case,
                                  .chunk_no = run.chunk_no,
                                  .case_count = run.chunk_case_count,
                                  .done_count = run.chunk_case_count,
                                  .keyed = run.chunk_keyed},
                        .cases = {.first = run.first, .count = run.count}});
  }
  core_.window->reopen(*job, std::move(reopened));
}

// ---- Workers that come and go.

void Canaries::remember(Session& session) {
  std::erase_if(session.watched, [](const auto& lane) { return lane.second.stretches.empty(); });
  if (session.watched.empty()) return;
  Gone gone{.worker = session.worker, .since = ++sequence_, .watched = std::move(session.watched)};
  // Whoever comes back is tested first.
  for (auto& [lane, watched] : gone.watched) watched.left = 0;
  order_.emplace(gone.since, session.start_id);
  const bool added = gone_.emplace(session.start_id, std::move(gone)).second;
  ASSERT(added);
  session.watched.clear();
}

void Canaries::welcome_back(Session& session) {
  const auto it = gone_.find(session.start_id);
  if (it == gone_.end()) return;
  if (session.worker.value == 0) {
    session.worker = it->second.worker;
    session.recorded = true;  // its results are, and name it
  }
  session.watched = std::move(it->second.watched);
  order_.erase(it->second.since);
  gone_.erase(it);
}

bool Canaries::forget_oldest_gone() {
  if (order_.empty()) return false;
  const auto it = gone_.find(order_.begin()->second);
  for (const auto& [lane, watched] : it->second.watched) {
    for (const Stretch& stretch : watched.stretches) forget(stretch);
  }
  gone_.erase(it);
  order_.erase(order_.begin());
  return true;
}

std::string Canaries::why_barred(const event::WorkerReady& ready) const {
  for (const Barred& barred : barred_) {
    if (barred.host != ready.host || barred.version != ready.version) continue;
    const bool offers = std::ranges::any_of(ready.offers, [&](const SolverOffer& offer) {
      return offer.puzzle == barred.puzzle && offer.solver == barred.solver &&
             offer.version == barred.solver_version;
    });
    if (!offers) continue;
    return "a worker of this host (" + with_versions(barred) +
           ") failed a canary: " + barred.reason +
           "; the operator can let it in with 'puzzlectl "
           "admit', another version may come by itself";
  }
  return {};
}

void Canaries::admit(const event::AdmitWorker& request) {
  const std::uint64_t count = std::erase_if(barred_, [&](const Barred& barred) {
    return barred.name == request.name || barred.host == request.name;
  });
  if (count > 0) core_.step.record(record::AdmitWorker{.name = request.name});
  core_.step.reply_when_durable(
      request.peer, message::WorkerAdmitted{.request = request.request, .count = count});
}

// ---- Restarts and checks.

void Canaries::recover(const Recovery& recovery) {
  last_stretch_ = recovery.last_stretch;
  barred_.assign(recovery.barred.begin(), recovery.barred.end());
  const auto job_of = [&](JobId id) -> const RecoveredJob& {
    const auto it = std::ranges::lower_bound(recovery.jobs, id, {}, &RecoveredJob::job);
    ASSERT(it != recovery.jobs.end() && it->job == id);
    return *it;
  };
  for (const RecoveredJob& job : recovery.jobs) {
    if (!job.canary || job.cancelled) continue;
    const LaneNo lane = core_.queue.lane_of(job.spec->puzzle, job.spec->solver);
    Requirements required{.solver_version = job.spec->solver_version, .labels = job.spec->require};
    add(job.job, lane, job.chunk_count, std::move(required)).is_done = job.finished;
  }
  for (const RecoveredRun& from : recovery.runs) {
    const RecoveredJob& job = job_of(from.job);
    const LaneNo lane = core_.queue.lane_of(job.spec->puzzle, job.spec->solver);
    if (!is_watched(lane)) {
      if (leftovers_.empty() || leftovers_.back() != from.stretch)
        leftovers_.push_back(from.stretch);
      continue;
    }
    Gone& gone = gone_[from.start_id];
    if (gone.since == 0) {
      gone.since = ++sequence_;
      gone.worker = from.worker;
      order_.emplace(gone.since, from.start_id);
    }
    std::deque<Stretch>& stretches = gone.watched[lane].stretches;
    if (stretches.empty() || stretches.back().number != from.stretch) {
      stretches.push_back({.number = from.stretch, .runs = {}});
    }
    track(stretches.back(), {.job = from.job,
                             .chunk_no = from.chunk_no,
                             .chunk_first_case = from.chunk_first_case,
                             .chunk_case_count = from.chunk_case_count,
                             .first = from.first,
                             .count = from.count});
    if (job.finished || job.cancelled) {
      tracked_[from.job].ended = EndedJob{.request_id = job.request_id,
                                          .spec = job.spec,
                                          .cancelled = job.cancelled,
                                          .chunk_count = job.chunk_count,
                                          .case_count = job.case_count,
                                          .file_count = job.file_count,
                                          .digest = job.digest};
    }
  }
}

void Canaries::start() {
  for (const std::uint64_t stretch : std::exchange(leftovers_, {})) {
    core_.step.record(record::ForgetStretch{.stretch = stretch});
  }
  // The daemon may have been started with other limits.
  while (runs_ > core_.options.unproven_runs_max && forget_oldest_gone()) {
  }
  trim_barred();
  for (auto& [job, marked] : marked_) ask(marked);
}

void Canaries::check() const {
  std::uint64_t runs = 0;
  std::unordered_map<JobId, std::uint64_t> by_job;
  const auto count = [&](const WatchedLanes& lanes) {
    for (const auto& [lane, watched] : lanes) {
      ASSERT(is_watched(lane) || watched.stretches.empty());
      std::uint64_t last = 0;
      for (const Stretch& stretch : watched.stretches) {
        ASSERT(stretch.number > last && stretch.number <= last_stretch_);
        last = stretch.number;
        runs += stretch.runs.size();
        for (const UnprovenRun& run : stretch.runs) {
          ++by_job[run.job];
          ASSERT(run.count > 0 && run.first + run.count <= run.chunk_case_count);
        }
      }
    }
  };
  core_.sessions->each([&](const Session& session) { count(session.watched); });
  ASSERT(order_.size() == gone_.size());
  for (const auto& [start_id, gone] : gone_) {
    ASSERT(order_.at(gone.since) == start_id && !gone.watched.empty());
    for (const auto& [lane, watched] : gone.watched) ASSERT(!watched.stretches.empty());
    count(gone.watched);
  }
  ASSERT(runs == runs_ && by_job.size() == tracked_.size());
  for (const auto& [job, tracked] : tracked_) {
    ASSERT(by_job.at(job) == tracked.runs);
    ASSERT((core_.jobs->find_open(job) == nullptr) == tracked.ended.has_value());
  }
  for (const auto& [job, marked] : marked_) {
    ASSERT((core_.jobs->find_open(job) == nullptr) == marked.is_done);
    ASSERT(marked.known.empty() || (marked.is_done && marked.cases != nullptr));
  }
  ASSERT(runs_ <= core_.options.unproven_runs_max);
  ASSERT(barred_.size() <= core_.options.barred_workers_max);
}

}  // namespace puzzled::broker
