#include "daemon/supervisor.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "daemon/broker/types.h"
#include "proto/base/fatal.h"

namespace puzzled {
namespace {

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() {
    char path[] = "/tmp/puzzled_supervisor_XXXXXX";
    folder_ = ::mkdtemp(path);
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::pthread_sigmask(SIG_BLOCK, &child, nullptr);
  }
  ~SupervisorTest() override { std::filesystem::remove_all(folder_); }

  // A worker made of a shell script.
  std::string program(const std::string& script) {
    const std::string path = folder_ + "/worker";
    std::ofstream(path) << "#!/bin/sh\n" << script << '\n';
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::unique_ptr<Supervisor> supervise(const std::string& script, std::uint32_t workers) {
    SupervisorOptions options;
    options.workers = workers;
    options.worker_program = program(script);
    return std::make_unique<Supervisor>(options, "ipc:///tmp/w.sock");
  }
  // Until a child has ended. SIGCHLD is blocked, so none is missed.
  static void wait_for_child() {
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
  }

  std::string folder_;
};

constexpr const char* kLivesWithUs = "cat <&3 >/dev/null";

TEST_F(SupervisorTest, StartsAllAndEndsAll) {
  auto supervisor = supervise(kLivesWithUs, 3);
  EXPECT_EQ(supervisor->running().size(), 0U);
  supervisor->step(0);
  const std::vector<pid_t> pids = supervisor->running();
  EXPECT_EQ(pids.size(), 3U);
  EXPECT_EQ(supervisor->next_deadline(), kNever);
  supervisor.reset();
  for (const pid_t pid : pids) EXPECT_EQ(::kill(pid, 0), -1);
}

TEST_F(SupervisorTest, PassesItsEndpointAndSlot) {
  auto supervisor = supervise("echo \"$*\" > " + folder_ + "/seen", 1);
  supervisor->step(0);
  wait_for_child();
  std::string seen;
  std::getline(std::ifstream(folder_ + "/seen"), seen);
  EXPECT_EQ(seen, "--slots 1 --endpoint ipc:///tmp/w.sock --exit-with-parent 3");
}

TEST_F(SupervisorTest, KeepsToItselfWhatSystemdTellsTheDaemon) {
  ::setenv("NOTIFY_SOCKET", "/tmp/none", 1);
  ::setenv("WATCHDOG_USEC", "1000000", 1);
  ::setenv("WATCHDOG_PID", "1", 1);
  ::setenv("PUZZLED_TEST_KEPT", "yes", 1);
  auto supervisor =
      supervise("echo \"$NOTIFY_SOCKET/$WATCHDOG_USEC/$WATCHDOG_PID/$PUZZLED_TEST_KEPT\" > " +
                    folder_ + "/seen",
                1);
  supervisor->step(0);
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "PUZZLED_TEST_KEPT"}) {
    ::unsetenv(name);
  }
  wait_for_child();
  std::string seen;
  std::getline(std::ifstream(folder_ + "/seen"), seen);
  EXPECT_EQ(seen, "///yes");
}

TEST_F(SupervisorTest, RestartsWithGrowingDelay) {
  auto supervisor = supervise("exit 7", 1);
  std::int64_t now = 0;
  for (const std::int64_t delay : {100, 200, 400, 800, 1'600, 3'200, 5'000, 5'000}) {
    supervisor->step(now);
    ASSERT_EQ(supervisor->running().size(), 1U);
    wait_for_child();
    supervisor->step(now);
    EXPECT_EQ(supervisor->running().size(), 0U);
    EXPECT_EQ(supervisor->next_deadline(), now + delay);
    supervisor->step(now + delay - 1);
    EXPECT_EQ(supervisor->running().size(), 0U);
    now += delay;
  }
  // A long life makes the next delay short again.
  supervisor->step(now);
  wait_for_child();
  supervisor->step(now + 10'000);
  EXPECT_EQ(supervisor->next_deadline(), now + 10'100);
}

TEST_F(SupervisorTest, StartsNoneWhileDraining) {
  auto supervisor = supervise("exit 0", 2);
  supervisor->step(0);
  supervisor->drain();
  wait_for_child();
  supervisor->step(0);
  supervisor->step(1'000'000);
  EXPECT_EQ(supervisor->next_deadline(), kNever);
}

TEST_F(SupervisorTest, WorkersThatIgnoreSigtermEndAllTheSame) {
  auto supervisor = supervise("trap '' TERM; echo > " + folder_ + "/up; cat <&3 >/dev/null", 1);
  supervisor->step(0);
  const pid_t pid = supervisor->running().at(0);
  supervisor.reset();
  EXPECT_EQ(::kill(pid, 0), -1);
}

// The daemon is killed: nothing of it runs any more, and still its workers end.
TEST_F(SupervisorTest, WorkersEndWithTheDaemonHoweverItEnds) {
  const std::string fifo = folder_ + "/alive";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const pid_t daemon = ::fork();
  if (daemon == 0) {
    auto supervisor = supervise("exec 4>" + fifo + "; echo up >&4; cat <&3 >/dev/null", 1);
    supervisor->step(0);
    ::pause();
    ::_exit(1);
  }
  std::ifstream in(fifo);  // opens once the worker has it open, too
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "up");
  ::kill(daemon, SIGKILL);
  EXPECT_FALSE(std::getline(in, line));  // end of file: the worker is gone
  ::waitpid(daemon, nullptr, 0);
}

TEST_F(SupervisorTest, AMissingProgramIsAConfigurationError) {
  SupervisorOptions options;
  options.workers = 1;
  options.worker_program = folder_ + "/none";
  try {
    const Supervisor supervisor(options, "");
    FAIL() << "was accepted";
  } catch (const Fatal& error) {
    EXPECT_EQ(error.exit_code(), kExitConfiguration);
    EXPECT_NE(std::string(error.what()).find("--workers 0"), std::string::npos);
  }
}

}  // namespace
}  // namespace puzzled
