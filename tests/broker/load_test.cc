// How many slots are wanted: what starts workers goes by it.
#include "daemon/broker/load.h"

#include <gtest/gtest.h>

#include "tests/broker/driver.h"

namespace puzzled {
namespace {

struct Load : testing::Test {
  [[nodiscard]] Demand demand(std::uint32_t slot_work_ms = kSlotWorkMs) const {
    return d.broker->demand(slot_work_ms);
  }
  [[nodiscard]] LaneDemand lane(const std::string& puzzle,
                                std::uint32_t slot_work_ms = kSlotWorkMs) const {
    for (const LaneDemand& lane : demand(slot_work_ms).lanes) {
      if (lane.puzzle == puzzle) return lane;
    }
    return {};
  }
  Driver d;
};

TEST_F(Load, NothingToDoWantsNothing) {
  EXPECT_TRUE(demand().lanes.empty());
  EXPECT_EQ(demand().slots_wanted, 0U);
  d.open(1);
  EXPECT_TRUE(demand().lanes.empty()) << "a job without cases";
}

TEST_F(Load, UnknownWorkWantsOneSlotToFindOut) {
  d.submit(1, 40);
  EXPECT_EQ(demand().open_cases, 40U);
  EXPECT_EQ(lane("bishops").solver, "fast");
  EXPECT_EQ(lane("bishops").open_cases, 40U);
  EXPECT_EQ(lane("bishops").leased_cases, 0U);
  EXPECT_EQ(lane("bishops").case_us, 0);
  EXPECT_EQ(lane("bishops").work_us, 0U);
  EXPECT_EQ(lane("bishops").slots_wanted, 1U);
  EXPECT_EQ(demand(1).slots_wanted, 1U);
}

TEST_F(Load, WhatIsSolvedForLongWithoutAResultIsLongWork) {
  d.ready(1, 1);
  d.submit(1, 40);
  d.tick_after(900);
  EXPECT_EQ(lane("bishops").slots_wanted, 1U) << "the result may be on its way";
  d.heartbeat(1, {1});
  d.tick_after(2'000);
  EXPECT_EQ(lane("bishops").slots_wanted, 12U) << "40 times 2.9 s at least";
  EXPECT_EQ(lane("bishops").work_us, 0U) << "not known";
  d.heartbeat(1, {1});
  d.results(1, 1, {0});
  EXPECT_EQ(lane("bishops").slots_wanted, 1U) << "now it is: 1 ms";
}

TEST_F(Load, KnownWorkWantsASlotForEachPieceOfIt) {
  d.ready(1, 1);
  d.submit(1, 900);
  d.results(1, 1, range(0, 16));  // 1 ms each
  const LaneDemand bishops = lane("bishops");
  EXPECT_EQ(bishops.open_cases, 884U);
  EXPECT_GT(bishops.leased_cases, 0U);
  EXPECT_DOUBLE_EQ(bishops.case_us, 1'000);
  EXPECT_EQ(bishops.work_us, 884'000U);
  EXPECT_EQ(bishops.slots_wanted, 1U);
  EXPECT_EQ(lane("bishops", 200).slots_wanted, 5U);
  EXPECT_EQ(lane("bishops", 1).slots_wanted, 884U);
}

TEST_F(Load, NoMoreSlotsThanOpenCases) {
  BrokerOptions options;
  options.dispatch_cases_first = 1;
  d = Driver(options);
  d.ready(1, 1);
  d.submit(1, 3);
  d.step(event::WorkerResults{PeerId{1}, Boot{1}, LeaseId{1}, 1, 0, make_results({0}), 50'000, 1});
  EXPECT_EQ(lane("bishops").case_us, 50'000);
  EXPECT_EQ(lane("bishops", 1).slots_wanted, 2U);
  d.results(1, 2, {0});
  d.results(1, 3, {0});
  EXPECT_EQ(lane("bishops", 1).open_cases, 0U);
  EXPECT_EQ(demand(1).slots_wanted, 0U);
}

TEST_F(Load, WhatIsKnownOfTheLaneCountsForItsNextJob) {
  d.ready(1, 1);
  d.submit(1, 16);
  d.results(1, 1, range(0, 16));
  d.submit(2, 500);
  EXPECT_EQ(lane("bishops").work_us, 500'000U);
}

TEST_F(Load, WantsOfAllLanesAreSummedAndSlotsCountedOnce) {
  d.ready(1, 1, 2, {"bishops", "shuttle"});
  d.ready(2, 2, 3, {"bishops", "duel"});
  d.submit(1, 16);
  d.submit(2, 100, "duel");
  d.tick_after(2'500);
  const Demand all = demand();
  EXPECT_EQ(all.open_cases, 116U);
  EXPECT_EQ(all.slots_wanted, 29U) << "16 and 100 times 2.5 s";
  EXPECT_EQ(all.workers, 2U);
  EXPECT_EQ(all.slots, 5U);
  ASSERT_EQ(all.lanes.size(), 3U);
  EXPECT_EQ(all.lanes[0].puzzle, "duel");
  EXPECT_EQ(all.lanes[0].slots_wanted, 25U);
  EXPECT_EQ(all.lanes[1].puzzle, "bishops");
  EXPECT_EQ(all.lanes[1].slots, 5U);
  EXPECT_EQ(all.lanes[2].puzzle, "shuttle");
  EXPECT_EQ(all.lanes[2].slots_wanted, 0U);
  EXPECT_EQ(all.lanes[2].slots, 2U);
}

// Whoever starts workers must see which work his can do.
TEST_F(Load, WorkWithRequirementsIsARowOfItsOwn) {
  const auto submit = [&](std::uint8_t id, std::uint32_t cases, const Labels& require,
                          const std::string& version) {
    JobSpec spec;
    spec.puzzle = "bishops";
    spec.solver = "fast";
    spec.require = require;
    spec.solver_version = version;
    d.step(event::OpenJob{Driver::kClient, ++d.request, bytes16(id), spec});
    d.add(id, 0, cases);
    d.seal(id, 1, cases);
  };
  d.ready(1, 1, 2);
  submit(1, 30, {{"gpu", "a100"}}, "");
  submit(2, 20, {}, "v1");
  submit(3, 10, {{"gpu", "a100"}}, "");
  EXPECT_EQ(lane("bishops").slots, 0U) << "nobody has that label";
  d.submit(4, 5);
  const Demand all = demand();
  ASSERT_EQ(all.lanes.size(), 3U);
  EXPECT_EQ(all.lanes[0].open_cases, 5U);
  EXPECT_TRUE(all.lanes[0].require.empty());
  EXPECT_EQ(all.lanes[0].solver_version, "");
  EXPECT_EQ(all.lanes[0].slots, 2U);
  EXPECT_EQ(all.lanes[1].open_cases, 40U);
  EXPECT_EQ(all.lanes[1].require, (Labels{{"gpu", "a100"}}));
  EXPECT_EQ(all.lanes[1].slots_wanted, 1U);
  EXPECT_EQ(all.lanes[1].slots, 0U);
  EXPECT_EQ(all.lanes[2].solver_version, "v1");
  EXPECT_EQ(all.lanes[2].open_cases, 20U);
  EXPECT_EQ(all.lanes[2].slots, 2U);
  EXPECT_EQ(all.open_cases, 65U);
  EXPECT_EQ(all.slots_wanted, 3U);
  EXPECT_EQ(all.slots, 2U);
}

TEST_F(Load, WorkersOnTheirWayOutHaveNoSlots) {
  d.ready(1, 1);
  d.submit(1, 16);
  d.ready(2, 2);
  d.heartbeat(1, {1}, {}, 0);
  EXPECT_EQ(demand().slots, 1U) << "one drains";
  d.step(event::WorkerGone{PeerId{2}});
  EXPECT_EQ(demand().slots, 0U) << "the connection of the other is lost";
  EXPECT_EQ(demand().workers, 0U);
  EXPECT_EQ(demand().slots_wanted, 1U);
}

TEST_F(Load, ADaemonThatShutsDownWantsNobody) {
  d.submit(1, 16);
  d.ready(1, 1);
  d.step(event::DrainWorkers{});
  EXPECT_EQ(demand().slots_wanted, 0U);
  EXPECT_EQ(demand().slots, 0U);
  EXPECT_EQ(demand().open_cases, 16U);
}

TEST_F(Load, InventedPuzzlesDoNotMakeTheAnswerLong) {
  for (std::uint8_t job = 1; job <= 9; ++job) d.submit(job, 16, "p" + std::to_string(job));
  d.ready(1, 1, 1, {"p5"});
  d.tick_after(2'500);
  const Demand cut = d.broker->demand(kSlotWorkMs, 2);
  EXPECT_TRUE(cut.is_cut);
  ASSERT_EQ(cut.lanes.size(), 2U);
  EXPECT_EQ(cut.lanes[0].puzzle, "p1");
  EXPECT_EQ(cut.slots_wanted, 9U) << "of all";
  EXPECT_FALSE(demand().is_cut);
}

TEST_F(Load, CancelledAndFinishedJobsWantNothing) {
  d.submit(1, 16);
  d.step(event::CancelJob{Driver::kClient, 99, JobId{1}, "enough"});
  EXPECT_EQ(demand().open_cases, 0U);
  EXPECT_EQ(demand().slots_wanted, 0U);
}

}  // namespace
}  // namespace puzzled
