#include "daemon/broker/sessions.h"

#include <algorithm>
#include <utility>

#include "daemon/broker/jobs.h"
#include "daemon/broker/leases.h"
#include "daemon/broker/suspects.h"
#include "daemon/broker/window.h"
#include "proto/base/assert.h"

namespace puzzled::broker {
namespace {

constexpr std::size_t kOffersMax = 256;  // of one worker

}  // namespace

const std::vector<LaneNo>& Session::lanes() const {
  static const std::vector<LaneNo> kNone;
  return place != nullptr ? place->first : kNone;
}

const std::string& Session::solver_version(LaneNo lane) const {
  static const std::string kUnknown;
  const auto it = std::ranges::lower_bound(lanes(), lane);
  return it != lanes().end() && *it == lane
             ? (*versions)[static_cast<std::size_t>(it - lanes().begin())]
             : kUnknown;  // it has stopped offering what it still holds
}

// ---- Coming.

void Sessions::ready(event::WorkerReady&& ready) {
  if (ready.offers.size() > kOffersMax) {
    return core_.step.tell_now(
        ready.peer, message::Refused{"more than " + std::to_string(kOffersMax) + " solvers"});
  }
  Session* session = nullptr;
  if (const auto it = by_start_.find(ready.start_id); it != by_start_.end()) session = it->second;
  Session* before = find(ready.peer);
  if (before != nullptr && before != session) drop(*before, Leave::kSilent);
  if (session == nullptr) {
    if (std::string why = core_.canaries->why_barred(ready); !why.empty()) {
      return core_.step.tell_when_durable(ready.peer, message::Refused{std::move(why)});
    }
  }
  if (session == nullptr) {
    session = create(ready);
    if (session == nullptr) {
      return core_.step.tell_now(
          ready.peer, message::Refused{"there are " + std::to_string(count()) +
                                       " workers, as many as the daemon allows (workers_max)"});
    }
  } else if (session->peer != ready.peer) {
    // The newest connection wins. If the old one is a second process with the same id, it must go.
    if (session->attached) {
      core_.step.tell_now(session->peer,
                          message::Refused{"another connection claims to be this worker"});
    }
    auto node = by_peer_.extract(session->peer);
    node.key() = session->peer = ready.peer;
    by_peer_.insert(std::move(node));
  }
  describe(*session, ready);
  session->paused = session->removed || paused_names_.contains(session->name);
  core_.step.tell_now(session->peer,
                      message::Welcome{.boot = core_.boot,
                                       .heartbeat_interval_ms = core_.options.heartbeat_interval_ms,
                                       .liveness_ms = core_.options.liveness_ms});
  const bool same_boot = ready.boot == core_.boot;
  core_.leases->keep_only(*session, same_boot ? std::move(ready.leases) : std::vector<LeaseId>{});
  if (core_.draining || session->removed) core_.step.tell_now(session->peer, message::Drain{});
  set_offers(*session, ready.offers);
  set_capacity(*session, ready.capacity);
  arm(*session);
}

Session* Sessions::create(const event::WorkerReady& ready) {
  if (count() >= core_.options.workers_max) return nullptr;
  Session* const session = &by_peer_[ready.peer];
  session->peer = ready.peer;
  session->start_id = ready.start_id;
  if (const auto gone = core_.suspects->welcome_back(ready.start_id)) {
    session->worker = gone->worker;
    session->recorded = gone->recorded;
    session->suspect = gone->suspect;
    session->removed = gone->removed;
  }
  core_.canaries->welcome_back(*session);
  if (session->worker.value == 0) {
    last_worker_ = WorkerNo{last_worker_.value + 1};
    session->worker = last_worker_;
  }
  session->connected_wall_ms = core_.step.wall_ms();
  session->progress_ms = core_.step.steady_ms();
  by_start_.emplace(ready.start_id, session);
  by_worker_.emplace(session->worker, session);
  return session;
}

void Sessions::describe(Session& session, event::WorkerReady& ready) {
  session.attached = true;
  session.name = std::move(ready.name);
  session.host = std::move(ready.host);
  session.pid = ready.pid;
  session.slots = ready.slots;
  session.version = std::move(ready.version);
  session.labels = std::move(ready.labels);
  session.busy.clear();
  session.heard_ms = core_.step.steady_ms();
  session.seen_wall_ms = core_.step.wall_ms();
}

void Sessions::set_capacity(Session& session, std::uint32_t capacity) {
  session.capacity = std::min(capacity, core_.options.worker_leases_max);
  session.leases_allowed =
      std::max(session.capacity, static_cast<std::uint32_t>(session.leases.size()));
  update_credit(session);
}

void Sessions::record_worker(Session& session) {
  if (session.recorded) return;
  session.recorded = true;
  core_.step.record(record::InsertWorker{.worker = session.worker,
                                         .start_id = session.start_id,
                                         .name = session.name,
                                         .host = session.host,
                                         .pid = session.pid,
                                         .version = session.version,
                                         .connected_ms = session.connected_wall_ms});
}

// ---- Talking.

Session* Sessions::find(PeerId peer) {
  const auto it = by_peer_.find(peer);
  return it == by_peer_.end() ? nullptr : &it->second;
}

Session* Sessions::hear(PeerId peer) {
  Session* session = find(peer);
  if (session != nullptr) note_heard(*session);
  return session;
}

void Sessions::note_heard(Session& session) const {
  session.attached = true;
  session.heard_ms = core_.step.steady_ms();
  session.seen_wall_ms = core_.step.wall_ms();
}

void Sessions::results(event::WorkerResults&& results) {
  Session* session = core_.leases->holder(results.lease);
  if (session == nullptr || session->peer != results.peer) session = find(results.peer);
  if (session == nullptr) {
    return core_.step.tell_now(results.peer, message::Stale{results.boot, results.lease});
  }
  note_heard(*session);
  const std::uint32_t capacity = results.capacity;
  if (const auto failed = core_.leases->results(*session, std::move(results))) {
    return convict(*session, *failed);
  }
  set_capacity(*session, capacity);
}

void Sessions::give_back(const event::WorkerReturn& returned) {
  Session* session = hear(returned.peer);
  if (session == nullptr) {
    return core_.step.tell_now(returned.peer, message::Stale{returned.boot, returned.lease});
  }
  core_.leases->give_back(*session, returned);
  set_capacity(*session, returned.capacity);
}

void Sessions::heartbeat(event::WorkerHeartbeat&& heartbeat) {
  Session* session = hear(heartbeat.peer);
  if (session == nullptr) {
    // It fell silent for too long, or talks to a new boot without knowing: it has to say who it is.
    return core_.step.tell_now(
        heartbeat.peer,
        message::Welcome{.boot = Boot{},
                         .heartbeat_interval_ms = core_.options.heartbeat_interval_ms,
                         .liveness_ms = core_.options.liveness_ms});
  }
  const std::uint32_t capacity = heartbeat.capacity;
  core_.step.tell_now(session->peer, message::Heartbeat{.boot = core_.boot});
  // Until it has read our Welcome it still speaks of another boot.
  if (heartbeat.boot == core_.boot) core_.leases->heartbeat(*session, std::move(heartbeat));
  // It has not heard that it shall end: that was lost, or is still on its way.
  const bool shall_end = core_.draining || session->removed;
  if (shall_end && capacity > 0) core_.step.tell_now(session->peer, message::Drain{});
  set_capacity(*session, capacity);
}

void Sessions::drain() {
  if (std::exchange(core_.draining, true)) return;
  std::vector<const Session*> sessions;
  for (const auto& [worker, session] : by_worker_) {
    if (session->attached) sessions.push_back(session);
  }
  std::ranges::sort(sessions, {}, &Session::worker);
  for (const Session* session : sessions) core_.step.tell_now(session->peer, message::Drain{});
}

// ---- Going.

void Sessions::goodbye(const event::WorkerGoodbye& goodbye) {
  if (Session* session = find(goodbye.peer)) drop(*session, Leave::kGoodbye);
}

// Perhaps only the connection: the worker has until its liveness is over to come back on another.
void Sessions::connection_gone(PeerId peer) {
  Session* session = find(peer);
  if (session == nullptr) return;
  session->attached = false;
  update_credit(*session);
}

void Sessions::arm(Session& session) {
  const std::int64_t silent_ms = session.heard_ms + core_.options.liveness_ms;
  core_.timers.arm(std::min(silent_ms, core_.leases->first_deadline(session)),
                   Timers::Kind::kSession, session.worker.value, session.timer_ms);
}

void Sessions::timer(WorkerNo worker, std::int64_t at_ms) {
  const auto it = by_worker_.find(worker);
  if (it == by_worker_.end() || it->second->timer_ms != at_ms) return;
  Session& session = *it->second;
  session.timer_ms = kNever;
  if (session.heard_ms + core_.options.liveness_ms <= core_.step.steady_ms()) {
    return drop(session, Leave::kSilent);
  }
  if (core_.leases->first_deadline(session) <= core_.step.steady_ms()) {
    return drop(session, Leave::kHung);
  }
  arm(session);
}

void Sessions::forgive_silence(std::int64_t late_ms) {
  for (auto& [peer, session] : by_peer_) {
    session.heard_ms = core_.step.steady_ms();
    session.progress_ms += late_ms;
  }
  core_.leases->postpone(late_ms);
}

void Sessions::drop(Session& session, Leave how) {
  // It was on its way out (drained, told to end by SIGTERM or a pre-emption): whatever became of it
  // then is no sign against what it was still solving.
  const bool leaving = session.capacity == 0 || session.paused;
  session.attached = session.attached && how == Leave::kHung;
  session.capacity = 0;
  update_credit(session);
  if (how == Leave::kHung) {
    session.suspect = true;
    core_.leases->end_expired(session);
  }
  core_.leases->end_all(session, how == Leave::kSilent && !leaving ? Blame::kCharge : Blame::kNone);
  leave_lanes(session);
  if (how != Leave::kGoodbye) core_.suspects->remember(session);
  core_.canaries->remember(session);
  erase(session);
}

// It failed a canary. What it holds costs its cases nothing.
void Sessions::convict(Session& session, const FailedCanary& failed) {
  session.capacity = 0;
  update_credit(session);
  core_.leases->end_all(session, Blame::kNone);
  core_.canaries->convict(session, failed.lane, failed.why);
  leave_lanes(session);
  erase(session);
}

void Sessions::erase(Session& session) {
  by_start_.erase(session.start_id);
  by_worker_.erase(session.worker);
  by_peer_.erase(session.peer);
}

}  // namespace puzzled::broker
