// The daemon's figures over HTTP, from real programs.
#include <gmock/gmock.h>

#include <csignal>
#include <optional>
#include <regex>

#include "tests/e2e/fixture.h"
#include "tests/support/http_get.h"

namespace puzzled::testing {
namespace {

using ::testing::HasSubstr;

constexpr Duration kHang = std::chrono::seconds(120);

class MetricsOverHttp : public EndToEnd {
 protected:
  Process start_measured(const Arguments& more) {
    Arguments arguments = {"--metrics", "*", "--metrics-timeout", "60s"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Process daemon = start_daemon(arguments);
    const std::regex line("metrics at (http://127\\.0\\.0\\.1:[0-9]+)/metrics");
    std::smatch found;
    const std::string log = daemon.err();
    EXPECT_TRUE(std::regex_search(log, found, line)) << log;
    url_ = found[1];
    return daemon;
  }
  // The value of a figure, with its labels as they are written; -1: it is not there.
  double figure(const std::string& name) {
    const std::string text = "\n" + http_get(url_ + "/metrics").body;
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
  }

  std::string url_;
};

TEST_F(MetricsOverHttp, CountWhatIsOnDisk) {
  const Process daemon = start_measured({"--workers", "1"});
  EXPECT_EQ(http_get(url_ + "/healthz").status, 200);
  EXPECT_EQ(http_get(url_ + "/readyz").status, 200);
  EXPECT_EQ(figure("puzzled_results_total{verdict=\"SOLVED\"}"), 0);

  submit({"bishops", file("t.in", bishops_file(2'500)), "--wait"});
  EXPECT_EQ(figure("puzzled_accepted_jobs_total"), 1);
  EXPECT_EQ(figure("puzzled_accepted_cases_total"), 2'500);
  EXPECT_EQ(figure("puzzled_results_total{verdict=\"SOLVED\"}"), 2'500);
  EXPECT_EQ(figure("puzzled_open_cases"), 0);
  EXPECT_EQ(figure("puzzled_wanted_slots"), 0);
  EXPECT_EQ(figure("puzzled_workers"), 1);
  EXPECT_EQ(figure("puzzled_slots"), 1);
  EXPECT_EQ(figure("puzzled_lane_slots{puzzle=\"bishops\",solver=\"staircase\"}"), 1);
  EXPECT_GE(figure("puzzled_commit_duration_seconds_count"), 2);
  EXPECT_GT(figure("puzzled_wal_bytes"), 0);
  EXPECT_GT(figure("process_resident_memory_bytes"), 1'000'000);
}

TEST_F(MetricsOverHttp, SayWhatIsWantedWhileNobodyWorks) {
  const Process daemon = start_measured({"--workers", "0"});
  submit({"bishops", file("t.in", bishops_file(2'500))});
  EXPECT_EQ(figure("puzzled_open_cases"), 2'500);
  EXPECT_EQ(figure("puzzled_open_jobs"), 1);
  EXPECT_GT(figure("puzzled_wanted_slots"), 0);
  EXPECT_EQ(figure("puzzled_slots"), 0);
}

// Not ready: peers look for another daemon, or wait. Alive: nobody kills it while it finishes.
TEST_F(MetricsOverHttp, ADrainingDaemonIsAliveAndNotReady) {
  std::optional<Process> daemon;
  std::optional<Process> worker;
  bool seen = false;
  // A lease that is still on its way to the worker holds up no drain: once more, then.
  for (int tries = 0; tries < 50 && !seen; ++tries) {
    daemon.emplace(start_measured({"--workers", "0", "--drain-timeout", "1h"}));
    if (tries == 0) submit({"bishops", file("t.in", "20 13\n0 0\n"), "--solver", "sleep"});
    worker.emplace(start_test_worker({"--slots", "1"}));
    ASSERT_TRUE(eventually([&] { return figure("puzzled_leases") == 1; }, kHang));
    daemon->signal(SIGTERM);
    ASSERT_TRUE(eventually(
        [&] { return http_get(url_ + "/readyz").status == 503 || !daemon->running(); }, kHang));
    const int health = http_get(url_ + "/healthz").status;
    const double draining = figure("puzzled_draining");
    const bool is_alive = health == 200 && draining == 1;
    if (!is_alive && daemon->wait(kHang)) continue;
    seen = true;
    EXPECT_EQ(health, 200);
    EXPECT_EQ(draining, 1);
  }
  ASSERT_TRUE(seen) << "it never drained with a case under way";
  daemon->signal(SIGTERM);
  const auto ended = daemon->wait(kHang);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 0) << ended->err;
}

TEST_F(MetricsOverHttp, AnAddressThatIsNoneIsRefused) {
  Process daemon = start(
      {kPuzzled, "--endpoint", endpoint_, "--database", database_, "--metrics", "localhost:7402"});
  const auto ended = daemon.wait(kHang);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 2);
  EXPECT_THAT(ended->err, HasSubstr("metrics: found the address \"localhost\""));
}

}  // namespace
}  // namespace puzzled::testing
