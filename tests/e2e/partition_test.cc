// Daemon and worker on two machines, as far as the kernel is concerned: network namespaces with a
// cable between them, which is cut, or loses packets.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <optional>

#include "tests/e2e/faults.h"

namespace puzzled::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr const char* kDaemonAddress = "10.213.77.1";
constexpr const char* kWorkerAddress = "10.213.77.2";

class PartitionTest : public FaultsTest {
 protected:
  PartitionTest() { environment_["PATH"] = "/usr/sbin:/sbin:/usr/bin:/bin"; }
  ~PartitionTest() override {
    for (const std::string& name : made_) run({"ip", "netns", "del", name});
  }

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may make network namespaces";
    for (const std::string& name : {here_, there_}) {
      const Ended ended = run({"ip", "netns", "add", name});
      if (ended.exit_code != 0) {
        GTEST_SKIP() << "network namespaces cannot be made here: " << ended.err;
      }
      made_.push_back(name);
    }
    const Ended cable = run({"ip", "-n", here_, "link", "add", "cable", "type", "veth", "peer",
                             "name", "cable", "netns", there_});
    if (cable.exit_code != 0) GTEST_SKIP() << "no virtual cable: " << cable.err;
    must({"ip", "-n", here_, "addr", "add", std::string(kDaemonAddress) + "/24", "dev", "cable"});
    must({"ip", "-n", there_, "addr", "add", std::string(kWorkerAddress) + "/24", "dev", "cable"});
    must({"ip", "-n", here_, "link", "set", "lo", "up"});
    must({"ip", "-n", there_, "link", "set", "cable", "up"});
    plug(true);
    daemon_prefix_ = in_namespace(here_);
    worker_prefix_ = in_namespace(there_);
    worker_endpoint_ = std::string("tcp://") + kDaemonAddress + ":7401";
  }

  // Programs are run by their paths, which `env` finds.
  Ended run(Arguments command) {
    command.insert(command.begin(), "/usr/bin/env");
    return start(command).wait(seconds(60)).value_or(Ended{});
  }
  void must(const Arguments& command) {
    const Ended ended = run(command);
    ASSERT_EQ(ended.exit_code, 0) << ::testing::PrintToString(command) << ended.err;
  }
  static Arguments in_namespace(const std::string& name) {
    return {"/usr/bin/env", "ip", "netns", "exec", name};
  }
  void plug(bool in) { must({"ip", "-n", here_, "link", "set", "cable", in ? "up" : "down"}); }

  Process start_tcp_daemon() {
    Arguments more = {"--worker-endpoint", worker_endpoint_, "--insecure-tcp"};
    more.insert(more.end(), kQuick.begin(), kQuick.end());
    return start_daemon(more);
  }
  // A worker on the daemon's side of the cable.
  Process start_near_worker() {
    const Arguments there = std::exchange(worker_prefix_, in_namespace(here_));
    Process worker = start_test_worker();
    worker_prefix_ = there;
    return worker;
  }
  // Loses packets in both directions; false: this machine cannot.
  bool lose_packets() {
    const auto both = [&](const Arguments& command) {
      for (const std::string& name : {here_, there_}) {
        Arguments whole = {"ip", "netns", "exec", name};
        whole.insert(whole.end(), command.begin(), command.end());
        if (run(whole).exit_code != 0) return false;
      }
      return true;
    };
    return both({"tc", "qdisc", "add", "dev", "cable", "root", "netem", "loss", "15%"}) ||
           both({"iptables", "-A", "INPUT", "-m", "statistic", "--mode", "random", "--probability",
                 "0.15", "-j", "DROP"});
  }

  const std::string here_ = "pzd" + std::to_string(::getpid());
  const std::string there_ = "pzw" + std::to_string(::getpid());
  std::vector<std::string> made_;
};

// It goes on in the dark and comes back with results that others have given meanwhile.
TEST_F(PartitionTest, AWorkerThatWasCutOffCostsNothing) {
  Process daemon = start_tcp_daemon();
  Process away = start_test_worker();
  const std::string input = bishops_file(1'500);
  const std::string job =
      submit({"bishops", file("a.in", input), "--solver", "slow", "--no-cache"});
  ASSERT_TRUE(done_becomes(job, 20));
  plug(false);
  ASSERT_TRUE(workers_become(0));
  ASSERT_TRUE(eventually([&] { return away.err().find("no answer from") != std::string::npos; }));
  const auto left = status(job).at("done").get<std::uint64_t>();
  Process near = start_near_worker();
  ASSERT_TRUE(done_becomes(job, left + 200));
  plug(true);
  ASSERT_TRUE(workers_become(2));
  EXPECT_EQ(ctl({"wait", job, "--timeout", "110s"}).exit_code, 0);
  EXPECT_TRUE(away.running());
  expect_right(job, input);
  expect_no_charges();
}

// Shorter than its liveness: nobody notices, nothing is graded twice.
TEST_F(PartitionTest, ACutThatEndsInTimeGoesUnnoticed) {
  Process daemon = start_tcp_daemon();
  Process worker = start_test_worker();
  const std::string input = bishops_file(500);
  const std::string job =
      submit({"bishops", file("a.in", input), "--solver", "slow", "--no-cache"});
  for (std::uint64_t done = 20; done <= 100; done += 20) {
    ASSERT_TRUE(done_becomes(job, done));
    plug(false);
    plug(true);
  }
  EXPECT_EQ(ctl({"wait", job, "--timeout", "110s"}).exit_code, 0);
  expect_right(job, input);
  expect_no_charges();
}

// The daemon dies while its worker cannot see it, and a new boot grades the rest.
TEST_F(PartitionTest, AWorkerComesBackFromTheDarkToAnotherBoot) {
  std::optional<Process> daemon(start_tcp_daemon());
  Process away = start_test_worker();
  const std::string input = bishops_file(1'000);
  const std::string job =
      submit({"bishops", file("a.in", input), "--solver", "slow", "--no-cache"});
  ASSERT_TRUE(done_becomes(job, 20));
  plug(false);
  kill_and_wait(*daemon);
  check_ledger();
  daemon.emplace(start_tcp_daemon());
  Process near = start_near_worker();
  ASSERT_TRUE(done_becomes(job, 200));
  plug(true);
  ASSERT_TRUE(workers_become(2));
  EXPECT_EQ(ctl({"wait", job, "--timeout", "110s"}).exit_code, 0);
  EXPECT_TRUE(away.running());
  expect_right(job, input);
  expect_no_charges();
}

TEST_F(PartitionTest, LostPacketsOnlyTakeTime) {
  Process daemon = start_tcp_daemon();
  Process worker = start_test_worker({"--slots", "4"});
  ASSERT_TRUE(workers_become(1));
  if (!lose_packets()) GTEST_SKIP() << "neither tc with netem nor iptables is to be had here";
  const std::string input = bishops_file(1'000);
  const std::string job =
      submit({"bishops", file("a.in", input), "--solver", "slow", "--no-cache"});
  EXPECT_EQ(ctl({"wait", job, "--timeout", "110s"}).exit_code, 0);
  expect_right(job, input);
  expect_no_charges();
}

}  // namespace
}  // namespace puzzled::testing
