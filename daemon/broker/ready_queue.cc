#include "daemon/broker/ready_queue.h"

#include <algorithm>

#include "proto/base/assert.h"

namespace puzzled::broker {
namespace {

// How far work of the store alone can put a job behind the one that was served last.
constexpr std::uint64_t kStoreLagMaxUs = 1'000'000;

}  // namespace

LaneNo ReadyQueue::lane_of(const std::string& puzzle, const std::string& solver) {
  const auto [it, added] = numbers_.try_emplace(Key{puzzle, solver, {}, {}}, 0);
  if (added) {
    const LaneNo no = it->second = new_number();
    lanes_[no].puzzle = puzzle;
    lanes_[no].solver = solver;
    lanes_[no].plain = no;
  }
  return it->second;
}

LaneNo ReadyQueue::new_number() {
  if (unused_.empty()) {
    lanes_.emplace_back();
    return static_cast<LaneNo>(lanes_.size() - 1);
  }
  const LaneNo no = unused_.back();
  unused_.pop_back();
  return no;
}

// ---- Lanes with requirements.

std::optional<LaneNo> ReadyQueue::find_special(const JobSpec& spec) const {
  const auto it = numbers_.find(Key{spec.puzzle, spec.solver, spec.solver_version, spec.require});
  return it == numbers_.end() ? std::nullopt : std::optional(it->second);
}

LaneNo ReadyQueue::add_special(const JobSpec& spec) {
  const LaneNo plain = lane_of(spec.puzzle, spec.solver);
  const LaneNo no = new_number();
  numbers_.emplace(Key{spec.puzzle, spec.solver, spec.solver_version, spec.require}, no);
  Lane& lane = lanes_[no];
  lane.puzzle = spec.puzzle;
  lane.solver = spec.solver;
  lane.required = {.solver_version = spec.solver_version, .labels = spec.require};
  lane.plain = plain;
  lane.cost = lanes_[plain].cost;  // a fair guess until it has its own
  special_.insert(no);
  idle_.insert(no);
  return no;
}

std::optional<LaneNo> ReadyQueue::idle_special() const {
  return idle_.empty() ? std::nullopt : std::optional(*idle_.begin());
}

void ReadyQueue::remove_special(LaneNo no) {
  Lane& lane = lanes_[no];
  ASSERT(lane.jobs == 0 && lane.workers == 0 && lane.ready.empty() && lane.hungry.empty());
  numbers_.erase(Key{lane.puzzle, lane.solver, lane.required.solver_version, lane.required.labels});
  special_.erase(no);
  idle_.erase(no);
  lane = Lane{};
  unused_.push_back(no);
}

void ReadyQueue::add_job(LaneNo no) {
  if (lanes_[no].jobs++ == 0) idle_.erase(no);
}

void ReadyQueue::remove_job(LaneNo no) {
  ASSERT(lanes_[no].jobs > 0);
  if (--lanes_[no].jobs == 0 && special_.contains(no)) idle_.insert(no);
}

// ---- Workers.

bool ReadyQueue::add_worker(LaneNo no) {
  if (lanes_[no].workers++ > 0) return false;
  served_.insert(no);
  return true;
}

bool ReadyQueue::remove_worker(LaneNo no) {
  ASSERT(lanes_[no].workers > 0);
  if (--lanes_[no].workers > 0) return false;
  served_.erase(no);
  return true;
}

void ReadyQueue::catch_up(Place& place) {
  if (place.ready || place.hungry) return;  // it never left
  place.turn.virtual_us = std::max(place.turn.virtual_us, clock(place));
}

void ReadyQueue::set_ready(Place& place, bool ready) {
  if (place.ready == ready) return;
  catch_up(place);
  place.ready = ready;
  auto& turns = lanes_[place.lane].ready;
  ready ? static_cast<void>(turns.insert(place.turn)) : static_cast<void>(turns.erase(place.turn));
}

void ReadyQueue::set_hungry(Place& place, bool hungry) {
  if (place.hungry == hungry) return;
  catch_up(place);
  place.hungry = hungry;
  auto& turns = lanes_[place.lane].hungry;
  hungry ? static_cast<void>(turns.insert(place.turn)) : static_cast<void>(turns.erase(place.turn));
}

void ReadyQueue::set_curious(Place& place, bool curious) {
  if (place.curious == curious) return;
  place.curious = curious;
  curious ? static_cast<void>(curious_.insert(place.turn))
          : static_cast<void>(curious_.erase(place.turn));
}

bool ReadyQueue::is_sound(const Place& place) const {
  const Lane& lane = lanes_[place.lane];
  return curious_.contains(place.turn) == place.curious &&
         lane.ready.contains(place.turn) == place.ready &&
         lane.hungry.contains(place.turn) == place.hungry;
}

void ReadyQueue::repair(const Place& place) {
  Lane& lane = lanes_[place.lane];
  lane.ready.erase(place.turn);
  lane.hungry.erase(place.turn);
  curious_.erase(place.turn);
  if (place.ready) lane.ready.insert(place.turn);
  if (place.hungry) lane.hungry.insert(place.turn);
  if (place.curious) curious_.insert(place.turn);
}

void ReadyQueue::charge(Place& place, std::uint64_t us) {
  clock(place) = std::max(clock(place), place.turn.virtual_us);
  move_to(place, place.turn.virtual_us + std::max<std::uint64_t>(1, us));
}

void ReadyQueue::charge_store(Place& place, std::uint64_t us) {
  const std::uint64_t now_us = place.turn.virtual_us;
  move_to(place, std::max(now_us, std::min(now_us + us, clock(place) + kStoreLagMaxUs)));
}

void ReadyQueue::move_to(Place& place, std::uint64_t virtual_us) {
  Lane& lane = lanes_[place.lane];
  if (place.ready) lane.ready.erase(place.turn);
  if (place.hungry) lane.hungry.erase(place.turn);
  if (place.curious) curious_.erase(place.turn);
  place.turn.virtual_us = virtual_us;
  if (place.ready) lane.ready.insert(place.turn);
  if (place.hungry) lane.hungry.insert(place.turn);
  if (place.curious) curious_.insert(place.turn);
}

std::optional<Turn> ReadyQueue::first_ready(std::span<const LaneNo> lanes) const {
  std::optional<Turn> best;
  for (const LaneNo no : lanes) {
    const auto& turns = lanes_[no].ready;
    if (!turns.empty() && (!best || *turns.begin() < *best)) best = *turns.begin();
  }
  return best;
}

std::optional<Turn> ReadyQueue::first_hungry() const {
  std::optional<Turn> best;
  for (const LaneNo no : served_) {
    const auto& turns = lanes_[no].hungry;
    if (!turns.empty() && (!best || *turns.begin() < *best)) best = *turns.begin();
  }
  if (!curious_.empty() && (!best || curious_.begin()->priority > best->priority)) {
    best = *curious_.begin();
  }
  return best;
}

}  // namespace puzzled::broker
