#include <gtest/gtest.h>

#include "client/failure.h"
#include "client/interrupt.h"
#include "tests/client/fake_broker.h"
#include "tests/client/support.h"

namespace puzzled::client {
namespace {

// A finished job 17 with one wrong answer.
void submit_job(const FakeBroker& broker) {
  const TemporaryFolder folder;
  folder.file("a.in", "3 2\n4 4\n1 1\n0 0\n");
  folder.file("a.ans", "26\n261\n1\n");
  EXPECT_EQ(
      run_puzzlectl({"--endpoint", broker.endpoint(), "-q", "submit", "bishops", folder.path()})
          .out,
      "17\n");
}

Outcome wait(const FakeBroker& broker, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--endpoint", broker.endpoint(), "wait"});
  Outcome outcome = run_puzzlectl(arguments);
  outcome.out = replaced(outcome.out, broker.endpoint(), "ENDPOINT");
  outcome.err = replaced(outcome.err, broker.endpoint(), "ENDPOINT");
  return outcome;
}

TEST(Wait, SummarisesAndFailsOnBadVerdicts) {
  FakeBroker broker;
  submit_job(broker);
  const Outcome outcome = wait(broker, {"17"});
  EXPECT_EQ(outcome.exit_code, kExitVerdicts);
  expect_golden("wait", outcome.out);
  EXPECT_EQ(outcome.err, "");
}

TEST(Wait, FailOnDecidesTheExitCode) {
  FakeBroker broker;
  submit_job(broker);
  EXPECT_EQ(wait(broker, {"17", "--fail-on", "none"}).exit_code, kExitOk);
  EXPECT_EQ(wait(broker, {"17", "--fail-on", "tle,mle"}).exit_code, kExitOk);
  EXPECT_EQ(wait(broker, {"17", "--fail-on", "Wrong_Answer"}).exit_code, kExitVerdicts);
  EXPECT_EQ(wait(broker, {"17", "--fail-on", "ac"}).exit_code, kExitVerdicts);
  EXPECT_EQ(wait(broker, {"17", "--fail-on", "bogus"}).exit_code, kExitInvalid);
}

TEST(Wait, SurvivesARestart) {
  FakeBroker broker({.polls_until_done = 3, .restart_while_waiting = true});
  submit_job(broker);
  EXPECT_EQ(wait(broker, {"17"}).exit_code, kExitVerdicts);
}

TEST(Wait, TimesOutWithExitCode3) {
  FakeBroker broker({.polls_until_done = 1'000'000});
  submit_job(broker);
  const Outcome outcome = wait(broker, {"17", "--timeout", "50ms"});
  EXPECT_EQ(outcome.exit_code, kExitUnreachable);
  EXPECT_NE(outcome.err.find("job 17 goes on without this; wait again: puzzlectl --endpoint "
                             "ENDPOINT wait 17\n"),
            std::string::npos)
      << outcome.err;
}

TEST(Wait, AnInterruptSaysHowToGoOn) {
  FakeBroker broker({.polls_until_done = 1'000'000});
  submit_job(broker);
  set_interrupted(true);
  const Outcome outcome = wait(broker, {"17"});
  set_interrupted(false);
  EXPECT_EQ(outcome.exit_code, kExitInterrupted);
  EXPECT_NE(outcome.err.find("job 17 goes on without this"), std::string::npos);
}

TEST(Wait, SeveralJobsAndUnknownOnes) {
  FakeBroker broker;
  submit_job(broker);
  const TemporaryFolder folder;
  const std::string file = folder.file("b.in", "3 2\n0 0\n");
  EXPECT_EQ(run_puzzlectl({"--endpoint", broker.endpoint(), "-q", "submit", "bishops", file}).out,
            "18\n");
  const Outcome both = wait(broker, {"17", "18", "17"});
  EXPECT_EQ(both.exit_code, kExitVerdicts);
  EXPECT_NE(both.out.find("job 18: DONE in 2.31s, 1 case: 1 OK\n"), std::string::npos) << both.out;
  EXPECT_EQ(wait(broker, {"18"}).exit_code, kExitOk);
  EXPECT_EQ(wait(broker, {"18", "99"}).exit_code, kExitRefused);
}

TEST(Wait, ACancelledJobCountsItsOpenCases) {
  FakeBroker broker({.polls_until_done = 1'000'000});
  submit_job(broker);
  EXPECT_EQ(run_puzzlectl({"--endpoint", broker.endpoint(), "cancel", "17", "--reason", "typo"})
                .exit_code,
            kExitOk);
  const Outcome outcome = wait(broker, {"17"});
  EXPECT_EQ(outcome.exit_code, kExitVerdicts);
  EXPECT_EQ(outcome.out, "job 17: CANCELLED in 2.31s, 3 cases: 3 CA\n  cancelled: typo\n");
}

// As after an upload that broke off: the rest never came, so this is no success.
TEST(Wait, ACancelledJobIsNoSuccessThoughAllThatCameIsRight) {
  FakeBroker broker;
  const TemporaryFolder folder;
  const std::string file = folder.file("a.in", "3 2\n0 0\n");
  run_puzzlectl({"--endpoint", broker.endpoint(), "-q", "submit", "bishops", file});
  ASSERT_EQ(wait(broker, {"17"}).exit_code, kExitOk);
  ASSERT_EQ(run_puzzlectl({"--endpoint", broker.endpoint(), "cancel", "17"}).exit_code, kExitOk);
  EXPECT_EQ(wait(broker, {"17"}).exit_code, kExitVerdicts);
  EXPECT_EQ(wait(broker, {"17", "--fail-on", "wa,ca"}).exit_code, kExitVerdicts);
  EXPECT_EQ(wait(broker, {"17", "--fail-on", "wa"}).exit_code, kExitOk);
  EXPECT_EQ(wait(broker, {"17", "--fail-on", "none"}).exit_code, kExitOk);
}

}  // namespace
}  // namespace puzzled::client
