// What the other tests here are made with.
#include "tests/support/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace puzzled::testing {
namespace {

// The end may fall between the opening of the process's file and its reading; of so many it does.
TEST(ProcessSupport, OneThatEndsWhileItIsLookedAtIsGone) {
  constexpr int kProcesses = 300;
  const auto before = ::signal(SIGCHLD, SIG_IGN);  // then nothing is left to be waited for
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(0);
    ASSERT_GT(pid, 0);
    while (is_alive(pid)) {
    }
  }
  ::signal(SIGCHLD, before);
}

TEST(ProcessSupport, AProgramThatCannotBeStartedSaysSo) {
  const TemporaryFolder folder;
  Process process({"/no/such/program"}, {{}, folder.path(), "", ""});
  const auto ended = process.wait(std::chrono::seconds(60));
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 127);
  EXPECT_EQ(ended->err, "cannot start /no/such/program\n");
}

}  // namespace
}  // namespace puzzled::testing
