#include "daemon/broker/ready_queue.h"

#include <gtest/gtest.h>

namespace puzzled::broker {
namespace {

Place place(ReadyQueue& queue, std::uint64_t job, std::int32_t priority,
            const char* puzzle = "bishops") {
  Place p;
  p.lane = queue.lane_of(puzzle, "fast");
  p.turn = {.priority = priority, .virtual_us = 0, .job = JobId{job}};
  queue.set_ready(p, true);
  return p;
}

TEST(ReadyQueue, LanesAreNumberedOnce) {
  ReadyQueue queue;
  EXPECT_EQ(queue.lane_of("a", "x"), queue.lane_of("a", "x"));
  EXPECT_NE(queue.lane_of("a", "x"), queue.lane_of("a", "y"));
}

TEST(ReadyQueue, FirstOfSeveralLanes) {
  ReadyQueue queue;
  Place a = place(queue, 1, 0, "a");
  Place b = place(queue, 2, 3, "b");
  const std::vector<LaneNo> both = {a.lane, b.lane};
  const std::vector<LaneNo> one = {a.lane};
  EXPECT_EQ(queue.first_ready(both)->job, JobId{2});
  EXPECT_EQ(queue.first_ready(one)->job, JobId{1});
  queue.set_ready(b, false);
  EXPECT_EQ(queue.first_ready(both)->job, JobId{1});
  queue.set_ready(a, false);
  EXPECT_FALSE(queue.first_ready(both));
}

TEST(ReadyQueue, WhoHasWorkersIsHungryBeforeThoseThatAreOnlyCurious) {
  ReadyQueue queue;
  const auto hungry = [&](std::uint64_t job, std::int32_t priority, const char* puzzle) {
    Place p;
    p.lane = queue.lane_of(puzzle, "fast");
    p.turn = {.priority = priority, .virtual_us = 0, .job = JobId{job}};
    queue.set_hungry(p, true);
    return p;
  };
  Place curious = hungry(1, 0, "duel");
  queue.set_curious(curious, true);
  EXPECT_EQ(queue.first_hungry()->job, JobId{1});
  const Place served = hungry(2, 0, "bishops");
  EXPECT_EQ(queue.first_hungry()->job, JobId{1}) << "nobody solves the other one's cases";
  queue.add_worker(served.lane);
  EXPECT_EQ(queue.first_hungry()->job, JobId{2});
  Place first = hungry(3, 1, "duel");
  queue.set_curious(first, true);
  EXPECT_EQ(queue.first_hungry()->job, JobId{3}) << "its priority is higher";
}

TEST(ReadyQueue, WorkOfTheStorePutsAJobBehindItsEqualsWithinABound) {
  ReadyQueue queue;
  Place a = place(queue, 1, 0);
  const Place b = place(queue, 2, 0);
  const std::vector<LaneNo> lanes = {a.lane};
  queue.charge_store(a, 20);
  EXPECT_EQ(queue.first_ready(lanes)->job, JobId{2});
  for (int i = 0; i < 1'000; ++i) queue.charge_store(a, 20'000);
  EXPECT_EQ(a.turn.virtual_us, 1'000'000U);
  EXPECT_TRUE(queue.is_sound(a));
  // Who comes now is not behind those that had workers.
  const Place c = place(queue, 3, 0);
  EXPECT_EQ(c.turn.virtual_us, b.turn.virtual_us);
}

TEST(ReadyQueue, TurnsAreByWorkNotByCount) {
  ReadyQueue queue;
  Place a = place(queue, 1, 0);
  Place b = place(queue, 2, 0);
  const std::vector<LaneNo> lanes = {a.lane};
  int turns_of_a = 0;
  for (int i = 0; i < 400; ++i) {
    const bool is_a = queue.first_ready(lanes)->job == JobId{1};
    turns_of_a += is_a ? 1 : 0;
    is_a ? queue.charge(a, 30) : queue.charge(b, 10);
  }
  EXPECT_NEAR(turns_of_a, 100, 2);
}

TEST(ReadyQueue, WhoComesLateOwesNothingAndIsOwedNothing) {
  ReadyQueue queue;
  Place a = place(queue, 1, 0);
  const std::vector<LaneNo> lanes = {a.lane};
  for (int i = 0; i < 100; ++i) queue.charge(a, 10);
  Place b = place(queue, 2, 0);
  EXPECT_EQ(queue.first_ready(lanes)->job, JobId{2});
  queue.charge(b, 20);
  EXPECT_EQ(queue.first_ready(lanes)->job, JobId{1});
}

TEST(ReadyQueue, HungryJobsOfServedLanesOnly) {
  ReadyQueue queue;
  Place a = place(queue, 1, 0, "a");
  Place b = place(queue, 2, 5, "b");
  queue.set_hungry(a, true);
  queue.set_hungry(b, true);
  EXPECT_FALSE(queue.first_hungry());
  EXPECT_TRUE(queue.add_worker(a.lane));
  EXPECT_FALSE(queue.add_worker(a.lane));
  EXPECT_EQ(queue.first_hungry()->job, JobId{1});
  queue.add_worker(b.lane);
  EXPECT_EQ(queue.first_hungry()->job, JobId{2});
  queue.charge(b, 10);  // keeps its place in both orders
  queue.set_hungry(b, false);
  EXPECT_FALSE(queue.remove_worker(a.lane));
  EXPECT_TRUE(queue.remove_worker(a.lane));
  EXPECT_FALSE(queue.first_hungry());
}

}  // namespace
}  // namespace puzzled::broker
