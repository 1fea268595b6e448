// A slot with solvers that misbehave: exactly the case at fault gets its verdict.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/host/slot_support.h"
#include "tests/support/test_registry.h"

namespace puzzled::host {
namespace {

constexpr std::uint32_t kCases = 300;
constexpr std::uint32_t kTroubleAt = 117;

std::vector<BishopsCase> cases_with_trouble() {
  auto cases = good_cases(kCases);
  cases[kTroubleAt] = kTrouble;
  return cases;
}

// Runs on one lease, without a trim, and returns the verdict of the case at fault.
proto::CaseResult run_trouble(const std::string& solver, proto::Verdict verdict,
                              std::uint64_t time_limit_us = 10'000'000) {
  SlotRunner runner;
  const auto cases = cases_with_trouble();
  auto dispatch = make_dispatch(solver, cases);
  dispatch->limits.time_limit_us = time_limit_us;
  dispatch->limits.memory_limit_bytes = 64U << 20U;
  const Outcome outcome = runner.run(dispatch);
  expect_only(outcome, cases, kTroubleAt, verdict);
  const auto found = outcome.results.find(kTroubleAt);
  return found == outcome.results.end() ? proto::CaseResult{} : found->second;
}

class SlotCrash : public testing::TestWithParam<const char*> {};
TEST_P(SlotCrash, OnlyTheCaseAtFaultIsCrashed) {
  const proto::CaseResult result = run_trouble(GetParam(), proto::CRASHED);
  EXPECT_FALSE(result.has_answer());
  EXPECT_NE(result.message().find("2 times"), std::string::npos) << result.message();
}
INSTANTIATE_TEST_SUITE_P(Ways, SlotCrash,
                         testing::Values("crash", "crash-abort", "crash-exit", "crash-throw",
                                         "crash-stack"));

TEST(SlotDeath, NamesTheSignalOrTheExitCode) {
  EXPECT_NE(run_trouble("crash-abort", proto::CRASHED).message().find("signal 6"),
            std::string::npos);
  EXPECT_NE(run_trouble("crash-exit", proto::CRASHED).message().find("exit code 0"),
            std::string::npos);
}

TEST(SlotDeath, ACrashThatDoesNotComeBackCostsNothing) {
  const auto marker =
      std::filesystem::temp_directory_path() / ("puzzled-slot-test-" + std::to_string(::getpid()));
  std::filesystem::remove(marker);
  ::setenv(kMarkerVariable, marker.c_str(), 1);
  const proto::CaseResult result = run_trouble("crash-once", proto::SOLVED);
  EXPECT_TRUE(result.has_answer());
  EXPECT_TRUE(std::filesystem::remove(marker));  // it did crash
  ::unsetenv(kMarkerVariable);
}

TEST(SlotDeath, OneCaseOverItsTime) {
  const proto::CaseResult result = run_trouble("spin", proto::TIME_LIMIT, 150'000);
  EXPECT_GE(result.time_us(), 150'000U);
  EXPECT_EQ(result.message(), "used more than 150ms of CPU time");
}

TEST(SlotDeath, OneCaseFoundOverItsTimeAfterwards) {
  SlotRunner runner;
  auto dispatch = make_dispatch("busy", {{3, 1, true}});
  dispatch->limits.time_limit_us = 1'000;  // it takes 2 ms and ends by itself
  const Outcome outcome = runner.run(dispatch);
  EXPECT_EQ(outcome.results.at(0).verdict(), proto::TIME_LIMIT);
  EXPECT_FALSE(outcome.results.at(0).has_answer());
}

TEST(SlotDeath, OneCaseOverItsMemory) {
  for (const char* solver : {"eat-memory", "eat-memory-gmp", "eat-memory-at-once"}) {
    const proto::CaseResult result = run_trouble(solver, proto::MEMORY_LIMIT);
    EXPECT_EQ(result.message(), "needs more than 64MiB of memory") << solver;
  }
}

TEST(SlotDeath, OneAnswerOverItsLimit) {
  const proto::CaseResult result = run_trouble("big-answer", proto::OUTPUT_LIMIT);
  EXPECT_FALSE(result.has_answer());
}

TEST(SlotDeath, WallTimeWithoutCpuTimeIsNoVerdict) {
  SlotOptions options;
  options.backstop_factor = 1;
  options.backstop_extra_ms = 100;
  SlotRunner runner(options);
  auto dispatch = make_dispatch("sleep", cases_with_trouble());
  dispatch->limits.time_limit_us = 100'000;
  const Outcome outcome = runner.run(dispatch);
  EXPECT_EQ(outcome.results.size(), kTroubleAt);
  EXPECT_EQ(outcome.returned, (std::vector<Range>{{kTroubleAt, kCases - kTroubleAt}}));
  EXPECT_TRUE(outcome.finished);
}

TEST(SlotDeath, SeveralCasesAtFaultInOneDispatch) {
  SlotRunner runner;
  auto cases = good_cases(40);
  for (const std::uint32_t at : {0U, 1U, 20U, 39U}) cases[at] = kTrouble;
  const Outcome outcome = runner.run(make_dispatch("crash", cases));
  ASSERT_EQ(outcome.results.size(), cases.size());
  for (const auto& [position, result] : outcome.results) {
    EXPECT_EQ(result.verdict() == proto::CRASHED, cases[position].k == kTroubleBishops);
  }
}

TEST(SlotDeath, AloneEveryCaseHasItsOwnProcess) {
  SlotRunner runner;
  const auto cases = good_cases(3);
  auto dispatch = make_dispatch("staircase", cases);
  dispatch->alone = true;
  expect_only(runner.run(dispatch), cases, UINT32_MAX, proto::SOLVED);
}

TEST(SlotDeath, KillsFromOutsideAreNotTheCasesFault) {
  SlotRunner runner;
  const auto cases = std::vector<BishopsCase>(60, BishopsCase{4, 2, false});
  std::vector<Event> events;
  Outcome outcome;
  runner.slot.start(make_dispatch("slow", cases), events);
  // Four times, each once some case is being solved.
  for (std::uint32_t kills = 0; kills < 4 && !outcome.finished;) {
    runner.turn(outcome);
    if (runner.slot.idle() || runner.slot.pid() <= 0) continue;
    if (runner.slot.progress().position >= 5 * kills) {
      ::kill(runner.slot.pid(), SIGKILL);
      ++kills;
    }
  }
  while (!outcome.finished) runner.turn(outcome);
  expect_only(outcome, cases, UINT32_MAX, proto::SOLVED);
}

// Slurm sends SIGTERM to all processes of a job, containers and terminals do alike; the worker then
// drains, and what it is still solving must not be taken for a crash.
TEST(SlotDeath, RequestsToEndAreTheWorkersNotTheSolvers) {
  SlotRunner runner;
  const auto cases = std::vector<BishopsCase>(30, BishopsCase{4, 2, false});
  runner.slot.warm_up();
  const pid_t pid = runner.slot.pid();
  const auto ask_to_end = [&] {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
      ASSERT_EQ(::kill(pid, signal), 0);
    }
  };
  ask_to_end();  // while it starts
  std::vector<Event> events;
  Outcome outcome;
  runner.slot.start(make_dispatch("slow", cases), events);
  while (!outcome.finished && !HasFatalFailure()) {
    ask_to_end();
    runner.turn(outcome);
  }
  EXPECT_EQ(runner.slot.pid(), pid) << "nothing had to be replaced";
  expect_only(outcome, cases, UINT32_MAX, proto::SOLVED);
}

TEST(SlotDeath, AnIdleProcessIsReplaced) {
  SlotRunner runner;
  runner.slot.warm_up();
  const pid_t pid = runner.slot.pid();
  ::kill(pid, SIGKILL);
  Outcome outcome;
  while (runner.slot.pid() == pid) runner.turn(outcome);
  const auto cases = good_cases(5);
  expect_only(runner.run(make_dispatch("staircase", cases)), cases, UINT32_MAX, proto::SOLVED);
}

}  // namespace
}  // namespace puzzled::host
