// Sessions: what the operator does to workers.
#include <algorithm>
#include <utility>

#include "daemon/broker/leases.h"
#include "daemon/broker/sessions.h"
#include "proto/base/assert.h"
#include "proto/base/glob.h"

namespace puzzled::broker {

using event::WorkerAction;

void Sessions::control(event::ControlWorkers&& control) {
  message::WorkersControlled reply{
      .request = control.request, .unknown = {}, .workers = {}, .changed = 0, .unchanged = 0};
  Named found = named(control);
  reply.unknown = std::move(found.unknown);
  if (!reply.unknown.empty()) return core_.step.reply_now(control.peer, std::move(reply));
  ++controls_;
  const auto note = [&](message::ControlledWorker&& row) {
    ++(row.changed ? reply.changed : reply.unchanged);
    if (reply.workers.size() < core_.options.controlled_rows_max) {
      reply.workers.push_back(std::move(row));
    }
  };
  std::set<WorkerNo> changed_ones;
  for (const auto& [worker, session] : found.sessions) {
    if (apply(control.action, *session)) changed_ones.insert(worker);
  }
  take_back();  // so that the answer counts what is left
  for (const auto& [worker, session] : found.sessions) {
    const bool changed = changed_ones.contains(worker);
    note({.name = session->name,
          .host = session->host,
          .pid = session->pid,
          .leases = static_cast<std::uint32_t>(session->leases.size()),
          .state = state_of(*session),
          .changed = changed});
  }
  for (const std::string& name : found.absent) {
    const bool forgotten = control.action != WorkerAction::kDrain && paused_names_.erase(name) > 0;
    note({.name = name, .host = {}, .state = WorkerState::kAbsent, .changed = forgotten});
  }
  forget_paused_names();
  core_.step.reply_now(control.peer, std::move(reply));
}

Sessions::Named Sessions::named(const event::ControlWorkers& control) const {
  Named found;
  std::unordered_map<std::string, std::vector<Session*>> by_name;
  for (const auto& [worker, session] : by_worker_) by_name[session->name].push_back(session);
  const auto add = [&](const std::string& name) {
    const auto it = by_name.find(name);
    if (it != by_name.end()) {
      for (Session* session : it->second) found.sessions.emplace(session->worker, session);
    } else if (paused_names_.contains(name)) {
      found.absent.insert(name);
    } else {
      return false;
    }
    return true;
  };
  const auto add_all = [&](const auto& wanted) {
    bool any = false;
    for (const auto& [name, sessions] : by_name) any = (wanted(name) && add(name)) || any;
    for (const auto& [name, since] : paused_names_) any = (wanted(name) && add(name)) || any;
    return any;
  };
  if (control.all) add_all([](const std::string&) { return true; });
  for (const std::string& pattern : control.patterns) {
    // A name may look like a pattern: then it is meant first.
    if (add(pattern)) continue;
    if (is_glob(pattern) &&
        add_all([&](const std::string& name) { return glob_matches(pattern, name); })) {
      continue;
    }
    found.unknown.push_back(pattern);
  }
  return found;
}

// False: it was so before.
bool Sessions::apply(WorkerAction action, Session& session) {
  switch (action) {
    case WorkerAction::kDrain: {
      // Whoever comes next under this name is another one.
      if (session.removed) return false;
      const bool is_new = paused_names_.insert_or_assign(session.name, controls_).second;
      if (session.paused) return is_new;
      set_paused(session, true);
      to_take_back_.push_back(session.worker);
      return true;
    }
    case WorkerAction::kResume:
      paused_names_.erase(session.name);
      // It has been told to end, and nobody can tell it otherwise.
      if (!session.paused || session.removed) return false;
      set_paused(session, false);
      return true;
    case WorkerAction::kRemove:
      paused_names_.erase(session.name);
      if (std::exchange(session.removed, true)) return false;
      set_paused(session, true);
      // What it has not begun it returns by itself. If this is lost, Ready brings it again.
      if (session.attached) core_.step.tell_now(session.peer, message::Drain{});
      return true;
  }
  return false;
}

void Sessions::take_back() {
  while (!to_take_back_.empty() && !core_.step_is_full()) {
    const auto it = by_worker_.find(to_take_back_.front());
    to_take_back_.pop_front();
    if (it == by_worker_.end() || !it->second->paused) continue;
    core_.leases->take_back_unbegun(*it->second);
  }
}

// Keeps them to as many as there may be workers: the oldest go of which none is connected.
void Sessions::forget_paused_names() {
  if (paused_names_.size() <= core_.options.workers_max) return;
  std::set<std::string> connected;
  for (const auto& [worker, session] : by_worker_) connected.insert(session->name);
  std::vector<std::pair<std::uint64_t, std::string>> absent;
  for (const auto& [name, since] : paused_names_) {
    if (!connected.contains(name)) absent.emplace_back(since, name);
  }
  std::ranges::sort(absent);
  for (const auto& [since, name] : absent) {
    if (paused_names_.size() <= core_.options.workers_max) return;
    paused_names_.erase(name);
  }
}

WorkerState Sessions::state_of(const Session& session) const {
  // A worker that is told to end, or ends by itself, wants no leases any more. One that nothing was
  // asked of yet (capacity 0 in its Ready) looks the same.
  if (core_.draining || session.removed || session.capacity == 0) return WorkerState::kLeaving;
  if (!session.paused) return WorkerState::kWorking;
  return session.leases.empty() ? WorkerState::kDrained : WorkerState::kDraining;
}

}  // namespace puzzled::broker
