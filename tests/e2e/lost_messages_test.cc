// Messages between worker and broker are lost, repeated and late, one kind at a time, while
// everything else goes through. A proxy between the programs does it (tests/support/frame_proxy.h).
#include <gmock/gmock.h>
#include <signal.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <zmq.hpp>

#include "proto/worker.pb.h"
#include "tests/e2e/faults.h"
#include "tests/e2e/messages.h"
#include "tests/support/frame_proxy.h"

namespace puzzled::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using Fate = FrameProxy::Fate;
using Way = FrameProxy::Way;

class LostMessagesTest : public FaultsTest {
 protected:
  using FromWorkerRule = std::function<Fate(const proto::FromWorker&)>;
  using ToWorkerRule = std::function<Fate(const proto::ToWorker&)>;

  // Workers that are started from now on go through a proxy with these rules.
  void between_workers(FromWorkerRule from_worker, ToWorkerRule to_worker) {
    auto rule = [from_worker = std::move(from_worker), to_worker = std::move(to_worker)](
                    Way way, int, std::string_view message) {
      return way == Way::kToBroker ? from_worker(decoded<proto::FromWorker>(message))
                                   : to_worker(decoded<proto::ToWorker>(message));
    };
    proxy_.emplace(path("p.sock"), path("worker.sock"), std::move(rule));
    worker_endpoint_ = "ipc://" + path("p.sock").string();
  }
  std::string submit_file(std::size_t cases, const Arguments& more = {}) {
    input_ = bishops_file(cases);
    Arguments command = {"bishops", file("a.in", input_)};
    command.insert(command.end(), more.begin(), more.end());
    return submit(command);
  }

  std::string input_;
  std::optional<FrameProxy> proxy_;
};

Fate pass_all(const proto::ToWorker&) { return Fate::kPass; }

TEST_F(LostMessagesTest, ResultsThatGetLostAreSentAgainUntilStored) {
  std::atomic<int> lost{0};
  std::atomic<int> heartbeats{0};
  between_workers(
      [&](const proto::FromWorker& message) {
        if (message.has_heartbeat()) ++heartbeats;
        // Two of three, so that some get lost more than once.
        return message.has_results() && ++lost % 3 != 0 ? Fate::kLose : Fate::kPass;
      },
      pass_all);
  Process daemon = start_daemon(kQuick);
  Process worker = start_test_worker();
  const std::string job = submit_file(200);
  EXPECT_EQ(ctl({"wait", job, "--timeout", "100s"}).exit_code, 0);
  EXPECT_GT(lost, 2);
  EXPECT_GT(heartbeats, 0);
  EXPECT_EQ(proxy_->connections(), 1) << "the worker went through all this on one connection";
  expect_right(job, input_);
  expect_no_charges();
}

TEST_F(LostMessagesTest, AcknowledgementsThatGetLostAndResultsThatComeTwiceCountOnce) {
  std::atomic<int> stored{0};
  between_workers(
      [](const proto::FromWorker& m) { return m.has_results() ? Fate::kTwice : Fate::kPass; },
      [&](const proto::ToWorker& message) {
        return message.has_stored() && ++stored % 4 != 0 ? Fate::kLose : Fate::kPass;
      });
  Process daemon = start_daemon(kQuick);
  Process worker = start_test_worker();
  const std::string job = submit_file(500);
  EXPECT_EQ(ctl({"wait", job, "--timeout", "100s"}).exit_code, 0);
  EXPECT_GT(stored, 0);
  expect_right(job, input_);
  expect_no_charges();
  // The worker gets rid of what it keeps, and takes new work.
  EXPECT_EQ(ctl({"wait", submit_file(500), "--timeout", "100s"}).exit_code, 0);
  expect_right("2", input_);
  kill_and_wait(daemon);
  check_ledger();
}

TEST_F(LostMessagesTest, DispatchesThatGetLostAreQueuedAgainAtNoCost) {
  std::atomic<int> dispatches{0};
  between_workers([](const proto::FromWorker&) { return Fate::kPass; },
                  [&](const proto::ToWorker& message) {
                    return message.has_dispatch() && ++dispatches % 2 != 0 ? Fate::kLose
                                                                           : Fate::kPass;
                  });
  Process daemon = start_daemon(kQuick);
  Process worker = start_test_worker();
  const std::string job = submit_file(300);
  EXPECT_EQ(ctl({"wait", job, "--timeout", "100s"}).exit_code, 0);
  EXPECT_GT(dispatches, 2);
  expect_right(job, input_);
  expect_no_charges();
}

TEST_F(LostMessagesTest, ConnectionsThatBreakAllTheTimeCostNothing) {
  std::atomic<int> messages{0};
  between_workers(
      [&](const proto::FromWorker&) { return ++messages % 9 == 0 ? Fate::kCut : Fate::kPass; },
      pass_all);
  Process daemon = start_daemon(kQuick);
  Process worker = start_test_worker();
  const std::string job = submit_file(500, {"--solver", "slow", "--no-cache"});
  EXPECT_EQ(ctl({"wait", job, "--timeout", "100s"}).exit_code, 0);
  EXPECT_GT(proxy_->connections(), 2);
  expect_right(job, input_);
  expect_no_charges();
}

// A partition with the proxy as the wall, so that the late results can be seen to be refused.
TEST_F(LostMessagesTest, LateResultsAreStaleAndNotCounted) {
  std::atomic<bool> dark{false};
  std::atomic<int> late{0};
  std::atomic<int> stale{0};
  between_workers(
      [&](const proto::FromWorker& message) {
        if (dark) return Fate::kLose;
        if (message.has_results()) ++late;
        return Fate::kPass;
      },
      [&](const proto::ToWorker& message) {
        if (dark) return Fate::kLose;
        if (message.has_stale()) ++stale;
        return Fate::kPass;
      });
  Process daemon = start_daemon(kQuick);
  Process away = start_test_worker();
  const std::string job = submit_file(1'000, {"--solver", "slow", "--no-cache"});
  ASSERT_TRUE(done_becomes(job, 20));
  dark = true;
  ASSERT_TRUE(workers_become(0));
  const int before = late;
  // What it held is graded by another one, which takes its place at the same socket.
  worker_endpoint_ = "ipc://" + path("worker.sock").string();
  const auto left = status(job).at("done").get<std::uint64_t>();
  Process other = start_test_worker();
  ASSERT_TRUE(done_becomes(job, left + 200));
  EXPECT_EQ(stale, 0);
  dark = false;
  ASSERT_TRUE(workers_become(2));
  EXPECT_EQ(ctl({"wait", job, "--timeout", "100s"}).exit_code, 0);
  EXPECT_GT(late, before);
  EXPECT_GT(stale, 0) << "nobody was told that it is too late";
  EXPECT_TRUE(away.running());
  expect_right(job, input_);
  expect_no_charges();
}

// ---- The boot fence.

// The daemon's disk is put back to what it was, so job 2 is handed out a second time while a worker
// still holds results of the first one, under a lease of the same number.
TEST_F(LostMessagesTest, AWorkerOfTheLastBootCannotAnswerForAnIdThatIsUsedAgain) {
  std::atomic<bool> away{false};
  std::atomic<bool> hold{false};
  std::atomic<int> held{0};
  std::atomic<int> late{0};
  between_workers(
      [&](const proto::FromWorker& message) {
        if (message.has_results()) ++(hold ? held : late);
        return away || (hold && message.has_results()) ? Fate::kLose : Fate::kPass;
      },
      [&](const proto::ToWorker&) { return away ? Fate::kLose : Fate::kPass; });
  std::optional<Process> daemon(start_daemon(kQuick));
  Process worker = start_test_worker();
  ASSERT_EQ(submit_file(10, {"--wait"}), "1");
  kill_and_wait(*daemon);
  std::filesystem::copy(path("store"), path("kept"));

  daemon.emplace(start_daemon(kQuick));
  ASSERT_TRUE(workers_become(1));
  hold = true;  // the worker's results stay with it
  EXPECT_EQ(submit({"bishops", file("b.in", "8 6\n8 6\n8 6\n0 0\n")}), "2");
  ASSERT_TRUE(eventually([&] { return held > 0; }));
  away = true;
  kill_and_wait(*daemon);
  std::filesystem::remove_all(path("store"));
  std::filesystem::copy(path("kept"), path("store"));

  daemon.emplace(start_daemon(kQuick));
  const std::string input = "4 4\n2 1\n4 2\n0 0\n";
  EXPECT_EQ(submit({"bishops", file("c.in", input)}), "2");
  late = 0;
  hold = false;
  away = false;
  EXPECT_EQ(ctl({"wait", "2", "--timeout", "100s"}).exit_code, 0);
  EXPECT_GT(late, 0);
  expect_right("2", input);
}

// ---- Identity.

// Somebody repeats what another worker said when it came: the same identity, over a connection of
// its own.
class Impostor {
 public:
  explicit Impostor(const std::string& endpoint) : socket_(context_, zmq::socket_type::dealer) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.connect(endpoint);
  }
  void say(const std::string& message) { socket_.send(zmq::buffer(message)); }
  // Whether a message of this kind comes within a minute.
  bool hears(proto::ToWorker::BodyCase kind) {
    zmq::message_t frame;
    return eventually(
        [&] {
          while (socket_.recv(frame, zmq::recv_flags::dontwait)) {
            if (decoded<proto::ToWorker>(frame.to_string_view()).body_case() == kind) return true;
          }
          return false;
        },
        seconds(60));
  }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
};

TEST_F(LostMessagesTest, OfTwoConnectionsWithOneIdentityTheNewestWins) {
  std::mutex lock;
  std::string ready;
  proxy_.emplace(path("p.sock"), path("worker.sock"), [&](Way, int, std::string_view message) {
    const std::lock_guard guard(lock);
    if (ready.empty() && decoded<proto::FromWorker>(message).has_ready()) ready = message;
    return Fate::kPass;
  });
  const std::string behind_proxy = "ipc://" + path("p.sock").string();
  const std::string direct = std::exchange(worker_endpoint_, behind_proxy);
  Process daemon = start_daemon(kQuick);
  Process first = start_test_worker();
  const std::string job = submit_file(1'000, {"--solver", "slow", "--no-cache"});
  ASSERT_TRUE(done_becomes(job, 20));

  Impostor second(direct);
  {
    const std::lock_guard guard(lock);
    second.say(ready);
  }
  const auto ended = first.wait(seconds(60));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 4);
  EXPECT_THAT(ended->err, HasSubstr("another connection claims to be this worker"));
  EXPECT_TRUE(second.hears(proto::ToWorker::kDispatch)) << "it got the place of the first";
  EXPECT_EQ(workers().size(), 1U);
  // It never says anything again, so what it got goes to the next one.
  worker_endpoint_ = direct;
  Process third = start_test_worker();
  EXPECT_EQ(ctl({"wait", job, "--timeout", "100s"}).exit_code, 0);
  expect_right(job, input_);
}

TEST_F(LostMessagesTest, TwoProcessesMayBearOneName) {
  Process daemon = start_daemon(kQuick);
  const Arguments named = {"--slots", "1", "--name", "twin"};
  Process one = start_test_worker(named);
  Process two = start_test_worker(named);
  ASSERT_TRUE(workers_become(2));
  const std::string job = submit_file(500, {"--solver", "slow", "--no-cache"});
  EXPECT_EQ(ctl({"wait", job, "--timeout", "100s"}).exit_code, 0);
  for (const Json& row : workers()) {
    EXPECT_EQ(row.at("worker"), "twin");
    EXPECT_GT(row.at("cases_done"), 0);
  }
  expect_right(job, input_);
  expect_no_charges();
}

TEST_F(LostMessagesTest, AWorkerThatRestartsAtOnceUnderItsNameIsANewOne) {
  Process daemon = start_daemon(kQuick);
  const Arguments named = {"--slots", "2", "--name", "again"};
  const std::string job = submit_file(1'000, {"--solver", "slow", "--no-cache"});
  std::optional<Process> worker;
  for (int life = 0; life < 4; ++life) {
    const auto before = status(job).at("done").get<std::uint64_t>();
    worker.emplace(start_test_worker(named));
    ASSERT_TRUE(done_becomes(job, before + 30));
    if (life < 3) kill_and_wait(*worker);
  }
  EXPECT_EQ(ctl({"wait", job, "--timeout", "100s"}).exit_code, 0);
  ASSERT_TRUE(workers_become(1));
  EXPECT_EQ(number_in_store("SELECT count(*) FROM workers WHERE name = 'again'"), 4U);
  EXPECT_EQ(number_in_store("SELECT count(DISTINCT start_id) FROM workers"), 4U);
  expect_right(job, input_);
}

}  // namespace
}  // namespace puzzled::testing
