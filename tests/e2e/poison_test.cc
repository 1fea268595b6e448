// Cases that kill their worker, and workers that go for other reasons: the first end quarantined
// and alone, the second cost nothing.
#include <gmock/gmock.h>
#include <signal.h>

#include <optional>
#include <set>

#include "tests/e2e/faults.h"
#include "tests/support/test_registry.h"

namespace puzzled::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

const std::string kTrouble = "9 " + std::to_string(kTroubleBishops);

class PoisonTest : public FaultsTest {
 protected:
  // A daemon that keeps this many workers of one slot, and notices soon that one is gone.
  Process start_with_workers(const std::string& count) {
    return start_daemon({"--workers", count, "--worker-program", kTestWorker,
                         "--heartbeat-interval", "50ms", "--liveness", "400ms", "--restart-delay",
                         "10ms", "--restart-delay-max", "50ms"});
  }
  // This many cases of "8 6", but trouble where said (numbers from 1).
  std::string input_with_trouble(std::size_t cases, const std::set<std::size_t>& at) {
    std::string text;
    for (std::size_t i = 1; i <= cases; ++i) text += at.contains(i) ? kTrouble + "\n" : "8 6\n";
    return text + "0 0\n";
  }
  Json shown(const std::string& job, std::size_t case_no) {
    return Json::parse(ctl_out({"show", job, std::to_string(case_no), "--output", "json"}));
  }
  // All cases but these are SOLVED and right; how many others there are.
  void expect_others_right(const std::vector<Json>& rows, const std::set<std::size_t>& but) {
    for (const Json& row : rows) {
      if (but.contains(row.at("case").get<std::size_t>())) continue;
      ASSERT_EQ(row.at("verdict"), "SOLVED") << row.dump();
      ASSERT_EQ(row.at("answer"), right_answer("8 6")) << row.dump();
    }
  }
  // Waits until a heartbeat can have named what the worker is on: the case is its only one.
  ::testing::AssertionResult is_leased(const std::string& job) {
    if (eventually([&] { return status(job).at("leased") > 0; })) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << status(job).dump();
  }
};

// ---- Quarantine.

TEST_F(PoisonTest, ACaseThatKillsItsWorkersIsQuarantinedAndItsNeighboursAreRight) {
  constexpr std::size_t kCases = 1'001;
  constexpr std::size_t kPoison = 501;
  Process daemon = start_with_workers("2");
  const std::string job = submit(
      {"bishops", file("a.in", input_with_trouble(kCases, {kPoison})), "--solver", "kill-host"});
  EXPECT_EQ(ctl({"wait", job, "--timeout", "110s"}).exit_code, 1);
  const std::vector<Json> rows = results(job);
  ASSERT_EQ(rows.size(), kCases);
  expect_others_right(rows, {kPoison});
  const Json poison = shown(job, kPoison);
  EXPECT_EQ(poison.at("verdict"), "INTERNAL_ERROR");
  EXPECT_THAT(poison.at("message").get<std::string>(), HasSubstr("quarantined: 3 workers died"));
  // Its history: three deaths, each under a process of its own.
  const Json& attempts = poison.at("attempts");
  ASSERT_EQ(attempts.size(), 3U) << poison.dump();
  for (const Json& attempt : attempts) {
    EXPECT_THAT(attempt.at("message").get<std::string>(), HasSubstr("fell silent on this case"));
  }
  const std::string of_poison = " FROM attempts WHERE case_no = " + std::to_string(kPoison);
  EXPECT_EQ(number_in_store("SELECT count(DISTINCT start_id)" + of_poison), 3U);
  // A neighbour whose result died with the worker may have been its last word, but only once.
  EXPECT_LE(number_in_store("SELECT ifnull(max(n), 0) FROM (SELECT count(*) AS n FROM attempts "
                            "WHERE case_no <> " +
                            std::to_string(kPoison) + " GROUP BY case_no)"),
            1U);
  EXPECT_THAT(ctl_out({"show", job, std::to_string(kPoison)}), HasSubstr("attempts that failed"));
}

TEST_F(PoisonTest, ItsHistorySurvivesTheDaemon) {
  std::optional<Process> daemon(start_with_workers("1"));
  const std::string job =
      submit({"bishops", file("a.in", input_with_trouble(3, {2})), "--solver", "kill-host"});
  ASSERT_TRUE(eventually([&] { return number_in_store("SELECT count(*) FROM attempts") > 0; },
                         seconds(60)));
  kill_and_wait(*daemon);
  check_ledger();
  daemon.emplace(start_with_workers("1"));
  EXPECT_EQ(ctl({"wait", job, "--timeout", "110s"}).exit_code, 1);
  const Json poison = shown(job, 2);
  EXPECT_EQ(poison.at("verdict"), "INTERNAL_ERROR");
  EXPECT_GE(poison.at("attempts").size(), 3U);
  expect_others_right(results(job), {2});
}

// Two slots of one worker, and one case of the two kills it: both are suspects of each death, until
// the innocent one has run alone.
TEST_F(PoisonTest, AnInnocentSuspectIsNeverQuarantined) {
  Process daemon = start_daemon({"--workers", "0", "--heartbeat-interval", "50ms", "--liveness",
                                 "400ms", "--dispatch-cases-max", "1"});
  // A job has one solver, so the innocent ones are another job's. They take long enough to be on a
  // slot whenever the worker dies.
  const std::string innocent = bishops_file(400);
  const std::string slow =
      submit({"bishops", file("slow.in", innocent), "--solver", "slow", "--no-cache"});
  const std::string bad =
      submit({"bishops", file("bad.in", input_with_trouble(2, {1, 2})), "--solver", "kill-host"});
  std::optional<Process> worker;
  int lives = 0;
  while (status(bad).at("state") != "DONE" && lives < 60) {
    worker.emplace(start_test_worker({"--slots", "4"}));
    ++lives;
    ASSERT_TRUE(eventually([&] { return !worker->running() || status(bad).at("state") == "DONE"; },
                           seconds(60)));
  }
  EXPECT_EQ(status(bad).at("state"), "DONE") << lives << " workers";
  worker.emplace(start_test_worker({"--slots", "4"}));
  EXPECT_EQ(ctl({"wait", slow, "--timeout", "110s"}).exit_code, 0);
  expect_right(slow, innocent);
  EXPECT_EQ(count(results(bad), "INTERNAL_ERROR"), 2U);
}

// ---- What costs nothing.

// A worker that has 60 s left for its case, which never ends, and is told to go.
TEST_F(PoisonTest, PreemptionCostsNothing) {
  Process daemon =
      start_daemon({"--workers", "0", "--heartbeat-interval", "50ms", "--liveness", "400ms"});
  const std::string job = submit({"bishops", file("a.in", input_with_trouble(1, {1})), "--solver",
                                  "sleep", "--time-limit", "60s"});
  for (int i = 0; i < 4; ++i) {
    Process worker = start_test_worker({"--slots", "1"});
    ASSERT_TRUE(is_leased(job));
    worker.signal(SIGTERM);
    // The grace: it has said that it goes, and is still on its case. (Or has gone: the case was
    // still on its way to it.)
    ASSERT_TRUE(eventually([&] {
      const std::vector<Json> now = workers();
      return now.empty() || now.at(0).at("draining") == true;
    }));
    kill_and_wait(worker);
    ASSERT_TRUE(workers_become(0));
  }
  expect_no_charges();
  EXPECT_EQ(status(job).at("done"), 0) << "four workers were pre-empted, and it is still open";
}

TEST_F(PoisonTest, TerminatedWorkersGiveTheirCasesBack) {
  Process daemon =
      start_daemon({"--workers", "0", "--heartbeat-interval", "50ms", "--liveness", "400ms"});
  const std::string input = bishops_file(1'500);
  const std::string job =
      submit({"bishops", file("a.in", input), "--solver", "slow", "--no-cache"});
  for (int i = 0; i < 4; ++i) {
    Process worker = start_test_worker();
    const auto before = status(job).at("done").get<std::uint64_t>();
    ASSERT_TRUE(done_becomes(job, before + 20));
    worker.signal(SIGTERM);
    const auto ended = worker.wait(seconds(60));
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->exit_code, 0) << ended->err;
    EXPECT_EQ(workers().size(), 0U) << "it has said good-bye";
  }
  Process worker = start_test_worker({"--slots", "8"});
  EXPECT_EQ(ctl({"wait", job, "--timeout", "110s"}).exit_code, 0);
  expect_right(job, input);
  expect_no_charges();
}

// The daemon drains and dies again and again with cases that never end on its workers.
TEST_F(PoisonTest, RestartsOfTheDaemonCostNothing) {
  const std::string file_name = file("a.in", input_with_trouble(2, {1, 2}));
  std::string job;
  for (int i = 0; i < 5; ++i) {
    Process daemon =
        start_daemon({"--workers", "2", "--worker-program", kTestWorker, "--heartbeat-interval",
                      "50ms", "--liveness", "400ms", "--drain-timeout", "200ms"});
    if (i == 0) {
      job = submit({"bishops", file_name, "--solver", "sleep", "--time-limit", "60s"});
    }
    ASSERT_TRUE(is_leased(job));
    kill_and_wait(daemon, i % 2 == 0 ? SIGKILL : SIGTERM);
    check_ledger();
    expect_no_charges();
  }
}

}  // namespace
}  // namespace puzzled::testing
