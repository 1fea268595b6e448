// A worker: the real Session, and slots that solve the model's cases. A process that ends is
// started again after a while, under another start id.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/network.h"
#include "tests/sim/params.h"
#include "tests/sim/sim.h"
#include "workers/host/session.h"

namespace puzzled::sim {

class Worker : public Endpoint {
 public:
  Worker(Sim& sim, const Params& params, Network& network, std::uint8_t number)
      : sim_(sim), params_(params), network_(network), number_(number) {}

  void start();
  void kill();
  void terminate();
  // Its solvers answer wrong now and then, until the process ends.
  void begin_lying() { lies_ = up(); }
  void stop_lying() { lies_ = false; }
  [[nodiscard]] std::string name() const { return "w" + std::to_string(number_); }
  void disturb_slot();  // one of them dies, gives up its case, or hangs
  [[nodiscard]] const LinePtr& line() const { return line_; }
  [[nodiscard]] bool up() const { return session_ != nullptr; }
  [[nodiscard]] bool idle() const { return up() && session_->held_leases().empty(); }

  void connected() override { step(host::event::Connected{}); }
  void receive(const FromDaemon& message) override;

 private:
  struct Slot {
    host::DispatchPtr dispatch;  // null: idle
    std::vector<std::string_view> cases;
    std::uint32_t next = 0;  // being solved
    std::uint32_t end = 0;   // the first position that is not ours (any more)
    std::string results;     // not yet handed over
    std::uint64_t busy_us = 0;
    std::uint64_t run = 0;  // tells what is planned for this case from what was for earlier ones
    std::uint64_t progress = 0;
    bool hangs = false;
  };

  void step(const host::Event& event);
  void one_step(const host::Event& event);
  void tick();
  void arm();
  void end(bool lingers);
  template <class Message>
  void send(const Message& message);
  void fill(host::message::Ready& ready);

  void carry_out(const host::command::Start& c);
  void carry_out(const host::command::Trim& c);
  void carry_out(const host::command::Abort& c);
  void carry_out(const host::command::Kill& c);
  void solve_next(host::SlotNo number);
  void solved(host::SlotNo number);
  void hand_over(host::SlotNo number, bool finished);
  void return_rest(host::SlotNo number, std::uint32_t first);
  void plan(host::SlotNo number, std::int64_t ms, void (Worker::*what)(host::SlotNo));
  void late(host::SlotNo number);
  void die(host::SlotNo number);

  Sim& sim_;
  const Params& params_;
  Network& network_;
  std::uint8_t number_;

  std::unique_ptr<host::Session> session_;
  std::uint64_t process_ = 0;  // tells this process from earlier ones
  Bytes16 start_id_{};
  std::vector<SolverOffer> offers_;
  Labels labels_;
  LinePtr line_;
  std::vector<Slot> slots_;
  std::deque<host::Event> events_;  // of slots, for the session
  bool lies_ = false;
  bool stepping_ = false;
  std::int64_t timer_ms_ = 0;
  std::uint64_t last_run_ = 0;
};

}  // namespace puzzled::sim
