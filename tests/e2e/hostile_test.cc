// Bytes and names that mean harm, at real programs: what is wrong gets a coded reply or a closed
// connection, a job beside it goes on, and nothing reaches a terminal, a log or a path.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "proto/base/printable.h"
#include "tests/e2e/fixture.h"
#include "tests/net/peers.h"
#include "tests/net/raw_connection.h"

namespace puzzled::testing {
namespace {

using namespace std::string_literals;
using std::chrono::seconds;
using test::RawConnection;
using test::ScriptedClient;
using test::ScriptedWorker;
using ::testing::HasSubstr;

// A port that was free a moment ago, and so was the next one, which the workers get.
int free_port() {
  for (int tries = 0; tries < 100; ++tries) {
    zmq::context_t context;
    zmq::socket_t first(context, zmq::socket_type::router);
    zmq::socket_t second(context, zmq::socket_type::router);
    first.bind("tcp://127.0.0.1:*");
    const std::string endpoint = first.get(zmq::sockopt::last_endpoint);
    const int port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
    try {
      second.bind("tcp://127.0.0.1:" + std::to_string(port + 1));
      return port;
    } catch (const zmq::error_t&) {
    }
  }
  throw std::runtime_error("no free ports");
}

// The most memory that a process has had so far.
std::uint64_t peak_bytes(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
}

// Made by hand: as an object it would take the memory here.
std::string ready_with_empty_offers(std::size_t count) {
  proto::FromWorker one;
  one.mutable_ready()->add_offers();
  const std::string offer = one.ready().SerializeAsString();
  std::string ready;
  for (std::size_t i = 0; i < count; ++i) ready += offer;
  // A case of a case list and a `Ready` of an envelope are both field 1.
  std::string envelope;
  wire::append_case(ready, envelope);
  std::string frame = "PZLDw\x01\x00\x00"s;
  for (unsigned i = 0; i < 4; ++i) frame += static_cast<char>(envelope.size() >> (8 * i));
  return frame + envelope;
}

void expect_safe(const std::string& text, const std::string& where) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(is_printable(line)) << where << ": " << ::testing::PrintToString(line);
  }
}

class HostilePeersTest : public EndToEnd, public ::testing::WithParamInterface<bool> {
 protected:
  HostilePeersTest() {
    if (!GetParam()) return;
    const int port = free_port();
    endpoint_ = "tcp://127.0.0.1:" + std::to_string(port);
    worker_endpoint_ = "tcp://127.0.0.1:" + std::to_string(port + 1);
    environment_["PUZZLED_ENDPOINT"] = endpoint_;
  }
  // A job from its submission to its end, over the same endpoints.
  void expect_service() {
    const std::string job = submit({"bishops", file("a.in", bishops_file(500)), "--wait"});
    EXPECT_EQ(count(results(job), "SOLVED"), 500U);
  }
};

TEST_P(HostilePeersTest, GarbageAndHalfOpenConnectionsDisturbNobody) {
  Process daemon = start_daemon({"--workers", "1"});
  Process beside =
      start({kCtl, "submit", "bishops", "--wait", file("many.in", bishops_file(50'000))});
  std::vector<std::unique_ptr<RawConnection>> half_open;
  for (const std::string& bytes : test::garbage(test::seed())) {
    for (const std::string& endpoint : {endpoint_, worker_endpoint_}) {
      RawConnection(endpoint).send(bytes);  // and hangs up
      half_open.push_back(std::make_unique<RawConnection>(endpoint));
      half_open.back()->send(bytes);
    }
  }
  const auto ended = beside.wait(seconds(120));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 0) << ended->err;
  expect_service();
  EXPECT_TRUE(daemon.running());
}

TEST_P(HostilePeersTest, UnknownTagsAndVersionsAreToldSo) {
  Process daemon = start_daemon({"--workers", "1"});
  const std::string request = test::frame(test::open_job(1));
  const std::string ready = test::frame(test::ready());
  const auto with = [](std::string frame, std::size_t at, char byte) {
    frame[at] = byte;
    return frame;
  };
  ScriptedClient client(endpoint_);
  const std::pair<std::string, proto::ErrorCode> rows[] = {
      {with(request, 0, 'Q'), proto::MALFORMED},
      {with(request, 4, 'x'), proto::MALFORMED},
      {with(request, 5, 9), proto::UNSUPPORTED_VERSION},
      {with(request, 6, wire::kMinor + 2), proto::UNSUPPORTED_VERSION},
      {with(request, 8, 1), proto::MALFORMED},
      {request.substr(0, 5), proto::MALFORMED},
      {ready, proto::MALFORMED},
      {"", proto::MALFORMED},
  };
  for (const auto& [frame, code] : rows) {
    client.send(frame);
    const proto::Error error = client.reply().error();
    EXPECT_EQ(error.code(), code) << ::testing::PrintToString(frame);
    EXPECT_TRUE(!error.message().empty() && is_printable(error.message()));
  }
  ScriptedWorker worker(worker_endpoint_);
  for (const std::string& frame :
       {with(ready, 0, 'Q'), with(ready, 4, 'b'), with(ready, 5, 0), request, ""s}) {
    worker.send(frame);
    const auto refused = worker.wait_for(proto::ToWorker::kRefused).refused();
    EXPECT_TRUE(!refused.message().empty() && is_printable(refused.message()));
  }
  // Of the next minor version: understood.
  client.send(with(request, 6, wire::kMinor + 1));
  EXPECT_TRUE(client.reply().has_job_opened());
  expect_service();
}

TEST_P(HostilePeersTest, LargeMessagesTakeNoMoreMemoryThanTheyMay) {
  Process daemon = start_daemon({"--workers", "1"});
  expect_service();
  [[maybe_unused]] const std::uint64_t before = peak_bytes(daemon.pid());
  // Over the limit of any message: the connection is cut. At the limit: a coded reply.
  ScriptedClient huge(endpoint_);
  huge.send(std::string(wire::kMessageBytesMax + (1U << 20U), 'x'));
  ScriptedClient client(endpoint_);
  client.send(std::string(wire::kMessageBytesMax, 'x'));
  EXPECT_EQ(client.reply().error().code(), proto::MALFORMED);
  // Few bytes on the wire that would be many objects in memory.
  constexpr std::size_t kMany = 8'000'000;
  ScriptedWorker worker(worker_endpoint_);
  worker.send(ready_with_empty_offers(kMany));
  worker.wait_for(proto::ToWorker::kRefused);
  proto::FromWorker results;
  for (std::size_t i = 0; i < kMany; ++i) {
    results.mutable_results()->mutable_results()->append("\x0a\x00", 2);
  }
  worker.send(test::frame(results));
  worker.wait_for(proto::ToWorker::kRefused);
  expect_service();
  EXPECT_TRUE(huge.is_silent_for(20));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(peak_bytes(daemon.pid()) - before, 256U << 20U);
#endif
}

TEST_P(HostilePeersTest, ReplayedFramesOfAnotherClientChangeNothing) {
  Process daemon = start_daemon({"--workers", "0"});
  ScriptedClient client(endpoint_);
  const proto::ClientRequest open = test::open_job(1);
  const proto::ClientRequest chunk = test::add_chunk(2, {"one", "two"});
  proto::ClientRequest seal;
  seal.set_id(3);
  seal.mutable_seal_job()->set_request_id(test::bytes16('a'));
  seal.mutable_seal_job()->set_chunk_count(1);
  seal.mutable_seal_job()->set_case_count(2);
  seal.mutable_seal_job()->set_file_count(1);
  seal.mutable_seal_job()->set_digest(
      wire::fold_digest(wire::kEmptyDigest, chunk.add_chunk().hash()));
  const std::uint64_t job = client.ask(open).job_opened().job();
  EXPECT_TRUE(client.ask(chunk).has_chunk_accepted());
  EXPECT_TRUE(client.ask(seal).has_job_sealed());

  ScriptedClient other(endpoint_);
  EXPECT_EQ(other.ask(open).job_opened().job(), job);
  EXPECT_TRUE(other.ask(chunk).has_chunk_accepted());
  EXPECT_TRUE(other.ask(seal).has_job_sealed());
  // Other content under the same number, though the job is sealed.
  EXPECT_EQ(other.ask(test::add_chunk(4, {"one", "2"})).error().code(), proto::CONFLICT);
  EXPECT_EQ(other.ask(test::add_chunk(5, {"x"}, 'a', 1, 3)).error().code(), proto::JOB_SEALED);
  EXPECT_EQ(status(std::to_string(job)).at("cases"), 2);
}

TEST_P(HostilePeersTest, AFloodOfRefusalsIsNoFloodOfLines) {
  Process daemon = start_daemon({"--workers", "1"});
  ScriptedWorker worker(worker_endpoint_);
  ScriptedClient client(endpoint_);
  constexpr int kMany = 3'000;
  for (int i = 0; i < kMany; ++i) {
    worker.send("no frame");
    worker.wait_for(proto::ToWorker::kRefused);
    client.send("no frame");
    client.reply();
  }
  expect_service();
  EXPECT_TRUE(eventually([&] {
    return daemon.err().find("more messages of") != std::string::npos;
  })) << daemon.err();
  const std::string log = daemon.err();
  std::istringstream lines(log);
  int refusals = 0;
  for (std::string line; std::getline(lines, line);) {
    refusals += line.find("refused") == std::string::npos ? 0 : 1;
  }
  EXPECT_LT(refusals, kMany / 5);
  EXPECT_THAT(log, HasSubstr("refused a message of clients: "));
  EXPECT_THAT(log, HasSubstr("refused a message of workers: "));
}

INSTANTIATE_TEST_SUITE_P(Endpoints, HostilePeersTest, ::testing::Bool(),
                         [](const auto& tested) { return tested.param ? "tcp" : "ipc"; });

// ---- Names.

class HostileNamesTest : public EndToEnd, public ::testing::WithParamInterface<const char*> {
 protected:
  Process start_logging_daemon() {
    return start_daemon({"--workers", "1", "--log-format", GetParam(), "--log-level", "debug"});
  }
  void expect_safe_log(const Process& daemon) {
    const std::string log = daemon.err();
    expect_safe(log, "the daemon's log");
    if (GetParam() != "json"s) return;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) EXPECT_TRUE(Json::accept(line)) << line;
  }
};

// What a terminal would obey, no UTF-8, longer than anything may be. An argument holds no NUL.
const std::vector<std::string> kUnfit = {"\x1b[2J\x1b]0;x\x07",
                                         "a\rb",
                                         "two\nlines",
                                         "\xc2\x9b"
                                         "31m",
                                         "\xe2\x80\xae"
                                         "fdp",
                                         "raw\xff\xfe",
                                         std::string(10'000, 'x')};

TEST_P(HostileNamesTest, WhatATerminalWouldObeyIsRefusedAndShownAsBytes) {
  Process daemon = start_logging_daemon();
  const std::string input = file("a.in", bishops_file(5));
  const std::string good = submit({"bishops", input, "--wait"});
  for (const std::string& text : kUnfit) {
    for (const Arguments& arguments :
         {Arguments{"submit", "bishops", input, "--name", text},
          Arguments{"cancel", good, "--reason", text}, Arguments{"results", good, "--label", text},
          Arguments{"submit", text, input}, Arguments{"submit", "bishops", input, "--solver", text},
          Arguments{"solve", "bishops", text}, Arguments{"submit", "bishops", text}}) {
      const Ended ended = ctl(arguments);
      EXPECT_NE(ended.exit_code, 0) << ::testing::PrintToString(arguments);
      EXPECT_EQ(ended.signal, 0);
      expect_safe(ended.out, "standard output");
      expect_safe(ended.err, "standard error");
    }
    auto worker =
        start({kWorker, "--endpoint", worker_endpoint_, "--name", text, "--log-format", GetParam()})
            .wait(seconds(60));
    ASSERT_TRUE(worker.has_value()) << "a worker with an unfit name goes on";
    EXPECT_NE(worker->exit_code, 0);
    EXPECT_FALSE(worker->err.empty());
    expect_safe(worker->err, "the worker's log");
  }
  EXPECT_EQ(ctl({"wait", submit({"bishops", input})}).exit_code, 0);
  expect_safe_log(daemon);
}

// The daemon's own words to a worker, and to a client, might be another's.
TEST_P(HostileNamesTest, AWorkerLogsARefusalAsText) {
  const std::string text = "\x1b[2J\r\n\xc2\x9b\xe2\x80\xae\xff{\"level\":\"info\"}";
  zmq::context_t context;
  zmq::socket_t broker(context, zmq::socket_type::router);
  broker.set(zmq::sockopt::linger, 0);
  broker.set(zmq::sockopt::rcvtimeo, 60'000);
  broker.bind(worker_endpoint_);
  Process worker = start({kWorker, "--endpoint", worker_endpoint_, "--log-format", GetParam()});
  zmq::message_t peer;
  zmq::message_t ready;
  ASSERT_TRUE(broker.recv(peer) && broker.recv(ready));
  proto::ToWorker refusal;
  refusal.mutable_refused()->set_message(text);
  const std::string frame = wire::encode(wire::Role::kBroker, refusal);
  broker.send(peer, zmq::send_flags::sndmore);
  broker.send(zmq::buffer(frame), zmq::send_flags::none);
  const auto ended = worker.wait(seconds(60));
  ASSERT_TRUE(ended.has_value());
  EXPECT_NE(ended->exit_code, 0);
  EXPECT_THAT(ended->err, HasSubstr("x1b[2J"));
  expect_safe(ended->err, "the worker's log");
}

// Printable names that would be harmful if they were taken for more than text.
TEST_P(HostileNamesTest, NamesAreNothingButText) {
  // The worker gives no sign of life while the commands below run.
  Process daemon =
      start_daemon({"--workers", "0", "--log-format", GetParam(), "--liveness", "10m"});
  const std::vector<std::string> names = {"../../escaped",
                                          "/" + path("escaped").string(),
                                          "'; DROP TABLE jobs; --",
                                          "$(touch escaped)",
                                          "%s%n{}{0}",
                                          "a\"b\\c,<script>"};
  ScriptedClient client(endpoint_);
  ScriptedWorker worker(worker_endpoint_);
  auto ready = test::ready();
  ready.mutable_ready()->set_name(names[0]);
  ready.mutable_ready()->set_host(names[2]);
  worker.send(test::frame(ready));
  worker.wait_for(proto::ToWorker::kWelcome);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const char id = static_cast<char>('A' + i);
    auto open = test::open_job(1, id);
    open.mutable_open_job()->mutable_spec()->set_name(names[i]);
    const std::uint64_t number = client.ask(open).job_opened().job();
    auto chunk = test::add_chunk(2, {"one"}, id);
    chunk.mutable_add_chunk()->mutable_files(0)->set_path(names[i]);
    test::hash_chunk(*chunk.mutable_add_chunk());
    ASSERT_TRUE(client.ask(chunk).has_chunk_accepted());
    worker.grade_all(1);
    const std::string job = std::to_string(number);
    ASSERT_TRUE(eventually([&] { return status(job).at("done") == 1; }));
    EXPECT_EQ(status(job).at("name"), names[i]);
    EXPECT_THAT(results(job).at(0).at("label").get<std::string>(), HasSubstr(names[i]));
    const Ended exported = ctl({"export", job, path("out/" + job)});
    EXPECT_NE(exported.exit_code, 0) << "its answers are none";
    expect_safe(exported.err, "export");
    for (const Arguments& command :
         {Arguments{"jobs"}, Arguments{"status", job}, Arguments{"results", job},
          Arguments{"show", job, "1"}, Arguments{"workers"}}) {
      const Ended shown = ctl(command);
      expect_safe(shown.out, command[0]);
      expect_safe(shown.err, command[0]);
    }
  }
  EXPECT_EQ(Json::parse(ctl_out({"jobs", "--output", "json"})).size(), names.size());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
    const std::string inside = entry.path().lexically_relative(path("out")).string();
    if (entry.path().filename().string().find("escaped") == std::string::npos) continue;
    EXPECT_FALSE(inside.starts_with("..")) << entry.path();
  }
  expect_safe_log(daemon);
}

INSTANTIATE_TEST_SUITE_P(LogFormats, HostileNamesTest, ::testing::Values("text", "json"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace puzzled::testing
