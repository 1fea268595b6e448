// A slot with a solver that behaves: answers, verdicts on claims, parts, trimming.
#include "workers/host/slot.h"

#include <gtest/gtest.h>

#include "proto/wire.h"
#include "tests/host/slot_support.h"
#include "workers/puzzles/bishops/bishops.h"

namespace puzzled::host {
namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;

std::shared_ptr<Dispatch> dispatch_of(const proto::Case& c) {
  auto dispatch = make_dispatch("staircase", {});
  wire::append_case(c.SerializeAsString(), dispatch->cases);
  dispatch->case_count = 1;
  return dispatch;
}

proto::Case bishops_case(std::uint32_t n, std::uint32_t k) {
  proto::Case c;
  bishops::encode_instance({n, k}, *c.mutable_instance());
  return c;
}

TEST(Slot, SolvesAndGradesEveryCase) {
  SlotRunner runner;
  const auto cases = good_cases(1000);
  const Outcome outcome = runner.run(make_dispatch("staircase", cases));
  expect_only(outcome, cases, kNobody, proto::SOLVED);
  EXPECT_EQ(outcome.parts, 1U);
  EXPECT_TRUE(runner.slot.idle());
}

TEST(Slot, TakesOneLeaseAfterTheOther) {
  SlotRunner runner;
  runner.slot.warm_up();
  const pid_t pid = runner.slot.pid();
  for (std::uint32_t count : {1U, 50U, 3U}) {
    const auto cases = good_cases(count);
    expect_only(runner.run(make_dispatch("staircase", cases)), cases, kNobody, proto::SOLVED);
  }
  EXPECT_EQ(runner.slot.pid(), pid);
}

// Its descriptor was readable, perhaps, when it was that of another slot's process, which died.
TEST(Slot, ASilentProcessIsNotWaitedFor) {
  SlotRunner runner;
  runner.slot.warm_up();
  const pid_t pid = runner.slot.pid();
  std::vector<Event> events;
  runner.slot.on_readable(events);
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(runner.slot.pid(), pid);
  runner.slot.start(make_dispatch("busy", good_cases(1'000)), events);
  runner.slot.on_readable(events);
  EXPECT_FALSE(runner.slot.idle());
  runner.slot.abort(events);
}

TEST(Slot, GradesAWrongClaimAndKeepsTheRightAnswer) {
  SlotRunner runner;
  proto::Case c = bishops_case(8, 6);
  bishops::encode_answer("\x01", *c.mutable_expected());
  const proto::CaseResult result = runner.run(dispatch_of(c)).results.at(0);
  EXPECT_EQ(result.verdict(), proto::WRONG_ANSWER);
  EXPECT_FALSE(result.message().empty());
  EXPECT_EQ(bishops::summarize(result.answer()), "5599888");
}

TEST(Slot, ResultsHaveKeysIfTheyAreWanted) {
  SlotRunner runner;
  const auto dispatch = make_dispatch("staircase", {{8, 6, false}});
  EXPECT_EQ(runner.run(dispatch).results.at(0).key(), "");
  const auto keyed = make_dispatch("staircase", {{8, 6, false}});
  keyed->keys_wanted = true;
  EXPECT_EQ(runner.run(keyed).results.at(0).key().size(), kAnswerKeyBytes);
}

TEST(Slot, EqualInstancesAreSolvedOnce) {
  SlotRunner runner;
  proto::Case wrong = bishops_case(8, 6);
  bishops::encode_answer("\x01", *wrong.mutable_expected());
  const auto dispatch = make_dispatch(
      "staircase", {{8, 6, false}, {7, 6, false}, {8, 6, true}, {8, 6, false}, {7, 6, true}});
  wire::append_case(wrong.SerializeAsString(), dispatch->cases);
  ++dispatch->case_count;
  dispatch->keys_wanted = true;
  const Outcome outcome = runner.run(dispatch);
  ASSERT_EQ(outcome.results.size(), 6U);
  std::string cached;
  for (const auto& [position, result] : outcome.results) {
    cached += result.cached() ? '1' : '0';
    EXPECT_TRUE(result.has_answer());
  }
  EXPECT_EQ(cached, "001111");
  const proto::CaseResult& first = outcome.results.at(0);
  for (const std::uint32_t same : {2U, 3U, 5U}) {
    const proto::CaseResult& result = outcome.results.at(same);
    EXPECT_EQ(result.key(), first.key());
    EXPECT_EQ(result.answer(), first.answer());
    EXPECT_EQ(result.time_us(), first.time_us()) << "what its equal took";
    EXPECT_EQ(result.memory_bytes(), first.memory_bytes());
  }
  EXPECT_NE(outcome.results.at(1).key(), first.key());
  EXPECT_EQ(first.verdict(), proto::SOLVED);
  EXPECT_EQ(outcome.results.at(2).verdict(), proto::ACCEPTED);
  EXPECT_EQ(outcome.results.at(5).verdict(), proto::WRONG_ANSWER) << "each claim is its own";
  EXPECT_FALSE(outcome.results.at(5).message().empty());
  // The next dispatch knows nothing of it.
  const auto next = make_dispatch("staircase", {{8, 6, false}});
  next->keys_wanted = true;
  EXPECT_FALSE(runner.run(next).results.at(0).cached());
}

TEST(Slot, AnEmptyClaimIsAClaim) {
  SlotRunner runner;
  proto::Case c = bishops_case(2, 4);  // no way at all: the serialised answer has no bytes
  c.set_expected("");
  EXPECT_EQ(runner.run(dispatch_of(c)).results.at(0).verdict(), proto::ACCEPTED);
}

TEST(Slot, AnUnreadableClaimIsAnInvalidAnswer) {
  SlotRunner runner;
  proto::Case c = bishops_case(8, 6);
  c.set_expected_error("line 3: found 'abc', expected a number");
  const proto::CaseResult named = runner.run(dispatch_of(c)).results.at(0);
  EXPECT_EQ(named.verdict(), proto::INVALID_ANSWER);
  EXPECT_EQ(named.message(), "line 3: found 'abc', expected a number");
  EXPECT_EQ(bishops::summarize(named.answer()), "5599888");
  c.set_expected("\xff\xff\xff");
  EXPECT_EQ(runner.run(dispatch_of(c)).results.at(0).verdict(), proto::INVALID_ANSWER);
}

TEST(Slot, InvalidInstancesAreNotSolved) {
  SlotRunner runner;
  proto::Case skipped;
  skipped.set_invalid("3:1: found 0, expected n in 1..1000");
  const proto::CaseResult said = runner.run(dispatch_of(skipped)).results.at(0);
  EXPECT_EQ(said.verdict(), proto::INVALID_INSTANCE);
  EXPECT_EQ(said.message(), "3:1: found 0, expected n in 1..1000");
  EXPECT_FALSE(said.has_answer());
  const proto::CaseResult found = runner.run(dispatch_of(bishops_case(2, 5))).results.at(0);
  EXPECT_EQ(found.verdict(), proto::INVALID_INSTANCE);
  EXPECT_FALSE(found.message().empty());
  proto::Case garbage;
  garbage.set_instance("\xff\xff");
  EXPECT_EQ(runner.run(dispatch_of(garbage)).results.at(0).verdict(), proto::INVALID_INSTANCE);
}

TEST(Slot, MessagesAreShortAndPrintable) {
  SlotRunner runner;
  proto::Case c;
  c.set_invalid("\x1b[31m" + std::string(5000, 'x'));
  const std::string message = runner.run(dispatch_of(c)).results.at(0).message();
  EXPECT_LE(message.size(), 1000U);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

TEST(Slot, AnUnknownSolverIsOurFault) {
  SlotRunner runner;
  const Outcome outcome = runner.run(make_dispatch("no-such-solver", good_cases(2)));
  EXPECT_EQ(outcome.results.at(0).verdict(), proto::INTERNAL_ERROR);
  EXPECT_EQ(outcome.results.at(1).verdict(), proto::INTERNAL_ERROR);
}

TEST(Slot, LargeResultsComeInParts) {
  SlotRunner runner;
  // Each answer has about two kilobytes.
  const std::vector<BishopsCase> cases(3000, BishopsCase{1000, 900, false});
  const Outcome outcome = runner.run(make_dispatch("staircase", cases));
  ASSERT_EQ(outcome.results.size(), cases.size());
  EXPECT_GT(outcome.parts, 1U);
  const std::string& first = outcome.results.at(0).answer();
  for (const auto& [position, result] : outcome.results) EXPECT_EQ(result.answer(), first);
}

TEST(Slot, ReportsCpuTimeAndMemory) {
  SlotRunner runner;
  const Outcome busy = runner.run(make_dispatch("busy", good_cases(3)));
  for (const auto& [position, result] : busy.results) EXPECT_GE(result.time_us(), 1'000U);
  const Outcome large = runner.run(make_dispatch("staircase", {{500, 400, false}}));
  EXPECT_GT(large.results.at(0).memory_bytes(), 10'000U);
}

TEST(Slot, TrimGivesBackWhatWasNotStarted) {
  SlotRunner runner;
  auto cases = good_cases(20);
  cases[5] = kTrouble;
  auto dispatch = make_dispatch("sleep", cases);
  Outcome outcome;
  std::vector<Event> events;
  runner.slot.start(dispatch, events);
  while (outcome.late == 0) runner.turn(outcome, true);  // trims when the case is late
  while (outcome.returned.empty()) runner.turn(outcome);
  EXPECT_EQ(outcome.returned, (std::vector<Range>{{6, 14}}));
  EXPECT_EQ(outcome.results.size(), 5U);  // not held up by the slow one
  EXPECT_FALSE(outcome.finished);
  EXPECT_EQ(runner.slot.progress().position, 5U);
  runner.slot.abort(events);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(std::get<event::SlotReturned>(events[0]).positions, (std::vector<Range>{{5, 1}}));
  EXPECT_TRUE(std::get<event::SlotResults>(events[1]).finished);
}

TEST(Slot, KilledWorkLeavesNoTrace) {
  SlotRunner runner;
  std::vector<Event> events;
  runner.slot.start(make_dispatch("spin", {kTrouble, {1, 1, false}}), events);
  runner.slot.kill();
  EXPECT_TRUE(events.empty());
  EXPECT_TRUE(runner.slot.idle());
  const auto cases = good_cases(10);
  expect_only(runner.run(make_dispatch("staircase", cases)), cases, kNobody, proto::SOLVED);
}

}  // namespace
}  // namespace puzzled::host
