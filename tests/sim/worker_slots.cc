// Worker: its slots.
#include <memory>
#include <utility>

#include "tests/sim/cases.h"
#include "tests/sim/worker.h"

namespace puzzled::sim {

void Worker::plan(host::SlotNo number, std::int64_t ms, void (Worker::*what)(host::SlotNo)) {
  const std::uint64_t run = slots_[number].run;
  sim_.after(ms, [this, number, what, run, process = process_] {
    if (process == process_ && slots_[number].run == run) (this->*what)(number);
  });
}

void Worker::carry_out(const host::command::Start& c) {
  Slot& slot = slots_[c.slot];
  require(slot.dispatch == nullptr, 0, [] { return "a lease is started on a slot that is busy"; });
  slot = {};
  slot.dispatch = c.dispatch;
  slot.cases = split(c.dispatch->cases);
  slot.end = c.dispatch->case_count;
  require(slot.cases.size() == slot.end, 0, [] { return "a dispatch with another case count"; });
  solve_next(c.slot);
}

void Worker::solve_next(host::SlotNo number) {
  Slot& slot = slots_[number];
  slot.run = ++last_run_;
  const CaseFacts facts = read_case(slot.cases[slot.next]);
  plan(number, facts.work_ms, facts.kind == Kind::kPoison ? &Worker::die : &Worker::solved);
  if (facts.work_ms > params_.late_ms) plan(number, params_.late_ms, &Worker::late);
}

void Worker::die(host::SlotNo) {
  sim_.note(14, number_, [&] { return "worker " + std::to_string(number_) + ": dies of a case"; });
  kill();
}

void Worker::late(host::SlotNo number) {
  step(host::event::SlotLate{number, slots_[number].dispatch->lease});
}

void Worker::solved(host::SlotNo number) {
  Slot& slot = slots_[number];
  const std::string_view bytes = slot.cases[slot.next];
  append_result(slot.results, slot.next, bytes, lies_ && sim_.random.one_in(2),
                slot.dispatch->keys_wanted ? key_of(slot.dispatch->puzzle, bytes) : std::string());
  slot.busy_us += 1'000 * read_case(slot.cases[slot.next]).work_ms;
  ++slot.next;
  if (slot.next == slot.end) return hand_over(number, true);
  // Results are gathered before they are sent.
  if (sim_.random.one_in(3)) hand_over(number, false);
  if (up() && slot.dispatch != nullptr) solve_next(number);
}

void Worker::hand_over(host::SlotNo number, bool finished) {
  Slot& slot = slots_[number];
  auto results = std::make_shared<const std::string>(std::exchange(slot.results, {}));
  const host::event::SlotResults event{number, slot.dispatch->lease, std::move(results),
                                       std::exchange(slot.busy_us, 0), finished};
  if (finished) slot = {};
  step(event);
}

void Worker::return_rest(host::SlotNo number, std::uint32_t first) {
  Slot& slot = slots_[number];
  if (first >= slot.end) return;
  const host::Range rest{first, slot.end - first};
  slot.end = first;
  step(host::event::SlotReturned{number, slot.dispatch->lease, {rest}});
}

void Worker::carry_out(const host::command::Trim& c) {
  if (slots_[c.slot].dispatch != nullptr) return_rest(c.slot, slots_[c.slot].next + 1);
}

void Worker::carry_out(const host::command::Abort& c) {
  if (slots_[c.slot].dispatch == nullptr) return;
  return_rest(c.slot, slots_[c.slot].next);
  hand_over(c.slot, true);
}

void Worker::carry_out(const host::command::Kill& c) { slots_[c.slot] = {}; }

void Worker::disturb_slot() {
  if (!up()) return;
  const auto number = static_cast<host::SlotNo>(sim_.random.below(slots_.size()));
  Slot& slot = slots_[number];
  if (slot.dispatch == nullptr) return;
  const auto what = sim_.random.below(params_.hangs ? 3 : 2);
  sim_.note(15, number_ * 10 + what, [&] {
    return "worker " + std::to_string(number_) + ": slot fault " + std::to_string(what);
  });
  if (what == 0) {  // the solver dies: its case is run again, the rest goes on elsewhere
    return_rest(number, slot.next + 1);
    if (up() && slot.dispatch != nullptr) solve_next(number);
  } else if (what == 1) {  // the wall backstop: no verdict, everything goes back
    return_rest(number, slot.next);
    if (up() && slot.dispatch != nullptr) hand_over(number, true);
  } else {
    slot.run = ++last_run_;
    slot.hangs = true;
  }
}

}  // namespace puzzled::sim
