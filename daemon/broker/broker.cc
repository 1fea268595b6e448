#include "daemon/broker/broker.h"

#include <algorithm>
#include <utility>

#include "daemon/broker/canaries.h"
#include "daemon/broker/core.h"
#include "daemon/broker/jobs.h"
#include "daemon/broker/leases.h"
#include "daemon/broker/reuse.h"
#include "daemon/broker/sessions.h"
#include "daemon/broker/suspects.h"
#include "daemon/broker/sweep.h"
#include "daemon/broker/window.h"
#include "proto/base/assert.h"

namespace puzzled {
namespace {

constexpr std::size_t kBarredShown = 1'000;  // the newest, on a page of workers

}  // namespace

struct Broker::Impl {
  Impl(const BrokerOptions& options, Recovery&& recovery)
      : core(options, recovery.boot),
        window(core),
        jobs(core),
        leases(core),
        sessions(core, recovery.last_worker),
        suspects(core),
        canaries(core),
        reuse(core) {
    core.window = &window;
    core.jobs = &jobs;
    core.leases = &leases;
    core.sessions = &sessions;
    core.suspects = &suspects;
    core.canaries = &canaries;
    core.reuse = &reuse;
    reuse.recover(recovery);
    canaries.recover(recovery);
    jobs.recover(std::move(recovery.jobs), recovery.last_job);
  }

  // From clients.
  void on(event::OpenJob&& e) { jobs.open_job(std::move(e)); }
  void on(event::AddChunk&& e) { jobs.add_chunk(std::move(e)); }
  void on(event::SealJob&& e) { jobs.seal(e); }
  void on(event::CancelJob&& e) { jobs.cancel(e); }
  void on(event::WaitJob&& e) { jobs.wait(e); }
  void on(event::MarkCanary&& e) { canaries.mark(e); }
  void on(event::AdmitWorker&& e) { canaries.admit(e); }
  void on(event::ClientGone&& e) { jobs.forget_client(e.peer); }
  // From workers.
  void on(event::WorkerReady&& e) { sessions.ready(std::move(e)); }
  void on(event::WorkerResults&& e) { sessions.results(std::move(e)); }
  void on(event::WorkerReturn&& e) { sessions.give_back(e); }
  void on(event::WorkerHeartbeat&& e) { sessions.heartbeat(std::move(e)); }
  void on(event::WorkerSpoke&& e) { sessions.spoke(e); }
  void on(event::WorkerGoodbye&& e) { sessions.goodbye(e); }
  void on(event::WorkerGone&& e) { sessions.connection_gone(e.peer); }
  // From the operator and the store.
  void on(event::ControlWorkers&& e) { sessions.control(std::move(e)); }
  void on(event::DrainWorkers&&) { sessions.drain(); }
  void on(event::ChunkLoaded&& e) { window.set_loaded(std::move(e)); }
  void on(event::ChunkCompared&& e) { jobs.chunk_compared(e); }
  void on(event::CanariesLoaded&& e) { canaries.loaded(std::move(e)); }
  void on(event::RecordsDurable&& e) {
    window.set_durable(e.steps);
    leases.set_durable(e.steps);
  }
  void on(event::IntakePaused&& e) {
    core.intake_paused = e.reason.empty() ? "submissions are paused" : std::move(e.reason);
  }
  void on(event::IntakeResumed&&) {
    core.intake_paused.clear();
    core.intake_resumed_ms = core.step.steady_ms();
  }
  void on(event::Sweep&& e) { broker::sweep(core, e); }
  void on(event::Tick&&) {}

  void run_timers() {
    while (!core.step_is_full()) {
      const auto entry = core.timers.pop(core.step.steady_ms());
      if (!entry) return;
      if (entry->kind == broker::Timers::Kind::kSession) {
        sessions.timer(WorkerNo{entry->id}, entry->at_ms);
      } else {
        jobs.upload_timer(JobId{entry->id}, entry->at_ms);
      }
    }
  }

  // If this step comes much later than was asked for, it was this process that was away: stopped,
  // or starved. What the workers said meanwhile still waits to be read, so their silence says
  // nothing yet.
  void forgive_own_absence() {
    const std::int64_t due_ms = core.timers.next();
    if (due_ms == kNever) return;
    const std::int64_t late_ms = core.step.steady_ms() - due_ms;
    if (late_ms >= core.options.heartbeat_interval_ms) sessions.forgive_silence(late_ms);
  }

  [[nodiscard]] std::string why_waiting(const broker::Job& job) const;
  [[nodiscard]] std::string barred_of(const broker::Lane& lane) const;

  bool started = false;
  bool is_unfinished = false;  // the last step left work for the next one
  std::int64_t last_steady_ms = 0;
  broker::Core core;
  broker::Window window;
  broker::Jobs jobs;
  broker::Leases leases;
  broker::Sessions sessions;
  broker::Suspects suspects;
  broker::Canaries canaries;
  broker::Reuse reuse;
};

Broker::Broker(BrokerOptions options, Recovery recovery)
    : impl_(std::make_unique<Impl>(options, std::move(recovery))) {}
Broker::~Broker() = default;

void Broker::step(const Now& now, Event event, Effects& effects) {
  Impl& impl = *impl_;
  ASSERT(!impl.started || now.steady_ms >= impl.last_steady_ms);
  impl.last_steady_ms = now.steady_ms;
  impl.core.step.begin(now, effects);
  if (!std::exchange(impl.started, true)) {
    impl.canaries.start();
    impl.jobs.start();
  }
  impl.forgive_own_absence();
  // The event before the timers: whoever speaks now is not silent, however late we come to it.
  std::visit([&](auto&& e) { impl.on(std::forward<decltype(e)>(e)); }, std::move(event));
  impl.run_timers();
  impl.sessions.take_back();
  impl.sessions.dispatch();
  impl.window.refill();
  impl.is_unfinished = impl.core.step_is_full();
  impl.core.step.end();
}

std::int64_t Broker::next_deadline() const {
  if (impl_->is_unfinished) return impl_->last_steady_ms;
  return impl_->started ? impl_->core.timers.next() : 0;
}

JobView Broker::job_view(JobId id) const {
  const broker::Job* job = std::as_const(impl_->jobs).find_open(id);
  if (job == nullptr) return {};
  return {.leased = job->leased_count,
          .waiting_for = job->leased_count > 0 ? std::string() : impl_->why_waiting(*job)};
}

void Broker::find_stuck(JobId after, JobId last, std::vector<Finding>& findings) const {
  const auto& jobs = impl_->jobs.open_jobs();
  for (auto it = jobs.upper_bound(after); it != jobs.end() && it->first <= last; ++it) {
    const broker::Job& job = *it->second;
    if (job.open_count() == 0 || job.leased_count > 0) continue;
    if (impl_->core.queue.lane(job.place.lane).workers > 0) continue;
    findings.push_back({.rule = Rule::kStuck,
                        .job = job.id,
                        .text = "nothing of it runs: " + impl_->why_waiting(job)});
  }
}

// What to know of workers that could have solved it, or nothing.
std::string Broker::Impl::barred_of(const broker::Lane& lane) const {
  const auto is_of = [&](const Barred& barred) {
    return barred.puzzle == lane.puzzle && barred.solver == lane.solver;
  };
  const auto count = std::ranges::count_if(canaries.barred(), is_of);
  if (count == 0) return {};
  const Barred& first = *std::ranges::find_if(canaries.barred(), is_of);
  return "; " + std::to_string(count) + " that solved it failed a canary, among them " +
         first.name + " of " + first.host + " (puzzlectl workers, puzzlectl admit)";
}

std::string Broker::Impl::why_waiting(const broker::Job& job) const {
  const broker::Lane& lane = core.queue.lane(job.place.lane);
  if (job.open_count() == 0)
    return "the upload is not finished: go on with \"submit --resume\", or cancel the job";
  if (core.draining) return "the daemon is shutting down";
  if (sessions.count() == 0) return "no worker is connected" + barred_of(lane);
  if (lane.workers == 0) return sessions.missing(lane) + barred_of(lane);
  if (leases.store_is_behind()) return "results wait for the disk, which is full or slow";
  if (job.queued_count == 0) {
    if (job.loading_count > 0) return "its cases are being read from the store";
    if (job.backlog.empty() || job.backlog.front().chunk_no >= job.durable_chunks) {
      return "its cases are being written to the store";
    }
    return "memory for its cases is taken by jobs of higher or equal priority";
  }
  if (sessions.free_leases(job.place.lane) > 0) return "it is about to start";
  if (leases.live_count() == 0) return "the workers that could solve it accept no cases now";
  return "all " + std::to_string(sessions.slots(job.place.lane)) +
         " slots that could solve it are busy with jobs of higher or equal priority";
}

WorkersPage Broker::workers(const Now& now, WorkerNo after, std::uint32_t rows) const {
  WorkersPage page = impl_->sessions.page(now, after, rows);
  if (after == WorkerNo{}) {
    const auto& barred = impl_->canaries.barred();
    const auto shown = std::min<std::size_t>(barred.size(), kBarredShown);
    page.barred.assign(barred.end() - static_cast<std::ptrdiff_t>(shown), barred.end());
  }
  return page;
}

Demand Broker::demand(std::uint32_t slot_work_ms, std::size_t lanes_max) const {
  return broker::demand_of(impl_->core, slot_work_ms, lanes_max);
}

std::string Broker::intake_paused() const { return impl_->core.intake_paused; }

std::uint64_t Broker::leases() const { return impl_->leases.live_count(); }

std::size_t Broker::worker_count() const { return impl_->sessions.count(); }

std::size_t Broker::barred_count() const { return impl_->canaries.barred().size(); }

std::size_t Broker::open_job_count() const { return impl_->jobs.open_jobs().size(); }

void Broker::check_invariants() const {
  impl_->jobs.check();
  impl_->leases.check();
  impl_->sessions.check();
  impl_->canaries.check();
  for (const auto& [id, job] : impl_->jobs.open_jobs()) {
    impl_->suspects.check(*job);
    ASSERT(impl_->core.queue.is_sound(job->place));
  }
}

}  // namespace puzzled
