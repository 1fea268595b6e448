// Simulated workers around the real Broker, without sockets, codecs or a store: what the broker
// itself costs when there are many of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "daemon/broker/broker.h"

namespace puzzled::bench {

class Fleet {
 public:
  // Every worker has one slot, takes 5 ms for a case and holds a second lease; the broker gives it
  // about four cases at a time. A heartbeat each second.
  // With several `kinds` they differ in a label, in turn.
  explicit Fleet(std::uint32_t workers, std::uint32_t kinds = 1);
  // From now on dispatches take between half and one and a half of their time, so that workers do
  // not come back in the order in which they were served.
  void vary() { varied_ = true; }
  // A sealed job behind those that are there. Its chunks come from a store once they are needed.
  // `kind`, from 0: only workers of that kind can solve it; nullopt: all can.
  void add_job(std::uint64_t cases, std::optional<std::uint32_t> kind = {});
  // Lets the time pass until so many more cases have their result. Returns the time that the
  // broker's steps took, in seconds.
  double run(std::uint64_t cases);
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  struct Worker {
    std::vector<LeaseId> leases;
    std::int64_t free_ms = 0;
  };
  struct Due {  // in the order of time
    std::int64_t at_ms = 0;
    std::uint64_t order = 0;
    std::uint32_t worker = 0;
    LeaseId lease;            // 0: a heartbeat
    std::uint32_t cases = 0;  // of the lease
    friend bool operator>(const Due& a, const Due& b) {
      return a.at_ms != b.at_ms ? a.at_ms > b.at_ms : a.order > b.order;
    }
  };

  void step_all(std::vector<Event>& events);
  void take_effects();
  void plan(const message::Dispatch& dispatch, std::uint32_t worker);
  Event happen(const Due& due);

  std::unique_ptr<Broker> broker_;
  std::vector<Worker> workers_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  Now now_{1'000, 1'700'000'000'000};
  Effects effects_;
  std::vector<Event> burst_;
  std::vector<Event> follow_up_;
  std::uint64_t order_ = 0;
  std::uint64_t jobs_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t done_ = 0;
  bool varied_ = false;
  double broker_s_ = 0;
};

}  // namespace puzzled::bench
