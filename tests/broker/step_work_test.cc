// However much is due at once, a step does a bounded part of it, so that whoever speaks in between
// is heard.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/broker/driver.h"

namespace puzzled {
namespace {

constexpr std::uint64_t kWorkers = 2'000;
constexpr std::uint32_t kLeases = 50;  // of each
constexpr std::uint64_t kAlive = 20;   // workers that hold nothing and go on talking

// As Driver, but without checking all invariants after each step: there are 100,000 leases.
class StepWork : public testing::Test {
 protected:
  static BrokerOptions one_case_a_lease() {
    BrokerOptions options;
    options.dispatch_cases_first = options.dispatch_cases_max = 1;
    return options;
  }
  void step(Event event) {
    effects_ = {};
    broker_.step(now_, std::move(event), effects_);
    if (effects_.step > durable_) {
      durable_ = effects_.step;
      broker_.step(now_, event::RecordsDurable{durable_}, effects_);
    }
  }
  // Ticks until nothing is left that is due at once; how many it took.
  std::uint64_t settle() {
    std::uint64_t ticks = 0;
    for (; broker_.next_deadline() <= now_.steady_ms; ++ticks) step(event::Tick{});
    return ticks;
  }
  void ready(std::uint64_t worker, std::uint32_t capacity) {
    event::WorkerReady e;
    e.peer = PeerId{worker};
    for (int i = 0; i < 8; ++i) e.start_id[i] = static_cast<std::uint8_t>(worker >> (8 * i));
    e.capacity = capacity;
    e.offers.push_back({"bishops", "fast", "1"});
    step(std::move(e));
    settle();
  }
  void submit(std::uint32_t chunks, std::uint32_t cases) {
    JobSpec spec;
    spec.puzzle = "bishops";
    spec.solver = "fast";
    step(event::OpenJob{PeerId{kClient}, 1, bytes16(1), spec});
    for (ChunkNo i = 0; i < chunks; ++i) {
      step(event::AddChunk{PeerId{kClient}, 2 + i, bytes16(1), i, {}, make_cases(cases), 7});
    }
  }
  template <class Message>
  [[nodiscard]] std::size_t sent(std::optional<PeerId> to = {}) const {
    return static_cast<std::size_t>(std::ranges::count_if(effects_.now, [&](const Send& send) {
      const auto* message = std::get_if<WorkerMessage>(&send.what);
      return message != nullptr && std::holds_alternative<Message>(*message) &&
             (!to || send.to == *to);
    }));
  }

  static constexpr std::uint64_t kClient = 1'000'000;
  Broker broker_{one_case_a_lease(), Driver::first_boot()};
  Effects effects_;
  Now now_{1'000, 1'700'000'000'000};
  std::uint64_t durable_ = 0;
};

TEST_F(StepWork, HeartbeatsAreHeardWhile100000LeasesExpire) {
  for (std::uint64_t worker = 1; worker <= kWorkers; ++worker) ready(worker, kLeases);
  submit(100, 1'000);
  settle();
  ASSERT_EQ(broker_.leases(), kWorkers * kLeases);
  for (std::uint64_t worker = 1; worker <= kAlive; ++worker) ready(kWorkers + worker, 0);

  // All but these fall silent, and nobody looks for so long that all of them are due.
  const BrokerOptions options;
  now_.steady_ms += options.liveness_ms;
  std::uint64_t steps = 0;
  while (broker_.leases() > 0 || broker_.next_deadline() <= now_.steady_ms) {
    const std::uint64_t before = broker_.leases();
    const PeerId alive{kWorkers + 1 + steps % kAlive};
    ASSERT_LE(broker_.next_deadline(), now_.steady_ms) << "it must ask for the next step at once";
    step(event::WorkerHeartbeat{alive, Boot{1}, {}, {}, 0});
    EXPECT_EQ(sent<message::Heartbeat>(alive), 1U) << "answered in its own step";
    EXPECT_LE(before - broker_.leases(), options.step_work_max + kLeases);
    ++steps;
  }
  EXPECT_GE(steps, kWorkers * kLeases / (options.step_work_max + kLeases));
  EXPECT_EQ(broker_.workers(now_, {}, UINT32_MAX).workers.size(), kAlive);
  broker_.check_invariants();
}

TEST_F(StepWork, CasesForManyWorkersAreHandedOutInParts) {
  for (std::uint64_t worker = 1; worker <= kWorkers; ++worker) ready(worker, 5);
  std::uint64_t most = 0;
  submit(10, 1'000);
  while (broker_.next_deadline() <= now_.steady_ms) {
    step(event::Tick{});
    most = std::max(most, sent<message::Dispatch>());
  }
  EXPECT_EQ(broker_.leases(), kWorkers * 5);
  EXPECT_LE(most, BrokerOptions{}.step_work_max);
  broker_.check_invariants();
}

TEST_F(StepWork, ALeaseWhoseTimeIsOverWhileOthersAreDealtWithIsNotLost) {
  for (std::uint64_t worker = 1; worker <= 60; ++worker) ready(worker, kLeases);
  submit(3, 1'000);
  settle();
  ASSERT_EQ(broker_.leases(), 60 * kLeases);
  now_.steady_ms += BrokerOptions{}.liveness_ms;
  step(event::Tick{});
  ASSERT_GT(broker_.leases(), 0U);
  // Whoever speaks before its turn came is not silent.
  std::vector<WorkerView> left = broker_.workers(now_, {}, UINT32_MAX).workers;
  ASSERT_FALSE(left.empty());
  step(event::WorkerHeartbeat{PeerId{60}, Boot{1}, {}, {}, 0});
  settle();
  EXPECT_EQ(broker_.workers(now_, {}, UINT32_MAX).workers.size(), 1U);
  broker_.check_invariants();
}

}  // namespace
}  // namespace puzzled
