// The words that puzzlectl offers to shells.
#include <gtest/gtest.h>

#include <cstdlib>

#include "client/failure.h"
#include "tests/client/fake_broker.h"
#include "tests/client/support.h"

namespace puzzled::client {
namespace {

// What completes the last of these words.
std::string completions(std::vector<std::string> words) {
  words.insert(words.begin(), "__complete");
  const Outcome outcome = run_puzzlectl(words);
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

TEST(Complete, Commands) {
  EXPECT_EQ(completions({"s"}), "solve\nsubmit\nstatus\nshow\n");
  EXPECT_EQ(completions({"--quiet", "ca"}), "canary\ncancel\n");
  EXPECT_NE(completions({}).find("results\n"), std::string::npos);
  EXPECT_EQ(completions({"no-such-command", ""}), "");
}

TEST(Complete, OptionsOfTheCommandAndGlobalOnes) {
  EXPECT_EQ(completions({"submit", "bishops", "--no-a"}), "--no-answers\n");
  EXPECT_EQ(completions({"results", "--c"}), "--color\n--colour\n--connect-timeout\n");
}

TEST(Complete, Values) {
  EXPECT_EQ(completions({"solve", "bi"}), "bishops\n");
  EXPECT_EQ(completions({"solve", "bishops", "--solver", ""}), "staircase\nbrute-force\n");
  EXPECT_EQ(completions({"solve", "x", "--solver", ""}), "");
  EXPECT_EQ(completions({"--output", "js"}), "json\njsonl\n");
  EXPECT_EQ(completions({"results", "1", "--verdict", "O"}), "OK\nOLE\n");
  EXPECT_EQ(completions({"wait", "--fail-on", "A"}), "AC\n");
}

// As people type them: in small letters, several with commas.
TEST(Complete, ListsOfVerdicts) {
  EXPECT_EQ(completions({"results", "1", "--verdict", "o"}), "ok\nole\n");
  EXPECT_EQ(completions({"wait", "--fail-on", "wa,t"}), "wa,tle\n");
}

TEST(Complete, WhatIsDoneToWhichWorkers) {
  EXPECT_EQ(completions({"workers", "r"}), "resume\nremove\n");
  FakeBroker broker;
  broker.stop();
  broker.spoil_reply = [](proto::ClientReply& reply) {
    if (!reply.has_workers_page() || reply.workers_page().workers_size() == 0) return;
    reply.mutable_workers_page()->add_workers()->set_name("node7-1");
    reply.mutable_workers_page()->add_workers()->set_name("two words");
  };
  broker.start();
  EXPECT_EQ(completions({"--endpoint", broker.endpoint(), "workers", "drain", ""}), "node7-1\n");
  EXPECT_EQ(completions({"--endpoint", broker.endpoint(), "workers", "drain", "node7-1", "n"}),
            "node7-1\n");
}

TEST(Complete, JobsOfTheDaemonThatIsMeant) {
  FakeBroker broker;
  const TemporaryFolder folder;
  ASSERT_EQ(run_puzzlectl({"--endpoint", broker.endpoint(), "--quiet", "submit", "bishops",
                           folder.file("a.in", "2 1\n0 0\n")})
                .exit_code,
            kExitOk);
  EXPECT_EQ(completions({"--endpoint", broker.endpoint(), "status", ""}), "17\n");
  EXPECT_EQ(completions({"wait", "--endpoint=" + broker.endpoint(), "1"}), "17\n");
  ::setenv("PUZZLED_ENDPOINT", broker.endpoint().c_str(), 1);
  EXPECT_EQ(completions({"submit", "--resume", ""}), "17\n");
  const std::string nobody = "ipc://" + folder.path() + "/none.sock";
  EXPECT_EQ(completions({"--endpoint", nobody, "status", ""}), "") << "not another daemon's";
  ::unsetenv("PUZZLED_ENDPOINT");
}

TEST(Complete, LeavesPathsToTheShell) {
  EXPECT_EQ(completions({"solve", "bishops", ""}), "");
  EXPECT_EQ(completions({"validate", "bishops", "a.in", ""}), "");
  EXPECT_EQ(completions({"submit", "bishops", "--answers", ""}), "");
}

}  // namespace
}  // namespace puzzled::client
