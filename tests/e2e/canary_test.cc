// A worker that begins to calculate wrong is found by a canary, taken out, and what it graded since
// the last good one is graded again by another.
#include <gmock/gmock.h>

#include <optional>

#include "tests/e2e/faults.h"
#include "tests/support/test_registry.h"

namespace puzzled::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr std::size_t kCases = 3'000;

class CanaryTest : public FaultsTest {
 protected:
  // Small dispatches, so that there are many, and a canary in one of four.
  Process start_broker(const Arguments& more = {}) {
    Arguments options = kQuick;
    options.insert(options.end(), more.begin(), more.end());
    options.insert(options.end(), {"--dispatch-cases-first", "4", "--dispatch-cases-max", "4",
                                   "--canary-rate", "4"});
    return start_daemon(options);
  }
  // Right until lie() is called.
  Process start_liar() {
    environment_[kMarkerVariable] = path("marker");
    Process worker = start_test_worker({"--slots", "1", "--name", "liar"});
    environment_.erase(kMarkerVariable);
    return worker;
  }
  void lie() { file("marker", ""); }
  Process start_honest() { return start_test_worker({"--slots", "2", "--name", "honest"}); }

  std::string submit_bishops(std::size_t cases) {
    const std::string name = std::to_string(cases) + ".in";
    return submit({"bishops", file(name, bishops_file(cases)), "--solver", "liar"});
  }
  // A job that an honest worker has solved; its cases are canaries then.
  std::string make_canaries() {
    const std::string job = submit_bishops(21);
    Process honest = start_honest();
    EXPECT_EQ(ctl({"wait", job, "--timeout", "60s"}).exit_code, 0);
    kill_and_wait(honest, SIGTERM);
    ctl_out({"canary", job});
    return job;
  }
  std::uint64_t revised(const std::string& job) { return status(job).at("revised"); }
  // The row of a worker that failed a canary; nothing: there is none.
  std::optional<Json> barred() {
    for (const Json& row : workers()) {
      if (!row.at("barred").is_null()) return row;
    }
    return std::nullopt;
  }
  void expect_sound() {
    const Ended doctor = ctl({"doctor"});
    EXPECT_EQ(doctor.exit_code, 0) << doctor.out << doctor.err;
  }
};

TEST_F(CanaryTest, ALyingWorkerIsTakenOutAndItsResultsAreGradedAgain) {
  Process daemon = start_broker();
  const std::string canaries = make_canaries();
  EXPECT_EQ(status(canaries).at("canary"), true);
  Process liar = start_liar();
  const std::string job = submit_bishops(kCases);
  ASSERT_TRUE(done_becomes(job, 200));
  EXPECT_FALSE(barred()) << "it has told no lie yet";
  lie();
  submit_bishops(40);  // the first job may be done by now
  ASSERT_TRUE(eventually([&] { return barred().has_value(); }, seconds(60)));
  const auto ended = liar.wait(seconds(60));
  ASSERT_TRUE(ended.has_value()) << "it is told, and exits";
  EXPECT_EQ(ended->exit_code, 4) << ended->err;
  EXPECT_THAT(ended->err, HasSubstr("failed a canary"));
  EXPECT_EQ(barred()->at("worker"), "liar");
  EXPECT_THAT(barred()->at("barred").get<std::string>(), HasSubstr("of job " + canaries));
  EXPECT_GT(revised(job), 0U);
  EXPECT_EQ(status(job).at("cases"), kCases);
  EXPECT_THAT(ctl_out({"status"}), HasSubstr("failed a canary"));

  // Whoever comes from there with the same versions is refused until the operator lets it in.
  Process refused = start_honest();
  const auto refused_end = refused.wait(seconds(60));
  ASSERT_TRUE(refused_end.has_value());
  EXPECT_THAT(refused_end->err, HasSubstr("puzzlectl admit"));
  EXPECT_EQ(ctl({"admit", "nobody"}).exit_code, 4);
  ctl_out({"admit", "liar"});
  EXPECT_FALSE(barred());
  Process honest = start_honest();
  ASSERT_EQ(ctl({"wait", job, "--timeout", "100s"}).exit_code, 0);
  expect_right(job, bishops_file(kCases));
  EXPECT_EQ(results(job, {"--all-generations"}).size(), kCases + revised(job));
  expect_sound();
}

TEST_F(CanaryTest, AJobThatWasDoneRunsAgainAlsoAfterARestart) {
  std::optional<Process> daemon(start_broker());
  make_canaries();
  Process liar = start_liar();
  const std::string first = submit_bishops(5);
  ASSERT_EQ(ctl({"wait", first, "--timeout", "60s"}).exit_code, 0);
  kill_and_wait(*daemon);
  daemon.emplace(start_broker());
  ASSERT_TRUE(workers_become(1));
  lie();
  // The same process is liable for what it graded under the daemon before.
  const std::string second = submit_bishops(7);
  ASSERT_TRUE(eventually([&] { return barred().has_value(); }, seconds(60)));
  // On the disk, and with it the bar: it is one transaction.
  ASSERT_TRUE(eventually([&] { return revised(first) > 0; }, seconds(60)));
  EXPECT_NE(status(first).at("state"), "DONE");
  kill_and_wait(*daemon);
  daemon.emplace(start_broker());
  EXPECT_TRUE(barred()) << "a restart knows who failed";
  EXPECT_GT(revised(first), 0U);
  ctl_out({"admit", "liar"});
  Process honest = start_honest();
  ASSERT_EQ(ctl({"wait", first, second, "--timeout", "100s"}).exit_code, 0);
  expect_right(first, bishops_file(5));
  expect_right(second, bishops_file(7));
  EXPECT_THAT(ctl_out({"show", first, "1"}), HasSubstr("bishops"));
  expect_sound();
}

TEST_F(CanaryTest, NoResultRestsOnAnAnswerOfALiar) {
  Process daemon = start_broker({"--answer-cache-cost", "0s"});
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += std::to_string(10 + i / 2) + " " + std::to_string(i % 2) + "\n";
  text += "0 0\n";
  const Arguments again = {"bishops", file("again.in", text), "--solver", "liar"};
  // While nobody tests it: its answers are kept, and nobody knows that they are wrong.
  lie();
  {
    Process liar = start_liar();
    ASSERT_EQ(ctl({"wait", submit(again), "--timeout", "60s"}).exit_code, 0);
    kill_and_wait(liar, SIGTERM);
  }
  const std::string canaries = make_canaries();
  Process honest = start_honest();
  ASSERT_TRUE(workers_become(1));
  const std::string tested = submit(again);
  ASSERT_EQ(ctl({"wait", tested, "--timeout", "60s"}).exit_code, 0);
  expect_right(tested, text);
  Process liar = start_liar();
  ASSERT_TRUE(workers_become(2));
  submit({"bishops", file("more.in", bishops_file(2'000)), "--solver", "liar", "--no-cache"});
  ASSERT_TRUE(eventually([&] { return barred().has_value(); }, seconds(60)));
  ctl_out({"canary", canaries, "--off"});
  const std::string untested = submit(again);
  ASSERT_EQ(ctl({"wait", untested, "--timeout", "60s"}).exit_code, 0);
  expect_right(untested, text);
  expect_sound();
}

TEST_F(CanaryTest, OnlyWhatIsKnownIsACanary) {
  Process daemon = start_broker();
  const std::string job = submit_bishops(3);
  const Ended open = ctl({"canary", job});
  EXPECT_EQ(open.exit_code, 4);
  EXPECT_THAT(open.err, HasSubstr("only a job that is done"));
  EXPECT_EQ(ctl({"canary", "99"}).exit_code, 4);
  Process honest = start_honest();
  ASSERT_EQ(ctl({"wait", job, "--timeout", "60s"}).exit_code, 0);
  ctl_out({"canary", job});
  EXPECT_EQ(status(job).at("canary"), true);
  ctl_out({"canary", job, "--off"});
  EXPECT_EQ(status(job).at("canary"), false);
}

}  // namespace
}  // namespace puzzled::testing
