// Slow clients, floods and a slow disk: each slows whoever causes it and says why, nothing grows
// without bound, and everybody else is served.
#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string_view>

#include "daemon/store/sqlite.h"
#include "tests/net/running_daemon.h"

namespace puzzled {
namespace {

using test::ScriptedClient;
using test::ScriptedWorker;

constexpr std::size_t kMiB = 1U << 20U;

proto::ClientRequest show(std::uint64_t id, std::uint64_t job) {
  proto::ClientRequest request;
  request.set_id(id);
  request.mutable_get_case()->set_job(job);
  request.mutable_get_case()->set_case_no(1);
  return request;
}

// Counts who is cut off, by what the daemon's log says: the connection itself stays, so whatever of
// a client arrives later makes it a new one.
class CutOffs : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::atomic<int> count{0};

 protected:
  void sink_it_(const spdlog::details::log_msg& line) override {
    const std::string_view text(line.payload.data(), line.payload.size());
    if (text.starts_with("a peer is cut off")) ++count;
  }
  void flush_() override {}
};

class PressureTest : public testing::Test {
 protected:
  PressureTest() {
    settings_.net.socket_messages_max = 1;  // little disappears in ZeroMQ
    spdlog::default_logger()->sinks().push_back(cut_offs_);
  }
  ~PressureTest() override {
    daemon_.reset();  // it logs
    spdlog::default_logger()->sinks().pop_back();
  }
  void start() {
    daemon_ = std::make_unique<test::RunningDaemon>(folder_.path(), settings_);
    watcher_ = std::make_unique<ScriptedClient>(daemon_->client_endpoint());
  }
  // A job of one case of a MiB: its id.
  std::uint64_t open_large_job() {
    const auto opened = watcher_->ask(test::open_job(1));
    EXPECT_TRUE(watcher_->ask(test::add_chunk(2, {std::string(kMiB, 'x')})).has_chunk_accepted());
    return opened.job_opened().job();
  }
  proto::Version version() {
    proto::ClientRequest request;
    request.set_id(++request_);
    request.mutable_get_version();
    return watcher_->ask(request).version();
  }
  template <class Condition>
  bool eventually(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  const std::shared_ptr<CutOffs> cut_offs_ = std::make_shared<CutOffs>();
  test::Folder folder_;
  test::DaemonSettings settings_;
  std::unique_ptr<test::RunningDaemon> daemon_;
  std::unique_ptr<ScriptedClient> watcher_;
  std::uint64_t request_ = 1'000;
};

TEST_F(PressureTest, AClientThatNeverReadsGetsNoFurtherAnswersMade) {
  settings_.net.unread_bytes_max = 2 * kMiB;
  settings_.net.reads_under_way_max = 2;
  start();
  const std::uint64_t job = open_large_job();
  ScriptedClient slow(daemon_->client_endpoint(), 1);
  constexpr std::uint64_t kRequests = 60;
  for (std::uint64_t id = 1; id <= kRequests; ++id) slow.send(test::frame(show(id, job)));
  ASSERT_TRUE(eventually([&] { return version().load().unsent_bytes() > 2 * kMiB; }));
  for (int i = 0; i < 20; ++i) {
    const proto::Load load = version().load();
    EXPECT_LE(load.unsent_bytes(), 5 * kMiB) << "its limit, and what was under way";
    EXPECT_GT(load.waiting_queries(), 0U);
  }
  // Once it reads, it gets everything.
  std::set<std::uint64_t> replied;
  for (std::uint64_t i = 0; i < kRequests; ++i) replied.insert(slow.reply().id());
  EXPECT_EQ(replied.size(), kRequests);
}

TEST_F(PressureTest, AClientThatReadsNothingForLongIsForgotten) {
  settings_.net.client_idle_ms = 300;
  start();
  const std::uint64_t job = open_large_job();
  ScriptedClient slow(daemon_->client_endpoint(), 1);
  for (std::uint64_t id = 1; id <= 100; ++id) slow.send(test::frame(show(id, job)));
  ASSERT_TRUE(eventually([&] { return version().load().waiting_queries() > 0; }));
  EXPECT_TRUE(eventually([&] {
    const proto::Load load = version().load();
    return load.waiting_queries() == 0 && load.unsent_bytes() == 0;
  }));
}

TEST_F(PressureTest, OverItsLimitAConnectionIsCutOff) {
  settings_.net.unread_bytes_max = 1'000 * kMiB;  // so that only the other limit holds
  settings_.net.peer_queue_bytes_max = 3 * kMiB;
  start();
  const std::uint64_t job = open_large_job();
  auto slow = std::make_unique<ScriptedClient>(daemon_->client_endpoint(), 1);
  for (std::uint64_t id = 1; id <= 100; ++id) slow->send(test::frame(show(id, job)));
  EXPECT_TRUE(eventually([&] {
    EXPECT_LE(version().load().unsent_bytes(), 3 * kMiB);
    return cut_offs_->count > 0;
  }));
  slow.reset();
  EXPECT_TRUE(eventually([&] {
    const proto::Load load = version().load();
    return load.waiting_queries() == 0 && load.unsent_bytes() == 0;
  }));
}

TEST_F(PressureTest, OverTheLimitOfAllTheSlowestIsCutOff) {
  settings_.net.unread_bytes_max = 1'000 * kMiB;
  settings_.net.endpoint_queue_bytes_max = 4 * kMiB;
  start();
  const std::uint64_t job = open_large_job();
  ScriptedClient slow(daemon_->client_endpoint(), 1);
  auto slower = std::make_unique<ScriptedClient>(daemon_->client_endpoint(), 1);
  slow.send(test::frame(show(1, job)));
  for (std::uint64_t id = 1; id <= 100; ++id) slower->send(test::frame(show(id, job)));
  EXPECT_TRUE(eventually([&] {
    EXPECT_LE(version().load().unsent_bytes(), 5 * kMiB);
    return cut_offs_->count > 0;
  }));
  slower.reset();
  EXPECT_TRUE(eventually([&] {
    const proto::Load load = version().load();
    return load.waiting_queries() == 0 && load.unsent_bytes() <= kMiB + 1'000;
  }));
  EXPECT_EQ(slow.reply().id(), 1U) << "who is slow but little behind is served";
}

TEST_F(PressureTest, AFloodOfQueriesIsRefusedBeyondItsLimitAndOthersAreServed) {
  settings_.net.client_reads_max = 4;
  settings_.net.reads_under_way_max = 1;
  settings_.net.socket_messages_max = 1'000;
  start();
  const std::uint64_t job = open_large_job();
  ScriptedClient flood(daemon_->client_endpoint());
  constexpr std::uint64_t kRequests = 300;
  for (std::uint64_t id = 1; id <= kRequests; ++id) flood.send(test::frame(show(id, job)));
  EXPECT_TRUE(watcher_->ask(show(1, job)).has_case_detail());
  std::uint64_t refused = 0;
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    const auto reply = flood.reply();
    if (!reply.has_error()) continue;
    EXPECT_EQ(reply.error().code(), proto::UNAVAILABLE);
    EXPECT_NE(reply.error().message().find("queries"), std::string::npos);
    ++refused;
  }
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, kRequests);
}

TEST_F(PressureTest, OneConnectionTooManyIsTold) {
  settings_.net.connections_max = 2;
  start();
  EXPECT_EQ(version().load().clients(), 1U);
  ScriptedClient second(daemon_->client_endpoint());
  EXPECT_TRUE(second.ask(test::open_job(1)).has_job_opened());
  ScriptedClient third(daemon_->client_endpoint());
  EXPECT_EQ(third.ask(test::open_job(1)).error().code(), proto::UNAVAILABLE);
  EXPECT_EQ(version().load().clients(), 2U);
}

// A foreign process holds the lock; the daemon waits for it without end, as for a disk that hangs.
TEST_F(PressureTest, ASlowDiskIsSaidAndHeartbeatsGoOn) {
  settings_.store.retry_ms = 600'000;
  settings_.net.store_queue_bytes_max = 256;
  settings_.broker.heartbeat_interval_ms = 100;
  settings_.broker.liveness_ms = 2'000;
  start();
  ScriptedWorker worker(daemon_->worker_endpoint());
  worker.send(test::frame(test::ready()));
  worker.wait_for(proto::ToWorker::kWelcome);
  ASSERT_TRUE(watcher_->ask(test::open_job(1)).has_job_opened());

  sqlite::Connection foreign(folder_.path() + "/puzzled.db", sqlite::Connection::Mode::kReadWrite);
  foreign.exec("BEGIN IMMEDIATE");
  ScriptedClient client(daemon_->client_endpoint());
  client.send(test::frame(test::add_chunk(2, {std::string(1'000, 'x')})));
  ASSERT_TRUE(eventually([&] {
    worker.heartbeat();
    worker.wait_for(proto::ToWorker::kHeartbeat);
    return !version().intake_paused().empty();
  }));
  EXPECT_NE(version().intake_paused().find("the disk is slow"), std::string::npos);
  EXPECT_GT(version().load().store_queue_bytes(), 256U);
  const auto refused = watcher_->ask(test::open_job(3, 'b'));
  EXPECT_EQ(refused.error().code(), proto::UNAVAILABLE);
  EXPECT_NE(refused.error().message().find("the disk is slow"), std::string::npos);
  EXPECT_TRUE(client.is_silent_for(0)) << "accepted before it is on the disk";

  foreign.exec("ROLLBACK");
  EXPECT_TRUE(client.reply().has_chunk_accepted());
  EXPECT_TRUE(eventually([&] { return version().intake_paused().empty(); }));
  EXPECT_TRUE(watcher_->ask(test::open_job(4, 'b')).has_job_opened());
}

}  // namespace
}  // namespace puzzled
