// Sessions: credit, and serving the ready queue with it.
#include <algorithm>
#include <utility>

#include "daemon/broker/jobs.h"
#include "daemon/broker/leases.h"
#include "daemon/broker/sessions.h"
#include "proto/base/assert.h"

namespace puzzled::broker {

void Sessions::update_credit(Session& session) {
  const std::uint32_t free = session.room();
  if (free == session.free_leases) return;
  Profile& profile = session.place->second;
  const bool had_free = !profile.free.empty();
  if (session.free_leases > 0) {
    profile.free_leases -= session.free_leases;
    profile.free.erase({session.suspect, session.free_leases, session.free_since, &session});
  }
  // Its turn among equals starts anew with each change.
  session.free_leases = free;
  session.free_since = ++free_sequence_;
  if (free > 0) {
    profile.free_leases += free;
    profile.free.insert({session.suspect, free, session.free_since, &session});
  }
  if (had_free && profile.free.empty()) free_profiles_.erase(session.place);
  if (!had_free && !profile.free.empty()) free_profiles_.insert(session.place);
}

void Sessions::dispatch() {
  if (core_.draining) return;
  const DispatchSize size{.target_us = core_.options.dispatch_target_us,
                          .cases_first = core_.options.dispatch_cases_first,
                          .cases_max = core_.options.dispatch_cases_max};
  while (!core_.leases->store_is_behind() && !core_.step_is_full()) {
    Profile* chosen = nullptr;
    std::optional<Turn> first;
    std::size_t lanes_of_chosen = 0;
    for (Profiles::value_type* place : free_profiles_) {
      auto& [lanes, profile] = *place;
      const std::optional<Turn> turn = core_.queue.first_ready(lanes);
      if (!turn || (first && *first < *turn)) continue;
      // Who can do less goes first: the others may be needed for what only they can do.
      if (first && !(*turn < *first) && lanes.size() >= lanes_of_chosen) continue;
      lanes_of_chosen = lanes.size();
      first = turn;
      chosen = &profile;
    }
    if (chosen == nullptr) return;
    Job& job = core_.jobs->open(first->job);
    Session& session = *chosen->free.begin()->session;
    const Cost& cost = cost_of(job, core_.queue);
    const std::uint32_t cases =
        size.cases(cost, job.open_count() - job.leased_count, chosen->free_leases);
    core_.timers.arm(core_.leases->dispatch(session, job, cases), Timers::Kind::kSession,
                     session.worker.value, session.timer_ms);
  }
}

std::uint64_t Sessions::free_leases(LaneNo lane) const {
  std::uint64_t free = 0;
  for (const auto& [lanes, profile] : profiles_) {
    if (std::ranges::binary_search(lanes, lane)) free += profile.free_leases;
  }
  return free;
}

std::uint64_t Sessions::slots(LaneNo lane) const {
  std::uint64_t slots = 0;
  for (const auto& [peer, session] : by_peer_) {
    if (std::ranges::binary_search(session.lanes(), lane)) slots += session.slots;
  }
  return slots;
}

Sessions::Slots Sessions::slots() const {
  Slots slots;
  for (const auto& [peer, session] : by_peer_) {
    if (!session.attached || state_of(session) != WorkerState::kWorking) continue;
    ++slots.workers;
    slots.all += session.slots;
    for (const LaneNo lane : session.lanes()) slots.by_lane[lane] += session.slots;
  }
  return slots;
}

WorkersPage Sessions::page(const Now& now, WorkerNo after, std::uint32_t rows) const {
  std::vector<const Session*> sessions;
  for (const auto& [worker, session] : by_worker_) {
    if (worker > after) sessions.push_back(session);
  }
  std::ranges::sort(sessions, {}, &Session::worker);
  WorkersPage page;
  std::uint64_t bytes = 0;
  for (const Session* session : sessions) {
    if (page.workers.size() >= rows || bytes > core_.options.workers_page_bytes_max) {
      page.more = true;
      break;
    }
    page.workers.push_back(view_of(*session, now));
    page.next_after = session->worker;
    const WorkerView& view = page.workers.back();
    bytes += view.name.size() + view.host.size() + view.version.size();
    for (const std::string& solver : view.solvers) bytes += solver.size();
    for (const std::string& version : view.solver_versions) bytes += version.size();
    for (const Label& label : view.labels) bytes += label.key.size() + label.value.size();
  }
  return page;
}

WorkerView Sessions::view_of(const Session& session, const Now& now) const {
  WorkerView view{.name = session.name,
                  .host = session.host,
                  .pid = session.pid,
                  .slots = session.slots,
                  .leases = static_cast<std::uint32_t>(session.leases.size()),
                  .connected_ms = session.connected_wall_ms,
                  // A wall clock that was set back must not show the future.
                  .last_seen_ms = std::min(session.seen_wall_ms, now.wall_ms),
                  .draining = state_of(session) != WorkerState::kWorking,
                  .cases_done = session.cases_done,
                  .version = session.version,
                  .solvers = {},
                  .solver_versions = {},
                  .state = state_of(session),
                  .labels = session.labels,
                  .canaries_passed = session.canaries_passed};
  for (const LaneNo no : session.lanes()) {
    const Lane& lane = core_.queue.lane(no);
    if (lane.plain != no) continue;
    view.solvers.push_back(lane.puzzle + "/" + lane.solver);
    view.solver_versions.push_back(session.solver_version(no));
  }
  return view;
}

void Sessions::repair() {
  const auto found = [&](const Session& session, const char* what) {
    core_.step.find({.rule = Rule::kWorker,
                     .text = "worker " + std::to_string(session.worker.value) + ": " + what});
  };
  std::vector<Session*> sessions;
  for (const auto& [worker, session] : by_worker_) sessions.push_back(session);
  std::ranges::sort(sessions, {}, &Session::worker);
  for (Session* session : sessions) {
    if (session->timer_ms > session->heard_ms + core_.options.liveness_ms) {
      found(*session, "nobody watched whether it falls silent");
      arm(*session);
    }
    const std::uint32_t free_before = session->free_leases;
    update_credit(*session);
    if (session->free_leases != free_before) found(*session, "its room for leases was forgotten");
  }
}

void Sessions::check() const {
  ASSERT(by_peer_.size() == by_start_.size() && by_peer_.size() == by_worker_.size());
  ASSERT(by_peer_.size() <= core_.options.workers_max);
  std::map<std::vector<LaneNo>, std::pair<std::uint32_t, std::uint64_t>> seen;
  std::size_t leases = 0;
  for (const auto& [peer, session] : by_peer_) {
    ASSERT(session.peer == peer && by_start_.at(session.start_id) == &session);
    ASSERT(by_worker_.at(session.worker) == &session);
    ASSERT(session.leases.size() <= session.leases_allowed);
    ASSERT(session.capacity <= core_.options.worker_leases_max);
    ASSERT(session.timer_ms <= session.heard_ms + core_.options.liveness_ms);
    const std::uint32_t free = session.room();
    ASSERT(session.free_leases == free);
    ASSERT(session.serves == !session.paused && (session.paused || !session.removed));
    const Profile& profile = profiles_.at(session.lanes());
    ASSERT(&profile == &session.place->second);
    ASSERT(&profile.versions.find(*session.versions)->first == session.versions);
    ASSERT(profile.free.contains({session.suspect, free, session.free_since, nullptr}) ==
           (free > 0));
    LeaseId last;
    for (const auto& [id, lease] : session.leases) {
      ASSERT(lease->id == id && lease->session == &session && id > last);
      last = id;
    }
    ++seen[session.lanes()].first;
    seen[session.lanes()].second += free;
    leases += session.leases.size();
  }
  ASSERT(seen.size() == profiles_.size() && leases == core_.leases->live_count());
  std::size_t with_free = 0;
  for (const auto& [lanes, profile] : profiles_) {
    ASSERT(seen.at(lanes) == std::pair(profile.workers, profile.free_leases));
    with_free += profile.free.empty() ? 0 : 1;
  }
  ASSERT(free_profiles_.size() == with_free);
  for (const auto* place : free_profiles_) ASSERT(!place->second.free.empty());
}

}  // namespace puzzled::broker
