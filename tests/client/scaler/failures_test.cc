// What the scaler decides when an engine refuses, or workers do not come.
#include <gmock/gmock.h>

#include "tests/client/scaler/world.h"

namespace puzzled::scaler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Failures : World {};

TEST_F(Failures, FailuresWaitTwiceAsLongEachTime) {
  seen.slots_wanted = 1;
  std::vector<Note> notes;
  EXPECT_EQ(after(0).submit, 1U);
  scaler.submit_failed(now_ms, "no such partition", notes);
  EXPECT_THAT(notes.at(0).text, HasSubstr("the next try is in 5s"));
  EXPECT_EQ(after(options.backoff_first_ms - 1).submit, 0U);
  EXPECT_THAT(describe(scaler.status(), options), HasSubstr("no such partition"));
  EXPECT_EQ(after(1).submit, 1U);
  scaler.submit_failed(now_ms, "no such partition", notes);
  EXPECT_EQ(after(2 * options.backoff_first_ms - 1).submit, 0U);
  EXPECT_EQ(after(1).submit, 1U);
}

TEST_F(Failures, TooManyFailuresMakeAPauseAndThenATrial) {
  seen.slots_wanted = 4;
  std::vector<Note> notes;
  for (std::uint32_t i = 0; i < options.failures_max; ++i) {
    EXPECT_EQ(after(options.backoff_max_ms).submit, 4U);
    scaler.submit_failed(now_ms, "account expired", notes);
  }
  EXPECT_THAT(notes.back().text, HasSubstr("failure 5 in a row"));
  EXPECT_EQ(after(options.pause_ms - 1).submit, 0U);
  EXPECT_THAT(scaler.status().paused, HasSubstr("account expired"));
  EXPECT_EQ(after(1).submit, 1U) << "a trial";
  scaler.submit_failed(now_ms, "account expired", notes);
  EXPECT_EQ(after(options.pause_ms - 1).submit, 0U) << "paused again";
  EXPECT_EQ(after(1).submit, 1U);
  work("1_1");
  EXPECT_EQ(after(1'000).submit, 3U) << "it came: all is well";
}

TEST_F(Failures, AnOperatorEndsThePause) {
  seen.slots_wanted = 4;
  std::vector<Note> notes;
  for (std::uint32_t i = 0; i < options.failures_max; ++i) scaler.submit_failed(now_ms, "x", notes);
  EXPECT_EQ(after(1'000).submit, 0U);
  scaler.resume();
  EXPECT_EQ(after(1'000).submit, 4U);
}

TEST_F(Failures, WorkersThatEndAtOnceLeadToAPause) {
  seen.slots_wanted = 4;
  std::uint32_t round = 0;
  std::uint32_t submitted = 0;
  for (; scaler.status().paused_ms < options.pause_ms && round < 100; ++round) {
    const Decision decision = after(options.backoff_max_ms / 2);
    submitted += decision.submit > 0 ? 1 : 0;
    seen.allocations.clear();
    for (std::uint32_t i = 1; i <= decision.submit; ++i) {
      const std::string id = std::to_string(round) + "_" + std::to_string(i);
      scaler.submitted({id});
      allocate(id, State::kEnded);
      seen.allocations.back().detail = "FAILED: NonZeroExitCode";
    }
  }
  EXPECT_EQ(submitted, options.failures_max) << "a batch that fails is one failure";
  EXPECT_THAT(scaler.status().paused, HasSubstr("ended (FAILED: NonZeroExitCode)"));
  EXPECT_THAT(scaler.status().paused, HasSubstr("3 more"));
}

TEST_F(Failures, WhatTheEngineHoldsIsCancelledAndReplaced) {
  seen.slots_wanted = 1;
  allocate("1_1", State::kHeld);
  seen.allocations[0].detail = "launch failed requeued held";
  const Decision decision = carried_out_after(0);
  EXPECT_THAT(ids(decision, How::kCancel), ElementsAre("1_1"));
  EXPECT_THAT(text(decision), HasSubstr("launch failed requeued held"));
  EXPECT_THAT(after(0).ends, IsEmpty()) << "asked once";
  forget("1_1");
  EXPECT_EQ(after(options.backoff_first_ms).submit, 1U);
}

TEST_F(Failures, OneThatWasAskedToEndAndIsHeldThenIsCancelled) {
  work("1_1");
  after(0);
  ASSERT_THAT(carried_out_after(options.shrink_after_ms).ends, SizeIs(1));
  set_state("1_1", State::kHeld, "launch failed requeued held");
  disconnect("1_1");
  const Decision decision = carried_out_after(1'000);
  EXPECT_THAT(ids(decision, How::kCancel), ElementsAre("1_1"));
  EXPECT_THAT(decision.notes, IsEmpty()) << "no failure: it was to end";
  EXPECT_THAT(after(options.drain_timeout_ms - 1).ends, IsEmpty()) << "the engine takes its time";
  EXPECT_THAT(ids(after(1), How::kCancel), ElementsAre("1_1")) << "asked again";
}

}  // namespace
}  // namespace puzzled::scaler
