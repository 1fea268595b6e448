#include "client/scaler/scaler.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace puzzled::scaler {
namespace {

std::string counted(std::uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string seconds(std::int64_t ms) { return std::to_string((ms + 999) / 1000) + "s"; }

std::string in_brackets(const std::string& text) { return text.empty() ? "" : " (" + text + ")"; }

}  // namespace

std::string describe(const Status& status, const ScalerOptions& options) {
  if (!status.trouble.empty()) return "nothing is decided: " + status.trouble;
  std::string text = counted(status.slots_wanted, "slot") + " wanted";
  if (status.foreign_slots > 0) {
    text += ", " + std::to_string(status.foreign_slots) + " there without us";
  }
  text += ": " + counted(status.target, "worker") + " of " + std::to_string(options.min) + ".." +
          std::to_string(options.max) + "; " + std::to_string(status.running) + " running, " +
          std::to_string(status.connected) + " of them connected, " +
          std::to_string(status.pending) + " pending, " + std::to_string(status.ending) + " ending";
  if (status.forgotten > 0) {
    text += ", " + std::to_string(status.forgotten) + " connected without an allocation";
  }
  if (!status.paused.empty()) {
    text += "; none is started for " + seconds(status.paused_ms) + ": " + status.paused;
  }
  return text;
}

// First those that cost nothing to end: not started, not connected, idle; the newest of them, which
// has the largest number.
bool Scaler::goes_before(const Seat& a, const Seat& b) {
  return std::tuple(a.how != How::kCancel, a.connected, a.leases, b.since_ms, b.id.size(), b.id) <
         std::tuple(b.how != How::kCancel, b.connected, b.leases, a.since_ms, a.id.size(), a.id);
}

Decision Scaler::decide(std::int64_t now_ms, const Observation& seen) {
  Decision out;
  now_ms_ = now_ms;
  status_ = {};
  if (note_trouble(seen, out)) return out;
  seats_.clear();
  failure_.clear();

  Workers workers;
  for (const Worker& worker : seen.workers) {
    if (worker.allocation.empty()) {
      if (!worker.draining) status_.foreign_slots += worker.slots;
      continue;
    }
    // After a partition two processes can bear the name of one allocation; one that works counts.
    const Worker*& known = workers[worker.allocation];
    if (known == nullptr || known->draining) known = &worker;
  }
  for (auto& [id, known] : known_) known.listed = false;
  for (const Allocation& allocation : seen.allocations) look_at(allocation, workers, out);
  look_for_lost(seen, workers);
  count_forgotten(workers, out);
  if (!failure_.empty()) fail(failure_, out.notes);

  status_.slots_wanted = seen.slots_wanted;
  const std::uint64_t ours =
      seen.slots_wanted > status_.foreign_slots ? seen.slots_wanted - status_.foreign_slots : 0;
  const std::uint64_t wanted =
      ours / options_.slots_per_worker + (ours % options_.slots_per_worker > 0 ? 1 : 0);
  status_.target =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, options_.min, options_.max));
  if (now_ms_ < retry_at_ms_) {
    status_.paused = last_failure_;
    status_.paused_ms = retry_at_ms_ - now_ms_;
  }
  grow(out);
  shrink(out);
  return out;
}

bool Scaler::note_trouble(const Observation& seen, Decision& out) {
  const std::string& trouble =
      seen.daemon_trouble.empty() ? seen.engine_trouble : seen.daemon_trouble;
  if (trouble != told_trouble_) {
    out.notes.push_back(trouble.empty()
                            ? Note{Note::Level::kInfo, "daemon and engine can be asked again"}
                            : Note{Note::Level::kWarning, trouble});
    told_trouble_ = trouble;
  }
  status_.trouble = trouble;
  if (!trouble.empty()) {
    // What happened meanwhile is not known: all waiting starts anew.
    heard_since_ms_ = -1;
    surplus_since_ms_ = -1;
    return true;
  }
  if (heard_since_ms_ < 0) heard_since_ms_ = now_ms_;
  return false;
}

void Scaler::look_at(const Allocation& allocation, const Workers& workers, Decision& out) {
  using State = Allocation::State;
  if (allocation.state == State::kEnded) return;
  Known& known = known_[allocation.id];
  known.listed = true;
  if (allocation.state == State::kEnding) {
    ++status_.ending;
    known.joined = known.joined || workers.contains(allocation.id);
    return;
  }
  if (allocation.state == State::kHeld || allocation.state == State::kPending) {
    known.start_ms = -1;
    look_at_waiting(allocation, known, out);
    return;
  }
  const auto found = workers.find(allocation.id);
  look_at_running(allocation, found == workers.end() ? nullptr : found->second, known, out);
}

void Scaler::look_at_waiting(const Allocation& allocation, const Known& known, Decision& out) {
  const bool is_held = allocation.state == Allocation::State::kHeld;
  const bool was_asked = known.end_ms >= 0;
  if (!is_held && !was_asked) {
    ++status_.pending;
    seats_.push_back({.id = allocation.id, .how = How::kCancel, .since_ms = allocation.since_ms});
    return;
  }
  ++status_.ending;
  // One that was asked to end can be put back into the queue before it has; the engine may also
  // take its time.
  const bool is_cancelled = was_asked && known.end_how == How::kCancel &&
                            now_ms_ - known.end_ms < options_.drain_timeout_ms;
  if (is_cancelled) return;
  if (!was_asked) {
    failure_ = "allocation " + allocation.id + " is held" + in_brackets(allocation.detail);
  }
  out.ends.push_back(
      {allocation.id, How::kCancel, is_held ? "the engine holds it" : "it is not wanted any more"});
}

void Scaler::look_at_running(const Allocation& allocation, const Worker* worker, Known& known,
                             Decision& out) {
  if (known.start_ms != allocation.since_ms) {  // started (again)
    known.start_ms = allocation.since_ms;
    known.joined = false;
    known.seen_ms = now_ms_;  // not since_ms: that clock is another, and the task may have slept
  }
  if (worker != nullptr) {
    known.seen_ms = now_ms_;
    if (!std::exchange(known.joined, true)) {
      if (failures_ > 0) out.notes.push_back({Note::Level::kInfo, "workers come again"});
      resume();
    }
  }
  if (known.end_ms >= 0) {
    ++status_.ending;
    if (now_ms_ - known.end_ms < options_.drain_timeout_ms) return;
    out.ends.push_back({allocation.id, How::kKill,
                        "it was asked to end " + seconds(now_ms_ - known.end_ms) + " ago"});
    return;
  }
  if (worker != nullptr && worker->draining) {  // idle, pre-empted, or told by somebody else
    ++status_.ending;
    return;
  }
  const std::int64_t away_ms = now_ms_ - std::max(known.seen_ms, heard_since_ms_);
  if (worker == nullptr && away_ms >= options_.join_timeout_ms) {
    ++status_.ending;
    const std::string why = known.joined
                                ? "its worker left the daemon " + seconds(away_ms) + " ago"
                                : "its worker has not come to the daemon for " + seconds(away_ms);
    if (!known.joined) failure_ = "allocation " + allocation.id + ": " + why;
    out.ends.push_back({allocation.id, How::kKill, why});
    return;
  }
  ++status_.running;
  if (worker != nullptr) ++status_.connected;
  seats_.push_back({.id = allocation.id,
                    .how = How::kDrain,
                    .connected = worker != nullptr,
                    .leases = worker == nullptr ? 0 : worker->leases,
                    .since_ms = allocation.since_ms});
}

// Allocations that the engine lists no more: ended by themselves, cancelled, or forgotten.
void Scaler::look_for_lost(const Observation& seen, const Workers& workers) {
  std::map<std::string, const Allocation*> ends;
  for (const Allocation& allocation : seen.allocations) {
    if (allocation.state == Allocation::State::kEnded) {
      ends.emplace(allocation.id, &allocation);
    }
  }
  std::uint32_t lost = 0;
  for (auto it = known_.begin(); it != known_.end();) {
    const auto& [id, known] = *it;
    if (known.listed) {
      ++it;
      continue;
    }
    const auto end = ends.find(id);
    // One that came and went between two looks has ended well.
    const bool was_of_use = known.joined || (end != ends.end() && end->second->ended_well);
    if (!was_of_use && known.end_ms < 0 && !workers.contains(id)) {
      failure_ = "allocation " + id +
                 (end == ends.end() ? " is not known to the engine any more"
                                    : " ended" + in_brackets(end->second->detail)) +
                 " and its worker never came";
      ++lost;
    }
    it = known_.erase(it);
  }
  if (lost > 1) failure_ += "; so did " + std::to_string(lost - 1) + " more";
}

// Workers that bear the name of an allocation that the engine does not list: it forgot them, or
// gave them up while they were cut off. They work, so they count.
void Scaler::count_forgotten(const Workers& workers, Decision& out) {
  std::set<std::string> now_forgotten;
  for (const auto& [id, worker] : workers) {
    if (known_.contains(id) || worker->draining) continue;
    now_forgotten.insert(id);
    ++status_.forgotten;
    if (!forgotten_.contains(id)) {
      out.notes.push_back({Note::Level::kWarning, "worker " + worker->name +
                                                      " is connected, but the engine does not "
                                                      "list its allocation; it counts"});
    }
  }
  forgotten_ = std::move(now_forgotten);
}

void Scaler::grow(Decision& out) {
  const std::uint32_t have = status_.pending + status_.running + status_.forgotten;
  if (have >= status_.target || !status_.paused.empty()) return;
  // Those that still end keep their place: there are never more than `max`.
  const std::uint32_t all = have + status_.ending;
  if (all >= options_.max) return;
  out.submit = std::min({status_.target - have, options_.max - all, options_.submit_max});
  if (failures_ >= options_.failures_max) out.submit = 1;  // a trial
}

void Scaler::shrink(Decision& out) {
  const std::uint32_t have = status_.pending + status_.running + status_.forgotten;
  if (have <= status_.target) {
    surplus_since_ms_ = -1;
    return;
  }
  if (surplus_since_ms_ < 0) {
    surplus_since_ms_ = now_ms_;
    surplus_peak_ = 0;
  }
  surplus_peak_ = std::max(surplus_peak_, status_.target);
  const bool is_old = now_ms_ - surplus_since_ms_ >= options_.shrink_after_ms;
  const std::uint32_t keep = is_old ? surplus_peak_ : std::max(options_.max, surplus_peak_);
  std::ranges::sort(seats_, goes_before);
  for (std::size_t i = 0; i < seats_.size() && have - i > keep; ++i) {
    out.ends.push_back({seats_[i].id, seats_[i].how, "there are more workers than wanted"});
  }
  if (is_old) surplus_since_ms_ = -1;
}

void Scaler::submitted(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) known_.try_emplace(id);
}

void Scaler::submit_failed(std::int64_t now_ms, const std::string& why, std::vector<Note>& notes) {
  now_ms_ = now_ms;
  fail(why, notes);
}

void Scaler::ended(std::int64_t now_ms, const End& end) {
  const auto it = known_.find(end.id);
  if (it == known_.end()) return;
  it->second.end_ms = now_ms;
  it->second.end_how = end.how;
}

void Scaler::fail(const std::string& why, std::vector<Note>& notes) {
  ++failures_;
  last_failure_ = why;
  std::int64_t wait_ms = options_.pause_ms;
  if (failures_ < options_.failures_max) {
    wait_ms = options_.backoff_first_ms;
    for (std::uint32_t i = 1; i < failures_ && wait_ms < options_.backoff_max_ms; ++i) wait_ms *= 2;
    wait_ms = std::min(wait_ms, options_.backoff_max_ms);
    notes.push_back({Note::Level::kWarning, why + "; the next try is in " + seconds(wait_ms)});
  } else {
    notes.push_back({Note::Level::kWarning, why + "; that is failure " + std::to_string(failures_) +
                                                " in a row: no worker is started for " +
                                                seconds(wait_ms) +
                                                ", then one is tried. SIGHUP ends the pause"});
  }
  retry_at_ms_ = now_ms_ + wait_ms;
}

void Scaler::resume() {
  failures_ = 0;
  last_failure_.clear();
  retry_at_ms_ = 0;
}

}  // namespace puzzled::scaler
