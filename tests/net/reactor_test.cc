#include "daemon/net/reactor.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/net/running_daemon.h"

namespace puzzled {
namespace {

using test::ScriptedClient;
using test::ScriptedWorker;

proto::ClientRequest seal(std::uint64_t id, const std::vector<proto::ClientRequest>& chunks) {
  proto::ClientRequest request;
  request.set_id(id);
  proto::SealJob& body = *request.mutable_seal_job();
  std::uint64_t digest = wire::kEmptyDigest;
  for (const auto& chunk : chunks) {
    digest = wire::fold_digest(digest, chunk.add_chunk().hash());
    body.set_request_id(chunk.add_chunk().request_id());
    body.set_case_count(body.case_count() + chunk.add_chunk().case_count());
    body.set_file_count(body.file_count() +
                        static_cast<std::uint64_t>(chunk.add_chunk().files_size()));
  }
  body.set_chunk_count(static_cast<std::uint32_t>(chunks.size()));
  body.set_digest(digest);
  return request;
}

proto::ClientRequest wait_job(std::uint64_t id, std::uint64_t job) {
  proto::ClientRequest request;
  request.set_id(id);
  request.mutable_wait_job()->set_job(job);
  return request;
}

proto::ClientRequest get_job(std::uint64_t id, std::uint64_t job) {
  proto::ClientRequest request;
  request.set_id(id);
  request.mutable_get_job()->set_job(job);
  return request;
}

class ReactorTest : public testing::Test {
 protected:
  void start(const test::DaemonSettings& settings = {}) {
    daemon_.reset();
    daemon_ = std::make_unique<test::RunningDaemon>(folder_.path(), settings);
  }
  // Submits `instances` in one chunk; the job's id.
  static std::uint64_t submit(ScriptedClient& client, const std::vector<std::string>& instances,
                              char request_id = 'a') {
    const auto opened = client.ask(test::open_job(1, request_id));
    EXPECT_TRUE(opened.has_job_opened()) << opened.ShortDebugString();
    const auto chunk = test::add_chunk(2, instances, request_id);
    EXPECT_TRUE(client.ask(chunk).has_chunk_accepted());
    EXPECT_TRUE(client.ask(seal(3, {chunk})).has_job_sealed());
    return opened.job_opened().job();
  }
  // Introduces itself; sends heartbeats only when a test does.
  proto::Welcome welcome(ScriptedWorker& worker, char start_id = 'w') {
    worker.send(test::frame(test::ready(start_id)));
    return worker.wait_for(proto::ToWorker::kWelcome).welcome();
  }

  test::Folder folder_;
  std::unique_ptr<test::RunningDaemon> daemon_;
};

TEST_F(ReactorTest, AJobFromSubmissionToResults) {
  start();
  ScriptedClient client(daemon_->client_endpoint());
  ScriptedWorker worker(daemon_->worker_endpoint());
  EXPECT_EQ(welcome(worker).boot(), daemon_->boot());
  const std::uint64_t job = submit(client, {"one", "two", "three"});
  client.send(test::frame(wait_job(9, job)));

  const auto dispatch = worker.wait_for(proto::ToWorker::kDispatch).dispatch();
  EXPECT_EQ(dispatch.boot(), daemon_->boot());
  EXPECT_EQ(dispatch.job(), job);
  EXPECT_EQ(dispatch.puzzle(), "bishops");
  worker.grade(dispatch);
  EXPECT_EQ(worker.wait_for(proto::ToWorker::kStored).stored().lease(), dispatch.lease());
  worker.grade_all(3 - dispatch.case_count());

  const auto done = client.reply();
  EXPECT_EQ(done.id(), 9U);
  EXPECT_EQ(done.job_done().job(), job);

  proto::ClientRequest list;
  list.set_id(10);
  list.mutable_list_results()->set_job(job);
  list.mutable_list_results()->set_with_answers(true);
  const auto page = client.ask(list).results_page();
  ASSERT_EQ(page.rows_size(), 3);
  EXPECT_EQ(page.rows(1).case_no(), 2U);
  EXPECT_EQ(page.rows(1).label(), "sub/grün0#2");
  EXPECT_EQ(page.rows(1).verdict(), proto::SOLVED);
  EXPECT_EQ(page.rows(1).answer(), "two");
  EXPECT_EQ(page.rows(1).worker(), "w1");
  EXPECT_EQ(page.rows(1).solver_version(), "7");

  const auto status = client.ask(get_job(11, job)).job_status();
  EXPECT_EQ(status.state(), proto::JOB_DONE);
  EXPECT_EQ(status.done_count(), 3U);
  ASSERT_EQ(status.verdicts_size(), 1);
  EXPECT_EQ(status.verdicts(0).count(), 3U);

  proto::ClientRequest show;
  show.set_id(12);
  show.mutable_get_case()->set_job(job);
  show.mutable_get_case()->set_case_no(3);
  const auto detail = client.ask(show).case_detail();
  EXPECT_EQ(detail.content().instance(), "three");
  EXPECT_EQ(detail.result().answer(), "three");
}

TEST_F(ReactorTest, RepeatedRequestsFindTheSameJob) {
  start();
  ScriptedClient client(daemon_->client_endpoint());
  const auto first = client.ask(test::open_job(1)).job_opened();
  const auto chunk = test::add_chunk(2, {"one"});
  EXPECT_TRUE(client.ask(chunk).has_chunk_accepted());
  EXPECT_TRUE(client.ask(chunk).has_chunk_accepted());
  ScriptedClient again(daemon_->client_endpoint());
  const auto second = again.ask(test::open_job(1)).job_opened();
  EXPECT_EQ(second.job(), first.job());
  EXPECT_EQ(second.next_chunk(), 1U);
  EXPECT_EQ(second.digest(), wire::fold_digest(wire::kEmptyDigest, chunk.add_chunk().hash()));
  auto other = test::open_job(3);
  other.mutable_open_job()->mutable_spec()->set_solver("brute-force");
  EXPECT_EQ(again.ask(other).error().code(), proto::CONFLICT);
  EXPECT_EQ(again.ask(test::add_chunk(4, {"else"})).error().code(), proto::CONFLICT);
  EXPECT_EQ(again.ask(test::add_chunk(5, {"x"}, 'a', 7)).error().code(), proto::OUT_OF_ORDER);
}

TEST_F(ReactorTest, UnknownJobsAndCasesHaveTheirCodes) {
  start();
  ScriptedClient client(daemon_->client_endpoint());
  EXPECT_EQ(client.ask(get_job(1, 77)).error().code(), proto::UNKNOWN_JOB);
  EXPECT_EQ(client.ask(wait_job(2, 77)).error().code(), proto::UNKNOWN_JOB);
  proto::ClientRequest request;
  request.set_id(3);
  request.mutable_cancel_job()->set_job(77);
  EXPECT_EQ(client.ask(request).error().code(), proto::UNKNOWN_JOB);
  const std::uint64_t job = submit(client, {"one"});
  request.mutable_get_case()->set_job(job);
  request.mutable_get_case()->set_case_no(2);
  EXPECT_EQ(client.ask(request).error().code(), proto::UNKNOWN_CASE);
  request.mutable_list_results()->set_job(1ULL << 40U);
  EXPECT_EQ(client.ask(request).error().code(), proto::UNKNOWN_JOB);
}

TEST_F(ReactorTest, JobsShowTheirState) {
  start();
  ScriptedClient client(daemon_->client_endpoint());
  const std::uint64_t uploading = client.ask(test::open_job(1, 'u')).job_opened().job();
  EXPECT_EQ(client.ask(get_job(2, uploading)).job_status().state(), proto::UPLOADING);
  const std::uint64_t job = submit(client, {"one"});
  const auto queued = client.ask(get_job(3, job)).job_status();
  EXPECT_EQ(queued.state(), proto::QUEUED);
  EXPECT_NE(queued.waiting_for(), "");
  ScriptedWorker worker(daemon_->worker_endpoint());
  welcome(worker);
  worker.wait_for(proto::ToWorker::kDispatch);
  const auto running = client.ask(get_job(4, job)).job_status();
  EXPECT_EQ(running.state(), proto::RUNNING);
  EXPECT_EQ(running.leased_count(), 1U);
  proto::ClientRequest request;
  request.set_id(5);
  request.mutable_list_workers();
  EXPECT_EQ(client.ask(request).workers_page().workers_size(), 1);
  request.mutable_cancel_job()->set_job(job);
  EXPECT_EQ(client.ask(request).job_cancelled().job(), job);
  worker.wait_for(proto::ToWorker::kRevoke);
  EXPECT_EQ(client.ask(get_job(6, job)).job_status().state(), proto::JOB_STATE_CANCELLED);
  request.mutable_list_jobs();
  const auto jobs = client.ask(request).jobs_page();
  ASSERT_EQ(jobs.jobs_size(), 2);
  EXPECT_EQ(jobs.jobs(0).job(), job);
}

TEST_F(ReactorTest, EveryPipelinedRequestGetsOneReply) {
  start();
  ScriptedClient client(daemon_->client_endpoint());
  constexpr std::uint64_t kRequests = 300;
  for (std::uint64_t id = 1; id <= kRequests; ++id) {
    proto::ClientRequest request = get_job(id, 1);
    if (id % 3 == 0) request.mutable_get_version();
    if (id % 3 == 1) request.mutable_wait_job()->set_job(5);  // unknown
    client.send(test::frame(request));
  }
  std::set<std::uint64_t> replied;
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    EXPECT_TRUE(replied.insert(client.reply().id()).second);
  }
  EXPECT_EQ(replied.size(), kRequests);
  EXPECT_TRUE(client.is_silent_for(50));
}

TEST_F(ReactorTest, MalformedFramesAreAnsweredAndDisturbNobody) {
  start();
  ScriptedClient client(daemon_->client_endpoint());
  ScriptedClient hostile(daemon_->client_endpoint());
  hostile.send("rubbish");
  EXPECT_EQ(hostile.reply().error().code(), proto::MALFORMED);
  hostile.send("");
  EXPECT_EQ(hostile.reply().error().code(), proto::MALFORMED);
  std::string other = test::frame(test::open_job(1));
  other[5] = 9;
  hostile.send(other);
  EXPECT_EQ(hostile.reply().error().code(), proto::UNSUPPORTED_VERSION);
  hostile.socket().send(zmq::buffer(test::frame(test::open_job(1))), zmq::send_flags::sndmore);
  hostile.send(test::frame(test::open_job(1)));
  EXPECT_EQ(hostile.reply().error().code(), proto::MALFORMED);
  // A worker at the clients' endpoint, a client at the workers'.
  hostile.send(test::frame(test::ready()));
  EXPECT_EQ(hostile.reply().error().code(), proto::MALFORMED);
  ScriptedWorker confused(daemon_->worker_endpoint());
  confused.send(test::frame(test::open_job(1)));
  EXPECT_NE(confused.wait_for(proto::ToWorker::kRefused).refused().message(), "");
  EXPECT_TRUE(client.ask(test::open_job(1)).has_job_opened());
}

TEST_F(ReactorTest, AWorkerThatSpeaksNonsenseLosesItsCases) {
  test::DaemonSettings settings;
  settings.broker.heartbeat_interval_ms = 100;
  settings.broker.liveness_ms = 500;
  start(settings);
  ScriptedClient client(daemon_->client_endpoint());
  submit(client, {"one"});
  ScriptedWorker bad(daemon_->worker_endpoint());
  welcome(bad, 'b');
  bad.wait_for(proto::ToWorker::kDispatch);
  bad.send("nonsense");
  bad.wait_for(proto::ToWorker::kRefused);
  ScriptedWorker good(daemon_->worker_endpoint());
  welcome(good, 'g');
  EXPECT_EQ(good.wait_for(proto::ToWorker::kDispatch).dispatch().case_count(), 1U);
}

TEST_F(ReactorTest, APeerWithARoutingIdOfItsOwnGetsNothing) {
  start();
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::routing_id, "me");
  socket.set(zmq::sockopt::linger, 0);
  socket.connect(daemon_->client_endpoint());
  socket.send(zmq::buffer(test::frame(test::open_job(1))), zmq::send_flags::none);
  ScriptedClient client(daemon_->client_endpoint());
  client.ask(get_job(1, 1));
  zmq::message_t frame;
  EXPECT_FALSE(socket.recv(frame, zmq::recv_flags::dontwait));
}

TEST_F(ReactorTest, AClientThatLeavesDisturbsNobody) {
  start();
  ScriptedClient client(daemon_->client_endpoint());
  ScriptedWorker worker(daemon_->worker_endpoint());
  welcome(worker);
  const std::uint64_t job = submit(client, {"one"});
  {
    ScriptedClient leaving(daemon_->client_endpoint());
    leaving.send(test::frame(wait_job(1, job)));
    leaving.ask(get_job(2, job));  // the wait has arrived before this
  }
  const auto dispatch = worker.wait_for(proto::ToWorker::kDispatch).dispatch();
  worker.grade(dispatch);
  EXPECT_TRUE(client.ask(wait_job(4, job)).has_job_done());
}

TEST_F(ReactorTest, TheJobSurvivesARestartAndOldResultsDoNot) {
  start();
  std::uint64_t job = 0;
  proto::Dispatch old;
  {
    ScriptedClient client(daemon_->client_endpoint());
    ScriptedWorker worker(daemon_->worker_endpoint());
    welcome(worker);
    job = submit(client, {"one", "two"});
    old = worker.wait_for(proto::ToWorker::kDispatch).dispatch();
  }
  start();
  ScriptedClient client(daemon_->client_endpoint());
  ScriptedWorker worker(daemon_->worker_endpoint());
  EXPECT_GT(welcome(worker).boot(), old.boot());
  const auto dispatch = worker.wait_for(proto::ToWorker::kDispatch).dispatch();
  worker.grade(old);
  EXPECT_EQ(worker.wait_for(proto::ToWorker::kStale).stale().boot(), old.boot());
  worker.grade(dispatch);
  worker.grade_all(2 - dispatch.case_count());
  EXPECT_TRUE(client.ask(wait_job(1, job)).has_job_done());
}

TEST_F(ReactorTest, DrainWaitsForWhatIsBeingSolved) {
  start();
  ScriptedClient client(daemon_->client_endpoint());
  ScriptedWorker worker(daemon_->worker_endpoint());
  welcome(worker);
  const std::uint64_t job = submit(client, {"one"});
  const auto dispatch = worker.wait_for(proto::ToWorker::kDispatch).dispatch();
  client.send(test::frame(wait_job(5, job)));
  daemon_->signal(SIGTERM);
  worker.wait_for(proto::ToWorker::kDrain);
  worker.grade(dispatch);
  worker.wait_for(proto::ToWorker::kStored);
  EXPECT_TRUE(client.reply().has_job_done());
  EXPECT_EQ(daemon_->wait_for_end(), 0);
}

TEST_F(ReactorTest, DrainEndsAtItsTimeout) {
  test::DaemonSettings settings;
  settings.net.drain_timeout_ms = 100;
  start(settings);
  ScriptedClient client(daemon_->client_endpoint());
  ScriptedWorker worker(daemon_->worker_endpoint());
  welcome(worker);
  submit(client, {"one"});
  worker.wait_for(proto::ToWorker::kDispatch);
  daemon_->signal(SIGINT);
  EXPECT_EQ(daemon_->wait_for_end(), 0);
}

TEST_F(ReactorTest, ASlowReaderIsQueuedForAndThenServed) {
  test::DaemonSettings settings;
  settings.net.socket_messages_max = 2;
  start(settings);
  ScriptedClient client(daemon_->client_endpoint());
  const std::vector<std::string> big(4, std::string(1U << 20U, 'x'));
  const std::uint64_t job = submit(client, big);
  proto::ClientRequest show;
  show.mutable_get_case()->set_job(job);
  show.mutable_get_case()->set_case_no(1);
  constexpr std::uint64_t kRequests = 40;  // 40 MiB of replies, none of them read yet
  for (std::uint64_t id = 1; id <= kRequests; ++id) {
    show.set_id(id);
    client.send(test::frame(show));
  }
  ScriptedClient other(daemon_->client_endpoint());
  EXPECT_TRUE(other.ask(get_job(1, job)).has_job_status());
  std::set<std::uint64_t> replied;
  for (std::uint64_t i = 0; i < kRequests; ++i) replied.insert(client.reply().id());
  EXPECT_EQ(replied.size(), kRequests);
}

TEST_F(ReactorTest, TooManyOpenRequestsAreRefused) {
  test::DaemonSettings settings;
  settings.net.open_requests_max = 3;
  start(settings);
  ScriptedClient client(daemon_->client_endpoint());
  const std::uint64_t job = submit(client, {"one"});
  for (std::uint64_t id = 11; id <= 13; ++id) client.send(test::frame(wait_job(id, job)));
  const auto reply = client.ask(wait_job(14, job));
  EXPECT_EQ(reply.id(), 14U);
  EXPECT_EQ(reply.error().code(), proto::UNAVAILABLE);
}

}  // namespace
}  // namespace puzzled
