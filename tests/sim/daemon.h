// The daemon: the real Broker in a shell that keeps the contract of effect.h as the reactor does.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "daemon/broker/broker.h"
#include "tests/sim/disk.h"
#include "tests/sim/mutation.h"
#include "tests/sim/network.h"
#include "tests/sim/oracle.h"

namespace puzzled::sim {

class Daemon {
 public:
  Daemon(Sim& sim, const Params& params, Network& network, Disk& disk, Oracle& oracle,
         Mutation mutation, bool sweeps)
      : sim_(sim),
        params_(params),
        network_(network),
        disk_(disk),
        oracle_(oracle),
        mutant_(mutation, oracle, disk),
        sweeps_(sweeps) {}

  void start();
  void crash();      // comes back by itself
  void terminate();  // drains, then the same
  void jump_wall(std::int64_t ms) { wall_offset_ms_ += ms; }
  // The operator asks for something, on a connection of its own for each request.
  template <class Request>
  void operate(Request request) {
    request.peer = PeerId{kOperators + ++operations_};
    request.request = 1;
    step(std::move(request));
  }

  // What the sweeper has found, in all boots.
  [[nodiscard]] std::uint64_t findings() const { return findings_; }
  [[nodiscard]] bool up() const { return broker_ != nullptr; }
  [[nodiscard]] bool idle() const { return up() && broker_->leases() == 0 && disk_.idle(); }

 private:
  struct Submitted {
    std::uint64_t sequence = 0;
    std::uint64_t step = 0;
  };
  struct Held {
    std::uint64_t step = 0;
    Send send;
  };

  void step(Event event);
  void one_step(Event event);
  void carry_out(Effects& effects);
  void send(const Send& send);
  void handle(Report report);
  void on(const Committed& committed);
  void on(const StoreFailed&) { crash(); }
  void on(const event::ChunkLoaded& loaded) { step(loaded); }
  void on(const event::ChunkCompared& compared) { step(compared); }
  void on(const event::CanariesLoaded& loaded) { step(loaded); }
  void on(const event::IntakePaused& paused) { step(paused); }
  void on(const event::IntakeResumed& resumed) { step(resumed); }
  void end();
  void end_if_drained();
  void sweep_again();
  void arm();
  [[nodiscard]] Now now() const;

  Sim& sim_;
  const Params& params_;
  Network& network_;
  Disk& disk_;
  Oracle& oracle_;
  Mutant mutant_;
  bool sweeps_;
  static constexpr std::uint64_t kOperators = 1ULL << 50U;  // no connections of the network
  std::uint64_t operations_ = 0;
  bool lose_next_ = false;
  JobId swept_;
  std::uint64_t findings_ = 0;

  std::unique_ptr<Broker> broker_;
  std::uint64_t started_ = 0;  // tells events of this process from those of earlier ones
  std::uint64_t last_sequence_ = 0;
  std::uint64_t durable_step_ = 0;
  std::deque<Submitted> submitted_;
  std::deque<Held> held_;
  std::deque<Event> gone_;  // peers that could not be sent to
  std::int64_t timer_ms_ = kNever;
  std::int64_t drain_until_ms_ = kNever;
  std::int64_t wall_offset_ms_ = 1'700'000'000'000;
};

}  // namespace puzzled::sim
