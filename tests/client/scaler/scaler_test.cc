// The decisions, without an engine and without a daemon.
#include <gmock/gmock.h>

#include "tests/client/scaler/world.h"

namespace puzzled::scaler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(World, NothingToDoStartsNobody) {
  const Decision decision = after(0);
  EXPECT_EQ(decision.submit, 0U);
  EXPECT_THAT(decision.ends, IsEmpty());
  EXPECT_THAT(decision.notes, IsEmpty());
}

TEST_F(World, GrowsToWhatIsWantedAndNoFurtherThanTheMaximum) {
  seen.slots_wanted = 3;
  EXPECT_EQ(after(0).submit, 3U);
  seen.slots_wanted = 1'000'000'000'000;
  EXPECT_EQ(after(0).submit, 4U);
  EXPECT_EQ(scaler.status().target, 4U);
}

TEST_F(World, WhatWasAskedForIsNotAskedForAgain) {
  seen.slots_wanted = 4;
  EXPECT_EQ(after(0).submit, 4U);
  for (const char* id : {"1_1", "1_2", "1_3", "1_4"}) allocate(id, State::kPending);
  scaler.submitted({"1_1", "1_2", "1_3", "1_4"});
  EXPECT_EQ(after(5'000).submit, 0U);
  EXPECT_EQ(scaler.status().pending, 4U);
}

TEST_F(World, KeepsTheMinimumWithoutWork) {
  rebuild({.min = 2, .max = 4});
  EXPECT_EQ(after(0).submit, 2U);
  work("1_1", 0);
  work("1_2", 0);
  EXPECT_EQ(after(0).submit, 0U);
  EXPECT_THAT(after(10 * options.shrink_after_ms).ends, IsEmpty());
}

TEST_F(World, AWorkerOfSeveralSlotsServesAsMuch) {
  rebuild({.max = 10, .slots_per_worker = 8});
  seen.slots_wanted = 17;
  EXPECT_EQ(after(0).submit, 3U);
}

TEST_F(World, OthersWorkersNeedNotBeStarted) {
  seen.slots_wanted = 4;
  seen.workers.push_back({.name = "vm-1", .allocation = "", .slots = 3, .leases = 3});
  EXPECT_EQ(after(0).submit, 1U);
  seen.workers.back().draining = true;
  EXPECT_EQ(after(0).submit, 4U);
  seen.workers.back().draining = false;
  seen.workers.back().slots = 30;
  EXPECT_EQ(after(0).submit, 0U);
}

TEST_F(World, ShrinksOnlyAfterAWhile) {
  for (const char* id : {"1_1", "1_2", "1_3"}) work(id);
  seen.slots_wanted = 1;
  EXPECT_THAT(after(0).ends, IsEmpty());
  EXPECT_THAT(after(options.shrink_after_ms - 1).ends, IsEmpty());
  EXPECT_THAT(ids(after(1), How::kDrain), SizeIs(2));
}

TEST_F(World, AShortLullEndsNobody) {
  for (const char* id : {"1_1", "1_2", "1_3"}) work(id);
  seen.slots_wanted = 1;
  after(0);
  seen.slots_wanted = 2;
  after(options.shrink_after_ms / 2);
  seen.slots_wanted = 1;
  EXPECT_THAT(after(options.shrink_after_ms / 2).ends, SizeIs(1)) << "two were wanted meanwhile";
  seen.slots_wanted = 3;
  after(0);
  seen.slots_wanted = 1;
  EXPECT_THAT(after(options.shrink_after_ms - 1).ends, IsEmpty()) << "the wait begins anew";
}

TEST_F(World, EndsFirstWhatCostsNothing) {
  work("1_1", 2);
  allocate("1_2", State::kPending);
  work("1_3", 0);
  allocate("1_4");  // has not come yet
  seen.slots_wanted = 1;
  after(0);
  const Decision decision = carried_out_after(options.shrink_after_ms);
  EXPECT_THAT(ids(decision, How::kCancel), ElementsAre("1_2"));
  EXPECT_THAT(ids(decision, How::kDrain), ElementsAre("1_4", "1_3"));
  EXPECT_THAT(after(1).ends, IsEmpty()) << "asked once";
}

TEST_F(World, OfEqualOnesTheNewestEndFirst) {
  for (const char* id : {"9_9", "9_10", "10_1"}) allocate(id, State::kPending);
  after(0);
  EXPECT_THAT(ids(after(options.shrink_after_ms), How::kCancel),
              ElementsAre("9_10", "10_1", "9_9"));
}

TEST_F(World, MoreThanTheMaximumIsEndedAtOnce) {
  for (const char* id : {"1_1", "1_2", "1_3", "1_4", "1_5", "1_6"}) work(id);
  seen.slots_wanted = 100;
  EXPECT_THAT(after(0).ends, SizeIs(2));
}

TEST_F(World, ThoseThatEndKeepTheirPlace) {
  for (const char* id : {"1_1", "1_2", "1_3", "1_4"}) work(id);
  seen.workers[0].draining = seen.workers[1].draining = true;
  seen.allocations[0].state = State::kEnding;
  seen.slots_wanted = 100;
  EXPECT_EQ(after(0).submit, 0U) << "never more than the maximum";
  EXPECT_EQ(scaler.status().ending, 2U);
  forget("1_1");
  disconnect("1_1");
  EXPECT_EQ(after(0).submit, 1U);
}

TEST_F(World, MoreThatEndThanThereMayBeLeaveNoRoom) {
  for (const char* id : {"1_1", "1_2", "1_3", "1_4", "1_5"}) allocate(id, State::kEnding);
  seen.slots_wanted = 100;
  EXPECT_EQ(after(0).submit, 0U);
}

TEST_F(World, AWorkerThatDoesNotEndIsKilled) {
  work("1_1");
  after(0);
  carried_out_after(options.shrink_after_ms);
  EXPECT_THAT(after(options.drain_timeout_ms - 1).ends, IsEmpty());
  EXPECT_THAT(ids(carried_out_after(1), How::kKill), ElementsAre("1_1"));
  EXPECT_THAT(after(1'000).ends, IsEmpty());
}

TEST_F(World, OneThatWasAskedToEndAndIsQueuedAgainIsCancelled) {
  work("1_1");
  after(0);
  ASSERT_THAT(carried_out_after(options.shrink_after_ms).ends, SizeIs(1));
  set_state("1_1", State::kPending);
  disconnect("1_1");
  EXPECT_THAT(ids(after(1'000), How::kCancel), ElementsAre("1_1"));
}

TEST_F(World, WorkersThatNeverComeAreEndedAndCountAsAFailure) {
  seen.slots_wanted = 2;
  after(0);
  work("1_1");
  allocate("1_2");
  after(0);
  EXPECT_THAT(after(options.join_timeout_ms - 1).ends, IsEmpty());
  const Decision decision = carried_out_after(1);
  EXPECT_THAT(ids(decision, How::kKill), ElementsAre("1_2"));
  EXPECT_THAT(text(decision), HasSubstr("has not come to the daemon for 120s"));
  EXPECT_EQ(decision.submit, 0U) << "not at once";
  EXPECT_EQ(after(options.backoff_first_ms).submit, 1U);
}

TEST_F(World, TimeInWhichTheDaemonWasAwayIsNotTheWorkersFault) {
  seen.slots_wanted = 1;
  after(0);
  allocate("1_1");
  after(0);
  seen.daemon_trouble = "no daemon";
  EXPECT_THAT(text(after(10 * options.join_timeout_ms)), HasSubstr("no daemon"));
  EXPECT_THAT(after(1'000).notes, IsEmpty()) << "told once";
  seen.daemon_trouble.clear();
  EXPECT_THAT(after(1'000).ends, IsEmpty());
  EXPECT_THAT(after(options.join_timeout_ms).ends, SizeIs(1));
}

TEST_F(World, WhoeverLeftTheDaemonIsEndedWithoutAFailure) {
  seen.slots_wanted = 1;
  work("1_1");
  after(0);
  disconnect("1_1");
  after(1'000);
  const Decision decision = carried_out_after(options.join_timeout_ms);
  EXPECT_THAT(ids(decision, How::kKill), ElementsAre("1_1"));
  EXPECT_EQ(decision.submit, 1U) << "another takes its place at once";
}

TEST_F(World, ARestartedWorkerHasItsTimeAgain) {
  seen.slots_wanted = 1;
  work("1_1");
  after(0);
  set_state("1_1", State::kPending);
  disconnect("1_1");
  after(10 * options.join_timeout_ms);
  seen.allocations[0].since_ms = engine_ms();
  set_state("1_1", State::kRunning);
  after(0);
  EXPECT_THAT(after(options.join_timeout_ms - 1).ends, IsEmpty());
  const Decision decision = after(1);
  EXPECT_THAT(decision.ends, SizeIs(1));
  EXPECT_THAT(text(decision), HasSubstr("has not come")) << "since this start";
}

TEST_F(World, HowOldATaskIsByTheEnginesClockDoesNotMatter) {
  seen.slots_wanted = 1;
  for (const std::int64_t ahead_ms : {-86'400'000, 86'400'000}) {
    rebuild(options);
    seen.allocations.clear();
    allocate("1_1");
    seen.allocations[0].since_ms += ahead_ms;
    EXPECT_THAT(after(0).ends, IsEmpty());
    EXPECT_THAT(after(options.join_timeout_ms - 1).ends, IsEmpty());
    EXPECT_THAT(after(1).ends, SizeIs(1));
  }
}

TEST_F(World, ASuspendedWorkerHasItsTimeWhenItGoesOn) {
  seen.slots_wanted = 1;
  work("1_1");
  after(0);
  set_state("1_1", State::kPending, "SUSPENDED");
  disconnect("1_1");
  EXPECT_THAT(after(10 * options.join_timeout_ms).ends, IsEmpty());
  set_state("1_1", State::kRunning);
  EXPECT_THAT(after(1'000).ends, IsEmpty()) << "it was started long ago";
  connect("1_1");
  EXPECT_THAT(after(options.join_timeout_ms).ends, IsEmpty());
}

TEST_F(World, WhatTheEngineForgotIsReplaced) {
  seen.slots_wanted = 1;
  after(0);
  scaler.submitted({"1_1"});
  const Decision decision = after(5'000);
  EXPECT_THAT(text(decision), HasSubstr("1_1 is not known to the engine any more"));
  EXPECT_EQ(decision.submit, 0U);
  EXPECT_EQ(after(options.backoff_first_ms).submit, 1U);
}

TEST_F(World, WorkersOfForgottenAllocationsCount) {
  seen.slots_wanted = 2;
  connect("1_1");
  Decision decision = after(0);
  EXPECT_EQ(decision.submit, 1U);
  EXPECT_EQ(scaler.status().forgotten, 1U);
  EXPECT_THAT(text(decision), HasSubstr("w-1_1 is connected"));
  EXPECT_THAT(after(1'000).notes, IsEmpty()) << "told once";
  allocate("1_1");
  after(1'000);
  EXPECT_EQ(scaler.status().forgotten, 0U);
  EXPECT_EQ(scaler.status().connected, 1U);
}

TEST_F(World, OneThatWorksAlthoughItWasForgottenAtOnceIsNoFailure) {
  seen.slots_wanted = 2;
  after(0);
  scaler.submitted({"1_1"});
  connect("1_1");
  EXPECT_EQ(after(1'000).submit, 1U);
  EXPECT_EQ(scaler.status().forgotten, 1U);
}

TEST_F(World, AllocationsOfAnEarlierProcessAreOurs) {
  seen.slots_wanted = 4;
  work("7_1");
  allocate("7_2", State::kPending);
  EXPECT_EQ(after(0).submit, 2U);
}

TEST_F(World, OneThatCameAndWentBetweenTwoLooksIsNoFailure) {
  seen.slots_wanted = 1;
  after(0);
  scaler.submitted({"1_1"});
  allocate("1_1", State::kEnded);
  seen.allocations[0].ended_well = true;
  EXPECT_EQ(after(5'000).submit, 1U);
}

TEST_F(World, WithoutTheEngineNothingIsDecided) {
  for (const char* id : {"1_1", "1_2", "1_3", "1_4", "1_5"}) work(id);
  seen.engine_trouble = "squeue: slurmctld is down";
  seen.allocations.clear();
  seen.slots_wanted = 100;
  const Decision decision = after(0);
  EXPECT_EQ(decision.submit, 0U);
  EXPECT_THAT(decision.ends, IsEmpty());
  EXPECT_THAT(describe(scaler.status(), options), HasSubstr("slurmctld is down"));
}

TEST_F(World, OfTwoProcessesOfOneNameTheOneThatWorksCounts) {
  seen.slots_wanted = 1;
  work("1_1");
  seen.workers.push_back(seen.workers[0]);
  seen.workers[0].draining = true;
  EXPECT_EQ(after(0).submit, 0U);
  EXPECT_EQ(scaler.status().connected, 1U);
}

TEST_F(World, TheStatusIsOneLine) {
  seen.slots_wanted = 9;
  work("1_1");
  allocate("1_2", State::kPending);
  seen.workers.push_back({.name = "vm", .allocation = "", .slots = 2, .leases = 0});
  after(0);
  EXPECT_EQ(describe(scaler.status(), options),
            "9 slots wanted, 2 there without us: 4 workers of 0..4; 1 running, 1 of them "
            "connected, 1 pending, 0 ending");
}

}  // namespace
}  // namespace puzzled::scaler
