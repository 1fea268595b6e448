// What the parts of the broker share: the step in progress, and each other.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "daemon/broker/effect.h"
#include "daemon/broker/event.h"
#include "daemon/broker/options.h"
#include "daemon/broker/ready_queue.h"
#include "daemon/broker/timers.h"

namespace puzzled::broker {

class Canaries;
class Window;
class Jobs;
class Leases;
class Reuse;
class Sessions;
class Suspects;

// The step in progress: when it is, and where its effects go.
class Step {
 public:
  void begin(const Now& now, Effects& effects) {
    now_ = now;
    effects_ = &effects;
    records_before_ = effects.records.size();
    work_ = 0;
  }
  void end() {
    if (effects_->records.size() > records_before_) ++steps_;
    effects_->step = steps_;
    effects_ = nullptr;
  }

  [[nodiscard]] std::int64_t steady_ms() const { return now_.steady_ms; }
  [[nodiscard]] std::int64_t wall_ms() const { return now_.wall_ms; }
  // The number this step has, as it has records.
  [[nodiscard]] std::uint64_t recording_number() const { return steps_ + 1; }

  // Counts what a step may have much of (BrokerOptions::step_work_max).
  void note_work(std::uint64_t count = 1) { work_ += count; }
  [[nodiscard]] std::uint64_t work() const { return work_; }

  void record(Record what) { effects_->records.push_back(std::move(what)); }
  void find(Finding what) { effects_->findings.push_back(std::move(what)); }
  void set_swept(JobId last) { effects_->swept = last; }
  void load(const LoadChunk& what) { effects_->loads.push_back(what); }
  void load_canaries(const LoadCanaries& what) { effects_->canary_loads.push_back(what); }
  void notice(std::string line) { effects_->notices.push_back(std::move(line)); }
  void compare(const CompareChunk& what) { effects_->comparisons.push_back(what); }
  template <class Message>  // one of ClientMessage
  void reply_now(PeerId to, Message what) {
    effects_->now.push_back({to, ClientMessage{std::move(what)}});
  }
  template <class Message>
  void reply_when_durable(PeerId to, Message what) {
    effects_->when_durable.push_back({to, ClientMessage{std::move(what)}});
  }
  template <class Message>  // one of WorkerMessage
  void tell_now(PeerId to, Message what) {
    effects_->now.push_back({to, WorkerMessage{std::move(what)}});
  }
  template <class Message>
  void tell_when_durable(PeerId to, Message what) {
    effects_->when_durable.push_back({to, WorkerMessage{std::move(what)}});
  }

 private:
  Now now_;
  Effects* effects_ = nullptr;
  std::size_t records_before_ = 0;
  std::uint64_t work_ = 0;
  std::uint64_t steps_ = 0;
};

// Each part owns its tables; the others reach it through here.
struct Core {
  Core(const BrokerOptions& with, Boot in) : options(with), boot(in) {}
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // The step has done enough: what is left is for the next one, which is due at once.
  [[nodiscard]] bool step_is_full() const { return step.work() >= options.step_work_max; }

  const BrokerOptions options;
  const Boot boot;
  Step step;
  Timers timers;
  ReadyQueue queue;
  bool draining = false;
  std::string intake_paused;           // empty: it is not
  std::int64_t intake_resumed_ms = 0;  // steady; 0: it was never paused

  Window* window = nullptr;
  Jobs* jobs = nullptr;
  Leases* leases = nullptr;
  Sessions* sessions = nullptr;
  Suspects* suspects = nullptr;
  Canaries* canaries = nullptr;
  Reuse* reuse = nullptr;
};

}  // namespace puzzled::broker
