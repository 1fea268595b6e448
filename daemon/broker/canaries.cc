#include "daemon/broker/canaries.h"

#include <algorithm>
#include <utility>

#include "daemon/broker/jobs.h"
#include "daemon/broker/runs.h"
#include "daemon/broker/sessions.h"
#include "proto/base/assert.h"
#include "proto/base/digest.h"

namespace puzzled::broker {
namespace {

using message::ErrorCode;

// A case is no canary where a sound worker might fail it: it needs this part of the limits at most.
constexpr std::uint64_t kTimeParts = 4;
constexpr std::uint64_t kMemoryParts = 2;
// Limits of which is known that no case of a marked job fits; over it, they are tried again.
constexpr std::size_t kBarrenMax = 64;

bool fits(const KnownResult& known, const Limits& limits) {
  return known.time_us <= limits.time_limit_us / kTimeParts &&
         known.memory_bytes <= limits.memory_limit_bytes / kMemoryParts &&
         known.answer_bytes <= limits.answer_bytes_max;
}

std::string name_of(const CanaryOut& canary) {
  return "case " + std::to_string(canary.case_no.value) + " of job " +
         std::to_string(canary.job.value);
}

}  // namespace

// ---- Marked jobs.

Canaries::Marked& Canaries::add(JobId job, LaneNo lane, std::uint32_t chunk_count,
                                Requirements required) {
  Marked& marked = marked_[job];
  marked.job = job;
  marked.lane = lane;
  marked.chunk_count = chunk_count;
  marked.required = std::move(required);
  marked.epoch = ++epochs_;
  ++trust_;
  if (core_.options.canary_rate > 0) lanes_[lane].push_back(job);
  return marked;
}

// Without canaries nobody can be convicted any more, so nothing is left to be proven.
void Canaries::remove(JobId job) {
  const auto it = marked_.find(job);
  if (it == marked_.end()) return;
  const LaneNo lane = it->second.lane;
  marked_.erase(it);
  ++trust_;
  const auto of_lane = lanes_.find(lane);
  if (of_lane == lanes_.end()) return;
  std::erase(of_lane->second, job);
  if (!of_lane->second.empty()) return;
  lanes_.erase(of_lane);
  const auto forget_lane = [&](WatchedLanes& watched) {
    const auto at = watched.find(lane);
    if (at == watched.end()) return;
    for (const Stretch& stretch : at->second.stretches) forget(stretch);
    watched.erase(at);
  };
  core_.sessions->each([&](Session& session) { forget_lane(session.watched); });
  for (auto gone = gone_.begin(); gone != gone_.end();) {
    forget_lane(gone->second.watched);
    if (!gone->second.watched.empty()) {
      ++gone;
      continue;
    }
    order_.erase(gone->second.since);
    gone = gone_.erase(gone);
  }
}

void Canaries::mark(const event::MarkCanary& request) {
  const auto refuse = [&](ErrorCode code, std::string text) {
    message::Error error{.request = request.request, .code = code, .text = std::move(text)};
    core_.step.reply_now(request.peer, std::move(error));
  };
  const auto ended = core_.jobs->end_of(request.job);
  if (!ended) return refuse(ErrorCode::kUnknownJob, message::no_such_job(request.job));
  const bool is_marked = marked_.contains(request.job);
  if (!request.off && !is_marked) {
    if (ended->how == JobEnd::kCancelled) {
      return core_.step.reply_when_durable(
          request.peer, message::Error{.request = request.request,
                                       .code = ErrorCode::kJobCancelled,
                                       .text = "the job was cancelled: nothing is known of it"});
    }
    if (ended->how != JobEnd::kFinished) {
      return refuse(
          ErrorCode::kInvalidArgument,
          "only a job that is done has known results; wait for its end, and mark it then");
    }
    if (marked_.size() >= core_.options.canary_jobs_max) {
      return refuse(ErrorCode::kUnavailable,
                    "there are " + std::to_string(marked_.size()) +
                        " jobs with canaries, as many as the daemon allows: unmark one first");
    }
  }
  if (request.off == is_marked) {
    core_.step.record(record::MarkCanary{
        .job = request.job, .off = request.off, .marked_ms = core_.step.wall_ms()});
    request.off ? remove(request.job)
                : ask(add(request.job, ended->lane, ended->chunk_count, ended->requirements));
  }
  core_.step.reply_when_durable(
      request.peer, message::CanaryMarked{.request = request.request, .job = request.job});
}

void Canaries::ask(Marked& marked) {
  if (marked.loading || !marked.is_done || core_.options.canary_rate == 0) return;
  marked.loading = true;
  marked.asked_ms = core_.step.steady_ms();
  core_.step.load_canaries(
      {.job = marked.job, .chunk_no = marked.next_chunk, .epoch = marked.epoch});
}

void Canaries::loaded(event::CanariesLoaded&& loaded) {
  const auto it = marked_.find(loaded.job);
  if (it == marked_.end()) return;
  Marked& marked = it->second;
  if (loaded.epoch != marked.epoch || !marked.loading || loaded.chunk_no != marked.next_chunk) {
    return;  // of what was known before
  }
  marked.loading = false;
  marked.next_chunk = marked.chunk_count == 0 ? 0 : (marked.next_chunk + 1) % marked.chunk_count;
  std::erase_if(loaded.known, [&](const KnownResult& known) {
    ASSERT(known.index < loaded.cases->count());
    return loaded.cases->offsets[known.index + 1] - loaded.cases->offsets[known.index] >
           core_.options.dispatch_bytes_max;
  });
  if (!loaded.known.empty()) {
    marked.empty_chunks = 0;
    marked.first_case = loaded.first_case;
    marked.cases = std::move(loaded.cases);
    marked.known = std::move(loaded.known);
    marked.next = 0;
    ++marked.loads;
    return;
  }
  if (++marked.empty_chunks < marked.chunk_count) return ask(marked);
  const std::string number = std::to_string(marked.job.value);
  core_.step.notice("job " + number +
                    " is marked, but none of its cases can be a canary: their results are limits, "
                    "crashes, or too large; take the mark away with 'puzzlectl canary " +
                    number + " --off', and mark another job");
}

void Canaries::unload(Marked& marked) {
  marked.epoch = ++epochs_;
  marked.loading = false;
  marked.next_chunk = 0;
  marked.empty_chunks = 0;
  marked.cases = nullptr;
  marked.known.clear();
  marked.barren.clear();
}

void Canaries::job_ended(const Job& job, bool cancelled) {
  if (const auto tracked = tracked_.find(job.id); tracked != tracked_.end()) {
    tracked->second.ended = EndedJob{.request_id = job.request_id,
                                     .spec = job.spec,
                                     .cancelled = cancelled,
                                     .chunk_count = job.chunk_count,
                                     .case_count = job.case_count,
                                     .file_count = job.file_count,
                                     .digest = job.digest};
  }
  const auto it = marked_.find(job.id);
  if (it == marked_.end()) return;
  if (cancelled) {  // it was graded again: what is still open of it will never be known
    core_.step.record(record::MarkCanary{.job = job.id, .off = true, .marked_ms = 0});
    return remove(job.id);
  }
  it->second.is_done = true;
  ask(it->second);
}

void Canaries::repair() {
  for (auto& [job, marked] : marked_) {
    const std::int64_t since_ms = std::max(marked.asked_ms, core_.intake_resumed_ms);
    const std::int64_t waited_ms = core_.step.steady_ms() - since_ms;
    if (!marked.loading || waited_ms < core_.options.load_wait_ms || !core_.intake_paused.empty()) {
      continue;
    }
    core_.step.find({.rule = Rule::kStore,
                     .job = job,
                     .chunk = marked.next_chunk,
                     .text = "its canaries were asked of the store " +
                             std::to_string(waited_ms / 1000) + " s ago"});
    marked.loading = false;
    ask(marked);
  }
}

// ---- Dispatches and results.

std::optional<PickedCanary> Canaries::pick_from(Marked& marked, const Job& job) {
  const Limits& limits = job.spec->limits;
  const auto barren = marked.barren.find(limits);
  if (barren != marked.barren.end() && barren->second.chunks >= marked.chunk_count) {
    return std::nullopt;
  }
  bool is_through = false;
  std::optional<PickedCanary> picked;
  for (std::size_t tried = 0; tried < marked.known.size() && !picked; ++tried) {
    const KnownResult& known = marked.known[marked.next];
    if (++marked.next == marked.known.size()) {
      marked.next = 0;
      is_through = true;
    }
    if (!fits(known, limits)) continue;
    picked.emplace();
    picked->out.job = marked.job;
    picked->out.epoch = marked.epoch;
    picked->out.known = known;
    picked->out.case_no = CaseNo{marked.first_case.value + known.index};
    picked->slice = {.cases = marked.cases, .first = known.index, .count = 1};
  }
  if (picked) {
    if (barren != marked.barren.end()) marked.barren.erase(barren);
  } else if (!marked.known.empty()) {
    note_barren(marked, job);
  }
  if (is_through && marked.chunk_count > 1) ask(marked);
  return picked;
}

// No case of the chunk in memory fits.
void Canaries::note_barren(Marked& marked, const Job& job) {
  const Limits& limits = job.spec->limits;
  if (marked.barren.size() >= kBarrenMax && !marked.barren.contains(limits)) marked.barren.clear();
  Barren& barren = marked.barren[limits];
  if (barren.load == marked.loads) return;  // the same chunk as before: the next one is on its way
  barren.chunks = barren.load + 1 == marked.loads ? barren.chunks + 1 : 1;
  barren.load = marked.loads;
  if (barren.chunks < marked.chunk_count) return;
  core_.step.notice("job " + std::to_string(marked.job.value) +
                    " is marked, but none of its cases can be a canary in job " +
                    std::to_string(job.id.value) +
                    " or others of its limits: they must have needed a quarter of its time limit, "
                    "half of its memory limit and no longer answers at most; mark a job of easier "
                    "cases with 'puzzlectl canary'");
}

std::optional<PickedCanary> Canaries::pick(Session& session, const Job& job, LeaseId number) {
  const LaneNo lane = core_.queue.lane(job.place.lane).plain;
  const auto of_lane = lanes_.find(lane);
  if (of_lane == lanes_.end() || job.alone_count > 0) return std::nullopt;
  Watched& watched = session.watched[lane];
  if (watched.left > 0) {
    --watched.left;
    return std::nullopt;
  }
  // Spread by what looks like chance, so that a worker cannot count: between half the rate and one
  // and a half of it.
  const std::uint64_t mixed =
      wire::fold_digest(wire::fold_digest(core_.boot.value, number.value), session.worker.value) >>
      17U;
  const std::vector<JobId>& jobs = of_lane->second;
  std::optional<PickedCanary> picked;
  for (std::size_t i = 0; i < jobs.size() && !picked; ++i) {
    Marked& marked = marked_.at(jobs[(mixed + i) % jobs.size()]);
    if (!Sessions::meets(marked.required, session.solver_version(lane), session.labels)) continue;
    picked = pick_from(marked, job);
  }
  if (!picked) return std::nullopt;
  const std::uint32_t rate = core_.options.canary_rate;
  watched.left = (rate - 1) / 2 + static_cast<std::uint32_t>(mixed % rate);
  watched.begins = true;
  picked->out.before = ++last_stretch_;
  picked->out.position = static_cast<std::uint32_t>(mixed >> 16U);  // the lease brings it in range
  return picked;
}

void Canaries::missed(Session& session, LaneNo lane) {
  const auto it = session.watched.find(lane);
  if (it != session.watched.end()) it->second.left = 0;
}

std::uint64_t Canaries::note(Session& session, const Job& job,
                             const std::vector<record::ResultRow>& rows) {
  const LaneNo lane = core_.queue.lane(job.place.lane).plain;
  if (!is_watched(lane)) return 0;
  Watched& watched = session.watched[lane];
  if (std::exchange(watched.begins, false) || watched.stretches.empty()) {
    watched.stretches.push_back({.number = ++last_stretch_, .runs = {}});
  }
  Stretch& stretch = watched.stretches.back();
  const std::uint64_t number = stretch.number;
  for (const CaseRun& run : runs_of(rows)) {
    const OpenChunk& chunk = *job.window.at(run.chunk_no);
    track(stretch, {.job = job.id,
                    .chunk_no = run.chunk_no,
                    .chunk_first_case = chunk.first_case,
                    .chunk_case_count = chunk.case_count,
                    .first = static_cast<std::uint32_t>(run.first.value - chunk.first_case.value),
                    .count = run.count,
                    .chunk_keyed = chunk.keyed});
  }
  return number;
}

// Over the limit the oldest results stand unproven: first those of workers that are gone.
void Canaries::limit(Session& session) {
  while (runs_ > core_.options.unproven_runs_max) {
    if (forget_oldest_gone()) continue;
    Watched* oldest = nullptr;
    for (auto& [lane, watched] : session.watched) {
      if (watched.stretches.empty()) continue;
      if (oldest == nullptr || watched.stretches[0].number < oldest->stretches[0].number) {
        oldest = &watched;
      }
    }
    if (oldest == nullptr) return;
    forget(oldest->stretches.front());
    oldest->stretches.pop_front();
    if (oldest->stretches.empty()) oldest->begins = true;
  }
}

void Canaries::track(Stretch& stretch, const UnprovenRun& run) {
  stretch.runs.push_back(run);
  ++tracked_[run.job].runs;
  ++runs_;
}

void Canaries::untrack(const UnprovenRun& run) {
  const auto it = tracked_.find(run.job);
  ASSERT(it != tracked_.end() && it->second.runs > 0 && runs_ > 0);
  --runs_;
  if (--it->second.runs == 0) tracked_.erase(it);
}

void Canaries::forget(const Stretch& stretch, bool proven) {
  record::ForgetStretch record{.stretch = stretch.number, .proven = proven};
  for (const UnprovenRun& run : stretch.runs) {
    record.cases += run.count;
    untrack(run);
  }
  core_.step.record(record);
}

bool Canaries::is_current(const CanaryOut& canary) const {
  const auto it = marked_.find(canary.job);
  return it != marked_.end() && it->second.epoch == canary.epoch;
}

std::string Canaries::judge(const CanaryOut& canary, const CaseResult& result) {
  const KnownResult& known = canary.known;
  if (result.verdict != known.verdict) {
    return name_of(canary) + " is " + std::string(verdict_name(known.verdict)) + ", it says " +
           std::string(verdict_name(result.verdict));
  }
  if (result.has_answer != known.has_answer || result.answer.size() != known.answer_bytes ||
      (known.has_answer && wire::digest_of(result.answer) != known.answer_digest)) {
    return name_of(canary) + " has another answer than the one it gives";
  }
  return {};
}

void Canaries::prove(Session& session, LaneNo lane, const CanaryOut& canary) {
  ++session.canaries_passed;
  const auto it = session.watched.find(lane);
  if (it == session.watched.end()) return;
  std::deque<Stretch>& stretches = it->second.stretches;
  while (!stretches.empty() && stretches.front().number < canary.before) {
    forget(stretches.front(), true);
    stretches.pop_front();
  }
}

}  // namespace puzzled::broker
