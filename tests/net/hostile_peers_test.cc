// Peers that do not keep to the protocol, at the sockets of a running daemon: each gets what the
// protocol says, and nobody else notices.
#include <gtest/gtest.h>

#include "daemon/net/fields.h"
#include "tests/net/raw_connection.h"
#include "tests/net/running_daemon.h"

namespace puzzled {
namespace {

using test::RawConnection;
using test::ScriptedClient;
using test::ScriptedWorker;

class HostilePeers : public testing::Test {
 protected:
  void start(const test::DaemonSettings& settings = {}) {
    daemon_ = std::make_unique<test::RunningDaemon>(folder_.path(), settings);
  }
  static proto::ClientRequest seal(char request_id, const proto::ClientRequest& chunk) {
    proto::ClientRequest request;
    request.set_id(3);
    proto::SealJob& body = *request.mutable_seal_job();
    body.set_request_id(test::bytes16(request_id));
    body.set_chunk_count(1);
    body.set_case_count(chunk.add_chunk().case_count());
    body.set_file_count(1);
    body.set_digest(wire::fold_digest(wire::kEmptyDigest, chunk.add_chunk().hash()));
    return request;
  }
  static std::uint64_t submit(ScriptedClient& client, const std::vector<std::string>& instances,
                              char request_id) {
    const std::uint64_t job = client.ask(test::open_job(1, request_id)).job_opened().job();
    const auto chunk = test::add_chunk(2, instances, request_id);
    EXPECT_TRUE(client.ask(chunk).has_chunk_accepted());
    EXPECT_TRUE(client.ask(seal(request_id, chunk)).has_job_sealed());
    return job;
  }
  static proto::ClientRequest wait_job(std::uint64_t id, std::uint64_t job) {
    proto::ClientRequest request;
    request.set_id(id);
    request.mutable_wait_job()->set_job(job);
    return request;
  }
  static proto::ClientRequest get_job(std::uint64_t id, std::uint64_t job) {
    proto::ClientRequest request;
    request.set_id(id);
    request.mutable_get_job()->set_job(job);
    return request;
  }
  // A job goes through from its submission to its end.
  static void expect_service(const std::string& client_endpoint, const std::string& worker_endpoint,
                             char id) {
    ScriptedClient client(client_endpoint);
    ScriptedWorker worker(worker_endpoint);
    worker.send(test::frame(test::ready(id)));
    worker.wait_for(proto::ToWorker::kWelcome);
    const std::uint64_t job = submit(client, {"one", "two"}, id);
    worker.grade_all(2);
    EXPECT_TRUE(client.ask(wait_job(9, job)).has_job_done());
    const auto status = client.ask(get_job(10, job)).job_status();
    EXPECT_EQ(status.done_count(), 2U);
    leave(worker);
  }
  // So that nothing more is dispatched to it.
  static void leave(ScriptedWorker& worker) {
    proto::FromWorker goodbye;
    goodbye.mutable_goodbye()->set_reason("done");
    worker.send(test::frame(goodbye));
  }
  void expect_service(char id) {
    expect_service(daemon_->client_endpoint(), daemon_->worker_endpoint(), id);
  }

  test::Folder folder_;
  std::unique_ptr<test::RunningDaemon> daemon_;
};

TEST_F(HostilePeers, RawBytesOnATcpPortDisturbNobody) {
  start();
  std::vector<std::unique_ptr<RawConnection>> open;
  for (const std::string& bytes : test::garbage(test::seed())) {
    for (const std::string& endpoint : {daemon_->client_tcp(), daemon_->worker_tcp()}) {
      RawConnection(endpoint).send(bytes);  // and hangs up
      open.push_back(std::make_unique<RawConnection>(endpoint));
      open.back()->send(bytes);
    }
  }
  expect_service('a');
  expect_service(daemon_->client_tcp(), daemon_->worker_tcp(), 'b');
}

TEST_F(HostilePeers, EachEndpointRefusesTheOthersFrames) {
  start();
  const std::vector<std::string> of_clients = {test::frame(test::open_job(1)),
                                               test::frame(test::add_chunk(2, {"x"})),
                                               test::frame(wait_job(3, 1))};
  proto::FromWorker heartbeat;
  heartbeat.mutable_heartbeat()->set_boot(1);
  const std::vector<std::string> of_workers = {test::frame(test::ready()), test::frame(heartbeat),
                                               test::frame(test::results({}, 1, 1, 1))};
  ScriptedClient client(daemon_->client_endpoint());
  for (const std::string& frame : of_workers) {
    client.send(frame);
    EXPECT_EQ(client.reply().error().code(), proto::MALFORMED);
  }
  ScriptedWorker worker(daemon_->worker_endpoint());
  for (const std::string& frame : of_clients) {
    worker.send(frame);
    EXPECT_NE(worker.wait_for(proto::ToWorker::kRefused).refused().message(), "");
  }
  // The broker's own frames come back to it.
  proto::ClientReply reply;
  reply.mutable_job_done()->set_job(1);
  client.send(wire::encode(wire::Role::kBroker, reply));
  EXPECT_EQ(client.reply().error().code(), proto::MALFORMED);
  expect_service('a');
}

TEST_F(HostilePeers, CutOffFramesAreAnsweredEachOnce) {
  start();
  ScriptedClient client(daemon_->client_endpoint());
  const std::string chunk = test::frame(test::add_chunk(2, {"one", "two"}));
  for (std::size_t size = 0; size < chunk.size(); ++size) {
    client.send(chunk.substr(0, size));
    EXPECT_EQ(client.reply().error().code(), proto::MALFORMED) << size;
  }
  ScriptedWorker worker(daemon_->worker_endpoint());
  const std::string ready = test::frame(test::ready());
  for (std::size_t size = 0; size < ready.size(); ++size) {
    worker.send(ready.substr(0, size));
    worker.wait_for(proto::ToWorker::kRefused);
  }
  EXPECT_TRUE(client.is_silent_for(20));
  expect_service('a');
}

TEST_F(HostilePeers, OversizedFramesAreRefusedOrCutOff) {
  test::DaemonSettings settings;
  settings.net.codec.message_bytes_max = 1U << 16U;
  settings.net.codec.case_bytes_max = 1'000;
  start(settings);
  ScriptedClient client(daemon_->client_endpoint());
  client.ask(test::open_job(1));
  EXPECT_EQ(client.ask(test::add_chunk(2, {std::string(2'000, 'x')})).error().code(),
            proto::TOO_LARGE);
  EXPECT_EQ(client.ask(test::add_chunk(3, {std::string(1U << 17U, 'x')})).error().code(),
            proto::TOO_LARGE);
  // More than any peer may send ends the connection.
  ScriptedClient huge(daemon_->client_endpoint());
  huge.send(std::string(wire::kMessageBytesMax + (1U << 20U), 'x'));
  ScriptedWorker huge_worker(daemon_->worker_endpoint());
  huge_worker.send(std::string(wire::kMessageBytesMax + (1U << 20U), 'x'));
  expect_service('b');
  EXPECT_TRUE(huge.is_silent_for(20));
}

TEST_F(HostilePeers, ReplayedFramesChangeNothing) {
  start();
  ScriptedClient client(daemon_->client_endpoint());
  ScriptedWorker worker(daemon_->worker_endpoint());
  worker.send(test::frame(test::ready()));
  worker.wait_for(proto::ToWorker::kWelcome);
  const std::uint64_t job = submit(client, {"one", "two"}, 'a');
  const auto dispatch = worker.wait_for(proto::ToWorker::kDispatch).dispatch();
  worker.grade(dispatch);
  worker.wait_for(proto::ToWorker::kStored);
  worker.grade(dispatch);  // again: the lease is closed
  worker.wait_for(proto::ToWorker::kStale);
  worker.grade_all(2 - dispatch.case_count());
  EXPECT_TRUE(client.ask(wait_job(4, job)).has_job_done());
  // The whole submission once more, by somebody else.
  ScriptedClient other(daemon_->client_endpoint());
  EXPECT_EQ(submit(other, {"one", "two"}, 'a'), job);
  const auto status = other.ask(get_job(5, job)).job_status();
  EXPECT_EQ(status.case_count(), 2U);
  EXPECT_EQ(status.done_count(), 2U);
  EXPECT_EQ(status.state(), proto::JOB_DONE);
}

TEST_F(HostilePeers, EveryRequestOfOneIdGetsItsReply) {
  start();
  ScriptedClient client(daemon_->client_endpoint());
  const std::uint64_t job = submit(client, {"one"}, 'a');
  for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{7}, UINT64_MAX}) {
    constexpr int kRounds = 20;
    for (int i = 0; i < kRounds; ++i) {
      client.send(test::frame(get_job(id, job)));
      client.send(test::frame(wait_job(id, 77)));
      client.send(test::frame(wait_job(id, job)));
    }
    int errors = 0;
    for (int i = 0; i < 2 * kRounds; ++i) {
      const proto::ClientReply reply = client.reply();
      EXPECT_EQ(reply.id(), id);
      errors += reply.has_error() ? 1 : 0;
    }
    EXPECT_EQ(errors, kRounds);
  }
  EXPECT_TRUE(client.is_silent_for(20));
  ScriptedWorker worker(daemon_->worker_endpoint());
  worker.send(test::frame(test::ready()));
  worker.grade_all(1);
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(client.reply().has_job_done());
}

TEST_F(HostilePeers, AClientThatNeverReadsIsCutOff) {
  test::DaemonSettings settings;
  settings.net.socket_messages_max = 1;
  settings.net.peer_queue_bytes_max = 1U << 20U;
  settings.broker.heartbeat_interval_ms = 100;
  settings.broker.liveness_ms = 5'000;
  start(settings);
  ScriptedClient client(daemon_->client_endpoint());
  const std::uint64_t job = submit(client, {std::string(1U << 18U, 'x')}, 'a');
  ScriptedClient deaf(daemon_->client_endpoint(), 1);
  proto::ClientRequest show;
  show.mutable_get_case()->set_job(job);
  show.mutable_get_case()->set_case_no(1);
  for (std::uint64_t id = 1; id <= 200; ++id) {  // 50 MiB of replies
    show.set_id(id);
    deaf.socket().send(zmq::buffer(test::frame(show)), zmq::send_flags::dontwait);
  }
  ScriptedWorker worker(daemon_->worker_endpoint());
  worker.send(test::frame(test::ready()));
  worker.wait_for(proto::ToWorker::kWelcome);
  worker.grade_all(1);
  EXPECT_TRUE(client.ask(wait_job(5, job)).has_job_done());
  leave(worker);
  expect_service('b');
}

TEST_F(HostilePeers, WorkersThatLieChangeNoResult) {
  start();
  ScriptedClient client(daemon_->client_endpoint());
  ScriptedWorker liar(daemon_->worker_endpoint());
  liar.send(test::frame(test::ready('l')));
  liar.wait_for(proto::ToWorker::kWelcome);
  const std::uint64_t job = submit(client, {"one", "two"}, 'a');
  const auto dispatch = liar.wait_for(proto::ToWorker::kDispatch).dispatch();
  proto::CaseResultList list;
  list.add_results()->set_verdict(proto::SOLVED);
  // Of another boot, lease, attempt; by somebody who never said Ready.
  for (const auto& [boot, lease, attempt] :
       {std::tuple{dispatch.boot() + 1, dispatch.lease(), dispatch.attempt()},
        std::tuple{dispatch.boot(), dispatch.lease() + 1'000, dispatch.attempt()},
        std::tuple{dispatch.boot(), dispatch.lease(), dispatch.attempt() + 1}}) {
    liar.send(test::frame(test::results(list, boot, lease, attempt)));
    liar.wait_for(proto::ToWorker::kStale);
  }
  ScriptedWorker stranger(daemon_->worker_endpoint());
  stranger.send(
      test::frame(test::results(list, dispatch.boot(), dispatch.lease(), dispatch.attempt())));
  stranger.wait_for(proto::ToWorker::kStale);
  EXPECT_EQ(client.ask(get_job(4, job)).job_status().done_count(), 0U);
  // Positions that the lease does not have, one twice, a range past the end.
  list.mutable_results(0)->set_position(4'000'000'000U);
  liar.send(
      test::frame(test::results(list, dispatch.boot(), dispatch.lease(), dispatch.attempt())));
  proto::FromWorker back;
  back.mutable_return_cases()->set_boot(dispatch.boot());
  back.mutable_return_cases()->set_lease(dispatch.lease());
  back.mutable_return_cases()->set_attempt(dispatch.attempt());
  back.mutable_return_cases()->add_positions()->set_count(UINT32_MAX);
  liar.send(test::frame(back));
  // Takes the liar's place: whatever became of it, each case gets its one result.
  {
    ScriptedWorker good(daemon_->worker_endpoint());
    good.send(test::frame(test::ready('g')));
    good.wait_for(proto::ToWorker::kWelcome);
    leave(liar);
    good.grade_all(2);
  }
  EXPECT_TRUE(client.ask(wait_job(5, job)).has_job_done());
  EXPECT_EQ(client.ask(get_job(6, job)).job_status().done_count(), 2U);
}

}  // namespace
}  // namespace puzzled
