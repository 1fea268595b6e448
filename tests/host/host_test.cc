// The worker as a process, with the test as its broker.
#include "workers/host/host.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "proto/wire.h"
#include "tests/host/host_support.h"
#include "workers/puzzles/bishops/bishops.h"

namespace puzzled::host {
namespace {

proto::ToWorker make_dispatch(std::uint64_t lease, const std::string& solver,
                              const std::vector<bishops::Instance>& cases) {
  proto::ToWorker message;
  proto::Dispatch& dispatch = *message.mutable_dispatch();
  dispatch.set_boot(1);
  dispatch.set_lease(lease);
  dispatch.set_attempt(1);
  dispatch.set_puzzle("bishops");
  dispatch.set_solver(solver);
  dispatch.mutable_limits()->set_time_limit_us(10'000'000);
  dispatch.mutable_limits()->set_memory_limit_bytes(256U << 20U);
  dispatch.mutable_limits()->set_answer_bytes_max(1U << 20U);
  dispatch.set_case_count(static_cast<std::uint32_t>(cases.size()));
  for (const bishops::Instance& instance : cases) {
    proto::Case c;
    bishops::encode_instance(instance, *c.mutable_instance());
    wire::append_case(c.SerializeAsString(), *dispatch.mutable_cases());
  }
  return message;
}

proto::CaseResultList results_in(const proto::FromWorker& message) {
  proto::CaseResultList list;
  EXPECT_TRUE(list.ParseFromString(message.results().results()));
  return list;
}

proto::ToWorker stored(std::uint64_t lease) {
  proto::ToWorker message;
  message.mutable_stored()->set_boot(1);
  message.mutable_stored()->set_lease(lease);
  return message;
}

// Gone, or a zombie that nobody has taken the end of yet.
bool is_gone(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(in, line)) return true;
  return line[line.rfind(')') + 2] == 'Z';
}

TEST(Host, IntroducesItselfAndSolves) {
  FakeBroker broker;
  WorkerProcess worker({"--endpoint", broker.endpoint(), "--slots", "2", "--name", "w1"});
  const proto::Ready ready = broker.welcome();
  EXPECT_EQ(ready.name(), "w1");
  EXPECT_EQ(ready.start_id().size(), 16U);
  EXPECT_EQ(ready.pid(), static_cast<std::uint32_t>(worker.pid()));
  EXPECT_EQ(ready.slots(), 2U);
  EXPECT_EQ(ready.capacity(), 4U);
  EXPECT_GT(ready.offers_size(), 2);
  broker.send(make_dispatch(7, "staircase", {{8, 6}, {2, 2}}));
  const proto::FromWorker message = broker.receive(proto::FromWorker::kResults);
  EXPECT_EQ(message.results().lease(), 7U);
  const proto::CaseResultList list = results_in(message);
  ASSERT_EQ(list.results_size(), 2);
  EXPECT_EQ(bishops::summarize(list.results(0).answer()), "5599888");
  EXPECT_EQ(list.results(1).verdict(), proto::SOLVED);
}

TEST(Host, OneCrashAmongMany) {
  FakeBroker broker;
  WorkerProcess worker({"--endpoint", broker.endpoint(), "--slots", "1"});
  broker.welcome();
  std::vector<bishops::Instance> cases(100, bishops::Instance{6, 3});
  cases[50] = {8, 13};
  broker.send(make_dispatch(1, "crash", cases));
  int crashed = 0;
  for (int results = 0; results < 100 && !HasFailure();) {
    const auto list = results_in(broker.receive(proto::FromWorker::kResults));
    for (const proto::CaseResult& result : list.results()) {
      ++results;
      EXPECT_EQ(result.verdict() == proto::CRASHED, result.position() == 50);
      crashed += result.verdict() == proto::CRASHED ? 1 : 0;
    }
  }
  EXPECT_EQ(crashed, 1);
}

TEST(Host, HeartbeatsShowTheSlowCase) {
  FakeBroker broker;
  WorkerProcess worker({"--endpoint", broker.endpoint(), "--slots", "1"});
  broker.welcome();
  broker.send(make_dispatch(1, "spin", {{6, 3}, {8, 13}, {6, 3}}));
  const proto::FromWorker back = broker.receive(proto::FromWorker::kReturnCases);
  ASSERT_EQ(back.return_cases().positions_size(), 1);
  EXPECT_EQ(back.return_cases().positions(0).first(), 2U);
  EXPECT_EQ(back.return_cases().capacity(), 1U);
  std::uint64_t progress = 0;
  for (int beats = 0; beats < 3 && !HasFailure(); ++beats) {
    const proto::FromWorker beat = broker.receive(proto::FromWorker::kHeartbeat);
    ASSERT_EQ(beat.heartbeat().slots_size(), 1);
    EXPECT_EQ(beat.heartbeat().slots(0).position(), 1U);
    EXPECT_GT(beat.heartbeat().slots(0).progress(), progress);
    progress = beat.heartbeat().slots(0).progress();
  }
}

TEST(Host, DrainsOnSigterm) {
  FakeBroker broker;
  WorkerProcess worker({"--endpoint", broker.endpoint(), "--slots", "1"});
  broker.welcome();
  broker.send(make_dispatch(1, "slow", std::vector<bishops::Instance>(1000, {4, 2})));
  broker.receive(proto::FromWorker::kHeartbeat);
  worker.signal(SIGTERM);
  const proto::FromWorker back = broker.receive(proto::FromWorker::kReturnCases);
  const std::uint32_t kept = back.return_cases().positions(0).first();
  int results = 0;
  while (results < static_cast<int>(kept) && !HasFailure()) {
    results += results_in(broker.receive(proto::FromWorker::kResults)).results_size();
  }
  EXPECT_EQ(results, static_cast<int>(kept));
  broker.send(stored(1));
  broker.receive(proto::FromWorker::kGoodbye);
  EXPECT_EQ(worker.wait(), 0);
}

TEST(Host, SolverProcessesDieWithTheWorker) {
  FakeBroker broker;
  WorkerProcess worker({"--endpoint", broker.endpoint(), "--slots", "2"});
  broker.welcome();
  broker.send(make_dispatch(1, "spin", {{8, 13}}));
  broker.receive(proto::FromWorker::kHeartbeat);
  const std::vector<pid_t> children = worker.children();
  EXPECT_EQ(children.size(), 2U);
  worker.signal(SIGKILL);
  EXPECT_EQ(worker.wait(), -SIGKILL);
  for (const pid_t child : children) {
    EXPECT_TRUE(eventually([&] { return is_gone(child); })) << child;
  }
}

TEST(Host, EndsWithTheDaemonThatStartedIt) {
  FakeBroker broker;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  WorkerProcess worker({"--endpoint", broker.endpoint(), "--slots", "1", "--exit-with-parent",
                        std::to_string(ends[0])},
                       {ends[0]});
  broker.welcome();
  broker.send(make_dispatch(1, "spin", {{8, 13}}));
  broker.receive(proto::FromWorker::kHeartbeat);
  ::close(ends[1]);
  EXPECT_EQ(worker.wait(), 0);
  ::close(ends[0]);
}

TEST(Host, GivesUpOnlyWhenAsked) {
  WorkerProcess worker({"--endpoint", "ipc:///nonexistent/worker.sock", "--slots", "1",
                        "--give-up-after", "100ms", "--log-level", "off"});
  EXPECT_EQ(worker.wait(), 3);
}

TEST(Host, EndsWhenIdle) {
  FakeBroker broker;
  WorkerProcess worker({"--endpoint", broker.endpoint(), "--slots", "1", "--idle-timeout", "2s"});
  broker.welcome();
  EXPECT_EQ(broker.receive(proto::FromWorker::kGoodbye).goodbye().reason(), "idle");
  EXPECT_EQ(worker.wait(), 0);
}

TEST(Host, EndsWhenRefused) {
  FakeBroker broker;
  WorkerProcess worker({"--endpoint", broker.endpoint(), "--log-level", "off"});
  broker.receive(proto::FromWorker::kReady);
  proto::ToWorker refused;
  refused.mutable_refused()->set_message("another version");
  broker.send(refused);
  EXPECT_EQ(worker.wait(), 4);
}

TEST(Host, UsageErrorsAreExitCodeTwo) {
  const std::vector<std::vector<std::string>> bad = {{"--slots", "0"},
                                                     {"--slots", "many"},
                                                     {"--endpoint", "nowhere"},
                                                     {"--idle-timeout", "10"},
                                                     {"--no-such-flag"},
                                                     {"--endpoint", "tcp://host"},
                                                     {"--log-level", "shout"},
                                                     {"--exit-with-parent", "9"},
                                                     {"stray"},
                                                     {"--name", std::string(201, 'x')}};
  for (const auto& arguments : bad) {
    WorkerProcess worker(arguments);
    EXPECT_EQ(worker.wait(), 2) << arguments[0];
  }
}

TEST(Host, HelpAndVersionEndWell) {
  for (const char* flag : {"--help", "--version"}) {
    WorkerProcess worker({flag});
    EXPECT_EQ(worker.wait(), 0) << flag;
  }
}

}  // namespace
}  // namespace puzzled::host
