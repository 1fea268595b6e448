// Processes that stand still for a while, clocks that jump, descriptors that run out.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <optional>

#include "tests/e2e/faults.h"

namespace puzzled::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class StoppedTest : public FaultsTest {
 protected:
  std::string submit_slow(std::size_t cases, const Arguments& more = {}) {
    input_ = bishops_file(cases);
    Arguments command = {"bishops", file("a.in", input_), "--solver", "slow", "--no-cache"};
    command.insert(command.end(), more.begin(), more.end());
    return submit(command);
  }
  void expect_done_right(const std::string& job) {
    EXPECT_EQ(ctl({"wait", job, "--timeout", "110s"}).exit_code, 0);
    expect_right(job, input_);
    expect_no_charges();
  }
  static bool says(const Process& process, const std::string& part) {
    return eventually([&] { return process.err().find(part) != std::string::npos; });
  }
  std::string input_;
};

// ---- Standing still.

TEST_F(StoppedTest, AWorkerThatStoodStillForLongComesBackAndCostsNothing) {
  Process daemon = start_daemon(kQuick);
  Process stopped = start_test_worker();
  const std::string job = submit_slow(1'000);
  ASSERT_TRUE(done_becomes(job, 20));
  stopped.signal(SIGSTOP);
  ASSERT_TRUE(workers_become(0));
  const auto left = status(job).at("done").get<std::uint64_t>();
  Process other = start_test_worker();
  ASSERT_TRUE(done_becomes(job, left + 200));
  stopped.signal(SIGCONT);
  ASSERT_TRUE(workers_become(2));
  expect_done_right(job);
  EXPECT_TRUE(stopped.running());
}

TEST_F(StoppedTest, ADaemonThatStoodStillHoldsNobodyForGone) {
  Process daemon = start_daemon(kQuick);
  Process worker = start_test_worker();
  const std::string job = submit_slow(1'000);
  Process waiting = start({kCtl, "wait", job});
  ASSERT_TRUE(done_becomes(job, 20));
  daemon.signal(SIGSTOP);
  EXPECT_TRUE(says(worker, "no answer from")) << "longer than liveness";
  daemon.signal(SIGCONT);
  ASSERT_TRUE(done_becomes(job, 100));
  expect_no_charges();
  const auto ended = waiting.wait(seconds(110));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 0) << ended->err;
  expect_done_right(job);
  EXPECT_EQ(number_in_store("SELECT count(*) FROM workers"), 1U) << "one process, one row";
}

TEST_F(StoppedTest, AStoppedSolverProcessHoldsUpOnlyItsOwnCase) {
  constexpr std::uint64_t kCases = 400;
  Process daemon = start_daemon(kQuick);
  Process worker = start_test_worker();
  const std::string job = submit_slow(kCases);
  ASSERT_TRUE(done_becomes(job, 20));
  const std::vector<pid_t> solvers = children_of(worker.pid());
  ASSERT_EQ(solvers.size(), 2U);
  ::kill(solvers.front(), SIGSTOP);
  ASSERT_TRUE(done_becomes(job, kCases - 1)) << "what was behind it goes on elsewhere";
  ::kill(solvers.front(), SIGCONT);
  expect_done_right(job);
}

// The backstop is no verdict if hardly any CPU time was used. It is ten seconds at least.
TEST_F(StoppedTest, ASolverProcessThatNeverGoesOnIsReplacedAndItsCaseGetsNoVerdictForThat) {
  Process daemon = start_daemon(kQuick);
  Process worker = start_test_worker();
  const std::string job = submit_slow(200, {"--time-limit", "100ms"});
  ASSERT_TRUE(done_becomes(job, 20));
  ::kill(children_of(worker.pid()).front(), SIGSTOP);
  expect_done_right(job);
}

// ---- Clocks.

// Only labels come from the wall clock.
TEST_F(StoppedTest, JumpsOfTheWallClockMoveOnlyLabels) {
  const std::string clock = file("clock", std::string(8, '\0'));
  const auto set_clock = [&](std::int64_t offset_s) {
    std::fstream out(clock, std::ios::in | std::ios::out | std::ios::binary);
    out.write(reinterpret_cast<const char*>(&offset_s), sizeof offset_s);
  };
  const Arguments moved = {"/usr/bin/env", std::string("LD_PRELOAD=") + PUZZLED_CLOCK_SHIM,
                           "PUZZLED_TEST_CLOCK=" + clock};
  daemon_prefix_ = worker_prefix_ = moved;
  environment_["ASAN_OPTIONS"] += ":verify_asan_link_order=0";
  constexpr std::int64_t kDay = 86'400;
  // A minute of silence is no jump of forty days, and a busy machine causes seconds of it.
  Process daemon = start_daemon({"--workers", "0", "--liveness", "60s"});
  Process worker = start_test_worker();
  // An upload that has come to a stop: it expires after a day, by the clock that does not jump.
  Process upload = start({kCtl, "submit", "bishops", file("b.in", bishops_file(200'000))});
  ASSERT_TRUE(eventually([&] {
    const Json jobs = Json::parse(ctl_out({"jobs", "--output", "json"}));
    return !jobs.empty() && jobs[0].at("cases") > 0;
  }));
  upload.signal(SIGSTOP);
  ASSERT_EQ(status("1").at("state"), "UPLOADING");
  const std::string job = submit_slow(600, {"--priority", "5"});
  std::uint64_t done = 0;
  for (const std::int64_t offset : {40 * kDay, -40 * kDay, 400 * kDay, std::int64_t{0}}) {
    set_clock(offset);
    ASSERT_TRUE(done_becomes(job, done += 60));
  }
  set_clock(-400 * kDay);
  expect_done_right(job);
  // On a busy machine the job may have been done before the last jump, so another one tells.
  const std::string later = submit_slow(10, {"--priority", "5"});
  expect_done_right(later);
  EXPECT_LT(status(later).at("created_at").get<std::string>(),
            status(job).at("created_at").get<std::string>())
      << "the clock of the daemon was not moved";
  EXPECT_EQ(status("1").at("state"), "UPLOADING");
  EXPECT_EQ(workers().size(), 1U);
  EXPECT_THAT(worker.err(), Not(HasSubstr("no answer from")));
}

// ---- Descriptors.

// Connections without a word, as many as there is room for.
class Crowd {
 public:
  explicit Crowd(const std::filesystem::path& path) {
    address_.sun_family = AF_UNIX;
    std::memcpy(address_.sun_path, path.c_str(), path.native().size() + 1);
  }
  ~Crowd() { go(); }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  void come(std::size_t count) {
    while (count-- > 0) {
      const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      ASSERT_GE(fd, 0);
      sockets_.push_back(fd);
      ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0)
          << "the daemon is gone: " << std::strerror(errno);
    }
  }
  // Those that were turned away do: what was in their place then may have gone since.
  void come_again() {
    const std::size_t count = sockets_.size();
    std::erase_if(sockets_, [](int fd) {
      char byte = 0;
      const ssize_t got = ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      const bool is_away = got == 0 || (got < 0 && errno != EAGAIN);
      if (is_away) ::close(fd);
      return is_away;
    });
    come(count - sockets_.size());
  }
  void go() {
    for (const int fd : sockets_) ::close(fd);
    sockets_.clear();
  }

 private:
  sockaddr_un address_{};
  std::vector<int> sockets_;
};

TEST_F(StoppedTest, ADaemonWithoutDescriptorsServesThoseItHasAndRecovers) {
  daemon_prefix_ = {"/bin/sh", "-c", "ulimit -n 256; exec \"$@\"", "sh"};
  Process daemon = start_daemon(kQuick);
  Process worker = start_test_worker();
  const std::string job = submit_slow(600);
  Process waiting = start({kCtl, "wait", job});
  ASSERT_TRUE(done_becomes(job, 20));
  for (const char* name : {"client.sock", "worker.sock"}) {
    Crowd crowd(path(name));
    ASSERT_NO_FATAL_FAILURE(crowd.come(600));
    EXPECT_TRUE(daemon.running());
    // A new client is turned away: it cannot even be told why.
    EXPECT_TRUE(eventually([&] {
      crowd.come_again();
      return ctl({"--connect-timeout", "300ms", "jobs"}).exit_code == 3;
    }));
    crowd.go();
    ASSERT_TRUE(done_becomes(job, 20)) << "there is room again";
  }
  const auto ended = waiting.wait(seconds(110));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 0) << ended->err;
  expect_done_right(job);
  EXPECT_TRUE(daemon.running());
}

TEST_F(StoppedTest, ManyClientsWithFewDescriptorsAllGetThroughInTheEnd) {
  daemon_prefix_ = {"/bin/sh", "-c", "ulimit -n 80; exec \"$@\"", "sh"};
  Process daemon = start_daemon({"--workers", "1"});
  const std::string input = file("a.in", bishops_file(50));
  std::vector<Process> clients;
  for (int i = 0; i < 60; ++i) {
    clients.push_back(
        start({kCtl, "--connect-timeout", "60s", "submit", "bishops", input, "--wait"}));
  }
  for (Process& client : clients) {
    const auto ended = client.wait(seconds(110));
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->exit_code, 0) << ended->err;
  }
  EXPECT_EQ(Json::parse(ctl_out({"jobs", "--limit", "0", "--output", "json"})).size(),
            clients.size());
  EXPECT_TRUE(daemon.running());
}

}  // namespace
}  // namespace puzzled::testing
