#include "daemon/net/metrics.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "daemon/net/metrics_address.h"
#include "daemon/net/metrics_endpoint.h"
#include "daemon/net/metrics_request.h"
#include "proto/base/fatal.h"
#include "tests/support/http_get.h"

namespace puzzled {
namespace {

using std::chrono::milliseconds;
using testing::http_get;
using testing::http_request;
using testing::HttpReply;

// Long enough for any machine; only a hang gets there.
constexpr milliseconds kLong{60'000};

Metrics some_metrics() {
  Metrics metrics;
  metrics.facts = {.pid = 7,
                   .started_ms = 1'700'000'000'500,
                   .boot = {3},
                   .database = "x.db",
                   .refused_handshakes = 4,
                   .refused_messages = 5};
  metrics.load = {.intake_paused = "the disk is full",
                  .is_slow = true,
                  .store_queue_bytes = 1'000,
                  .log_bytes = 2'000,
                  .reader_age_ms = 1'500,
                  .clients = 6,
                  .unsent_bytes = 7,
                  .waiting_queries = 8,
                  .workers = 9,
                  .open_jobs = 10,
                  .leases = 11};
  LaneDemand lane;
  lane.puzzle = "duel";
  lane.solver = "sweep";
  lane.open_cases = 5'000'000'000;
  lane.leased_cases = 12;
  lane.case_us = 250;
  lane.slots_wanted = 13;
  lane.slots = 14;
  LaneDemand odd;
  odd.puzzle = "a\"b\\c\nd";
  odd.solver = "ü";
  odd.open_cases = 1;
  metrics.demand.lanes = {lane, odd};
  metrics.demand.open_cases = 5'000'000'001;
  metrics.demand.slots_wanted = 15;
  metrics.demand.slots = 16;
  metrics.commits.jobs = 17;
  metrics.commits.cases = 18;
  metrics.commits.attempts = 1;
  metrics.commits.results[static_cast<std::size_t>(Verdict::kAccepted)] = 19;
  metrics.commits.results[static_cast<std::size_t>(Verdict::kTimeLimit)] = 2;
  metrics.commits.note_commit(milliseconds(1));
  metrics.commits.note_commit(milliseconds(3));
  metrics.commits.note_commit(milliseconds(60'000));
  metrics.refused_client_messages = 20;
  metrics.refused_worker_messages = 21;
  metrics.refused_connections = 22;
  return metrics;
}

TEST(Metrics, TextIsAsPrometheusReadsIt) {
  const std::string text = metrics_text(
      some_metrics(),
      {.cpu_seconds = 1.25, .resident_bytes = 1U << 20U, .open_files = 30, .open_files_max = 1024});
  if (std::getenv("PUZZLED_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(GOLDEN_FILE) << text;
    return;
  }
  std::ifstream in(GOLDEN_FILE);
  const std::string golden{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text, golden) << "if that is right: PUZZLED_UPDATE_GOLDEN=1, then read the diff";
}

// A set of labels that comes twice is refused by Prometheus, with the whole scrape.
TEST(Metrics, RequirementsAreNoRowsOfTheirOwn) {
  Metrics metrics;
  metrics.demand.lanes = {{.puzzle = "duel",
                           .solver = "sweep",
                           .require = {{"gpu", "a100"}},
                           .open_cases = 5,
                           .leased_cases = 1,
                           .case_us = 7e6,
                           .slots_wanted = 4,
                           .slots = 2},
                          {.puzzle = "duel", .solver = "brute-force", .open_cases = 8},
                          {.puzzle = "duel",
                           .solver = "sweep",
                           .open_cases = 10,
                           .leased_cases = 2,
                           .case_us = 3e6,
                           .slots_wanted = 3,
                           .slots = 6},
                          {.puzzle = "duel",
                           .solver = "sweep",
                           .solver_version = "2",
                           .open_cases = 20,
                           .case_us = 9e6,
                           .slots_wanted = 1}};
  std::istringstream lines(metrics_text(metrics, {}));
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("puzzled_lane_") && line.find("\"sweep\"") != std::string::npos) {
      found.push_back(line);
    }
  }
  const std::string labels = R"({puzzle="duel",solver="sweep"} )";
  EXPECT_EQ(found, (std::vector<std::string>{"puzzled_lane_open_cases" + labels + "35",
                                             "puzzled_lane_leased_cases" + labels + "3",
                                             "puzzled_lane_wanted_slots" + labels + "8",
                                             "puzzled_lane_slots" + labels + "6",
                                             "puzzled_lane_case_seconds" + labels + "3"}));
}

TEST(Metrics, ProcessFiguresAreThoseOfThisProcess) {
  const ProcessFigures figures = process_figures();
  EXPECT_GT(figures.resident_bytes, 100'000U);
  EXPECT_GE(figures.open_files, 3U);
  EXPECT_GT(figures.open_files_max, figures.open_files);
}

TEST(CommitCounts, ATimeCountsAtItsBoundAndNotAbove) {
  CommitCounts counts;
  counts.note_commit(milliseconds(2));
  counts.note_commit(std::chrono::microseconds(2'001));
  counts.note_commit(milliseconds(5'001));
  EXPECT_EQ(counts.commits[1], 1U);
  EXPECT_EQ(counts.commits[2], 1U);
  EXPECT_EQ(counts.commits[kCommitBounds.size()], 1U);
}

TEST(MetricsAddress, IsLoopbackUnlessToldOtherwise) {
  const auto shown = [](std::string_view text) {
    const auto parsed = parse_metrics_address(text);
    const auto* error = std::get_if<std::string>(&parsed);
    return error == nullptr ? to_string(std::get<MetricsAddress>(parsed)) : *error;
  };
  EXPECT_EQ(shown("7402"), "127.0.0.1:7402");
  EXPECT_EQ(shown("*"), "127.0.0.1:0");
  EXPECT_EQ(shown("0.0.0.0:1"), "0.0.0.0:1");
  EXPECT_EQ(shown("[::1]:65535"), "[::1]:65535");
  EXPECT_EQ(shown("[::]:*"), "[::]:0");
  for (const char* wrong : {"", "0", "65536", "-1", "74o2", "7402 ", ":", "127.0.0.1:", "1:2:"}) {
    EXPECT_NE(shown(wrong).find("expected PORT, ADDRESS:PORT"), std::string::npos) << wrong;
  }
  for (const char* wrong : {":7402", "localhost:7402", "::1:7402", "[]:7402", "[1.2.3.4]:7402",
                            "1.2.3:7402", "http://127.0.0.1:7402"}) {
    EXPECT_NE(shown(wrong).find("expected a number"), std::string::npos) << wrong;
  }
}

// A loop that answers whenever it is woken, as the reactor does.
class Loop {
 public:
  explicit Loop(const Metrics& metrics) : metrics_(metrics) {
    thread_ = std::thread([this] {
      std::unique_lock lock(mutex_);
      while (!ended_) {
        woken_.wait(lock, [this] { return ended_ || request.asked(); });
        if (request.asked()) request.answer(metrics_);
      }
    });
  }
  ~Loop() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    woken_.notify_all();
    thread_.join();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  MetricsRequest request{[this] { wake(); }};

 private:
  void wake() {
    const std::lock_guard lock(mutex_);
    woken_.notify_all();
  }

  Metrics metrics_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool ended_ = false;
  std::thread thread_;
};

TEST(MetricsEndpoint, AnswersWhatTheLoopSays) {
  Loop loop(some_metrics());
  const MetricsEndpoint server({"*", static_cast<std::uint32_t>(kLong.count())}, loop.request);
  const HttpReply metrics = http_get(server.url() + "/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_NE(metrics.head.find("text/plain; version=0.0.4"), std::string::npos) << metrics.head;
  EXPECT_NE(metrics.body.find("\npuzzled_wanted_slots 15\n"), std::string::npos) << metrics.body;
  EXPECT_EQ(http_get(server.url() + "/healthz").status, 200);
  EXPECT_EQ(http_get(server.url() + "/readyz").status, 200) << "a pause of intake is no reason";
  EXPECT_EQ(http_get(server.url() + "/").status, 404);
  EXPECT_EQ(http_request(server.url(), "HEAD /metrics HTTP/1.1").status, 200);
  const HttpReply posted =
      http_request(server.url(), "POST /metrics HTTP/1.1\r\nContent-Length: 4", "abcd");
  EXPECT_EQ(posted.status, 405);
  EXPECT_NE(posted.head.find("Allow: GET, HEAD"), std::string::npos) << posted.head;
  EXPECT_NE(http_request(server.url(), "nonsense").status, 200);
  EXPECT_EQ(http_get(server.url() + "/healthz").status, 200) << "nonsense disturbs nobody";
}

// As in a daemon with thousands of peers.
TEST(MetricsEndpoint, AnswersThroughAnyDescriptor) {
  constexpr rlim_t kMany = 1'500;
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = std::min(limit.rlim_max, kMany + 500);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  std::vector<int> used;
  for (int fd = 0; fd >= 0 && static_cast<rlim_t>(fd) < kMany;) {
    fd = ::dup(STDERR_FILENO);
    used.push_back(fd);
  }
  Loop loop(some_metrics());
  const MetricsEndpoint server({"*", static_cast<std::uint32_t>(kLong.count())}, loop.request);
  EXPECT_EQ(http_get(server.url() + "/healthz").status, 200);
  for (const int fd : used) ::close(fd);
}

TEST(MetricsEndpoint, IsNotReadyWhileTheDaemonDrains) {
  Metrics draining = some_metrics();
  draining.is_draining = true;
  Loop loop(draining);
  const MetricsEndpoint server({"*", static_cast<std::uint32_t>(kLong.count())}, loop.request);
  EXPECT_EQ(http_get(server.url() + "/readyz").status, 503);
  EXPECT_EQ(http_get(server.url() + "/healthz").status, 200);
}

TEST(MetricsEndpoint, SaysThatTheLoopDoesNotAnswer) {
  std::atomic<int> woken{0};
  MetricsRequest request([&] { ++woken; });
  const MetricsEndpoint server({"127.0.0.1:*", 100}, request);
  for (const char* path : {"/metrics", "/healthz", "/readyz"}) {
    const HttpReply reply = http_get(server.url() + path);
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.body, "the daemon's loop does not answer\n");
  }
  EXPECT_EQ(woken, 3);
}

TEST(MetricsEndpoint, EndsWhileSomebodyWaits) {
  std::atomic<bool> woken{false};
  MetricsRequest request([&] {
    woken = true;
    woken.notify_all();
  });
  HttpReply reply;
  std::thread asker;
  {
    const MetricsEndpoint server({"*", static_cast<std::uint32_t>(kLong.count())}, request);
    asker = std::thread([&, url = server.url()] { reply = http_get(url + "/healthz"); });
    woken.wait(false);
  }
  asker.join();
  EXPECT_NE(reply.status, 200);
}

TEST(MetricsEndpoint, APortThatIsTakenIsSaidSo) {
  MetricsRequest request([] {});
  const MetricsEndpoint server({"*", 100}, request);
  const std::string address = server.url().substr(std::string("http://").size());
  try {
    const MetricsEndpoint second({address, 100}, request);
    FAIL() << "two servers at one port";
  } catch (const Fatal& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_EQ(std::string(error.what()),
              "metrics: cannot bind " + address + ": Address already in use");
  }
}

}  // namespace
}  // namespace puzzled
