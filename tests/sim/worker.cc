// Worker: the process and its connection.
#include "tests/sim/worker.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "tests/sim/cases.h"
#include "tests/sim/translate.h"

namespace puzzled::sim {

void Worker::start() {
  if (up()) return;
  ++process_;
  lies_ = false;
  for (std::size_t i = 0; i < 8; ++i) {
    start_id_[i] = static_cast<std::uint8_t>(process_ >> (8 * i));
  }
  start_id_[15] = number_;
  host::SessionOptions options = params_.session;
  options.slots = static_cast<std::uint32_t>(sim_.random.from_to(1, params_.slots_max));
  options.seed = sim_.random.bits();
  // The first worker can solve all there is, whatever a job requires.
  offers_.clear();
  labels_ = {{"zone", "a"}};
  const char* version = "v1";
  if (params_.mixed_fleet && number_ != 1) {
    if (sim_.fleet.one_in(2)) version = "v2";
    if (sim_.fleet.one_in(2)) labels_ = {{"cpu", "fast"}, {"zone", "b"}};
    if (sim_.fleet.one_in(4)) labels_.clear();
  }
  for (const char* puzzle : {"bishops", "duel"}) {
    if (number_ == 1 || sim_.random.percent(70)) offers_.push_back({puzzle, "fast", version});
  }
  sim_.note(10, number_, [&] {
    return "worker " + std::to_string(number_) + ": starts, process " + std::to_string(process_) +
           ", " + std::to_string(options.slots) + " slots";
  });
  slots_.assign(options.slots, {});
  session_ = std::make_unique<host::Session>(options, sim_.now_ms);
  timer_ms_ = host::Session::kNever;
  step(host::event::Tick{});
}

void Worker::end(bool lingers) {
  if (!up()) return;
  sim_.note(11, number_, [&] { return "worker " + std::to_string(number_) + ": ends"; });
  ++process_;
  session_.reset();
  events_.clear();
  for (Slot& slot : slots_) slot = {};
  network_.close(line_, lingers);
  line_ = nullptr;
  sim_.after(sim_.random.from_to(0, params_.restart_ms), [this] { start(); });
}

void Worker::kill() { end(false); }

void Worker::terminate() {
  if (!up()) return;
  sim_.note(12, number_, [&] { return "worker " + std::to_string(number_) + ": SIGTERM"; });
  step(host::event::Terminate{});
}

void Worker::receive(const FromDaemon& message) {
  const auto& from = std::get<WorkerMessage>(message);
  step(std::visit([](const auto& m) { return to_session(m); }, from));
}

// Slots answer commands with events, which are stepped in turn, never one inside another.
void Worker::step(const host::Event& event) {
  events_.push_back(event);
  if (std::exchange(stepping_, true)) return;
  while (up() && !events_.empty()) {
    const host::Event next = std::move(events_.front());
    events_.pop_front();
    one_step(next);
  }
  stepping_ = false;
  if (up()) arm();
}

void Worker::one_step(const host::Event& event) {
  host::Effects effects;
  session_->step(sim_.now_ms, event, effects);
  session_->check_invariants();
  sim_.note(13, number_ * 100 + event.index(), [&] {
    return "worker " + std::to_string(number_) + ": event " + std::to_string(event.index()) + ", " +
           std::to_string(effects.messages.size()) + " messages, " +
           std::to_string(effects.commands.size()) + " commands" +
           (effects.close ? ", close" : "") + (effects.open ? ", open" : "");
  });
  if (effects.close) {
    network_.close(line_, false);
    line_ = nullptr;
  }
  if (effects.open) {
    network_.close(line_, false);
    line_ = network_.open(*this);
  }
  for (const host::Message& message : effects.messages) {
    std::visit([this](const auto& m) { send(m); }, message);
  }
  for (const host::Command& command : effects.commands) {
    std::visit([this](const auto& c) { carry_out(c); }, command);
  }
  if (effects.exit) end(true);
}

template <class Message>
void Worker::send(const Message& message) {
  if (line_ == nullptr) return;
  auto event = to_broker(message);
  if constexpr (requires { event.start_id; }) {
    event.start_id = start_id_;
    event.name = name();
    event.host = "h" + std::to_string(number_);
    event.pid = static_cast<std::uint32_t>(process_);
    event.slots = static_cast<std::uint32_t>(slots_.size());
    event.offers = offers_;
    event.labels = labels_;
  }
  network_.send(line_, std::move(event));
}

// As the host does: what the slots are at, then the time.
void Worker::tick() {
  for (host::SlotNo i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.dispatch == nullptr) continue;
    if (!slot.hangs) ++slot.progress;
    step(host::event::SlotProgress{i, slot.dispatch->lease, slot.next, slot.progress});
  }
  step(host::event::Tick{});
}

void Worker::arm() {
  const std::int64_t at_ms = session_->next_deadline();
  if (at_ms >= timer_ms_) return;
  timer_ms_ = at_ms;
  sim_.after(at_ms - sim_.now_ms, [this, at_ms, process = process_] {
    if (process != process_ || timer_ms_ != at_ms) return;
    timer_ms_ = host::Session::kNever;
    if (session_->next_deadline() <= sim_.now_ms) {
      tick();
    } else {
      arm();
    }
  });
}

}  // namespace puzzled::sim
