// One case that misbehaves among many that do not gets exactly its own verdict. The solvers are
// those of tests/support/test_registry.h: right, but for the instances that are trouble.
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/e2e/fixture.h"
#include "tests/support/test_registry.h"

namespace puzzled::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kGood = 1'000;
constexpr std::size_t kTroubleCase = 501;

struct Trouble {
  std::string solver;
  std::string verdict;
  Arguments limits;
};

class VerdictsTest : public EndToEnd {
 protected:
  // The file's good cases with one in their middle that is trouble, and the right answers.
  std::string trouble_file() {
    std::string text;
    for (std::size_t i = 1; i <= kGood + 1; ++i) {
      text += i == kTroubleCase ? "9 " + std::to_string(kTroubleBishops) + "\n" : "8 6\n";
    }
    return file("t/a.in", text + "0 0\n");
  }
  void expect_only_one(const std::vector<Json>& rows, const std::string& verdict,
                       const std::string& good) {
    ASSERT_EQ(rows.size(), kGood + 1);
    EXPECT_EQ(count(rows, good), kGood);
    EXPECT_EQ(rows.at(kTroubleCase - 1).at("verdict"), verdict) << rows.at(kTroubleCase - 1).dump();
  }
};

class TroubleTest : public VerdictsTest, public ::testing::WithParamInterface<Trouble> {};

TEST_P(TroubleTest, IsOneCaseOnly) {
  Process daemon = start_daemon({"--workers", "2", "--worker-program", kTestWorker});
  Arguments command = {"bishops", trouble_file(), "--solver", GetParam().solver};
  command.insert(command.end(), GetParam().limits.begin(), GetParam().limits.end());
  const std::string job = submit(command);
  EXPECT_EQ(ctl({"wait", job}).exit_code, 1);
  expect_only_one(results(job), GetParam().verdict, "SOLVED");
}

// The verdict of a limit wins over what could be said of the claimed answer.
TEST_P(TroubleTest, WinsOverTheClaimedAnswer) {
  Process daemon = start_daemon({"--workers", "2", "--worker-program", kTestWorker});
  trouble_file();
  std::string answers;
  for (std::size_t i = 0; i <= kGood; ++i) answers += "5599888\n";
  file("t/a.ans", answers);
  Arguments command = {"bishops", path("t"), "--solver", GetParam().solver};
  command.insert(command.end(), GetParam().limits.begin(), GetParam().limits.end());
  const std::string job = submit(command);
  EXPECT_EQ(ctl({"wait", job}).exit_code, 1);
  expect_only_one(results(job), GetParam().verdict, "ACCEPTED");
}

INSTANTIATE_TEST_SUITE_P(
    Verdicts, TroubleTest,
    ::testing::Values(Trouble{"spin", "TIME_LIMIT", {"--time-limit", "500ms"}},
                      Trouble{"crash", "CRASHED", {}}, Trouble{"crash-exit", "CRASHED", {}},
                      Trouble{"crash-throw", "CRASHED", {}}, Trouble{"crash-stack", "CRASHED", {}},
                      Trouble{"eat-memory", "MEMORY_LIMIT", {"--memory-limit", "64MiB"}},
                      Trouble{"eat-memory-gmp", "MEMORY_LIMIT", {"--memory-limit", "64MiB"}},
                      Trouble{"eat-memory-at-once", "MEMORY_LIMIT", {}},
                      Trouble{"big-answer", "OUTPUT_LIMIT", {}}),
    [](const auto& tested) {
      std::string name = tested.param.solver;
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST_F(VerdictsTest, TheProductsBruteForceRunsIntoItsLimit) {
  Process daemon = start_daemon();
  std::string text;
  for (std::size_t i = 1; i <= kGood + 1; ++i) text += i == kTroubleCase ? "14 13\n" : "4 4\n";
  const std::string job = submit(
      {"bishops", file("a.in", text + "0 0\n"), "--solver", "brute-force", "--time-limit", "1s"});
  EXPECT_EQ(ctl({"wait", job}).exit_code, 1);
  const std::vector<Json> rows = results(job);
  expect_only_one(rows, "TIME_LIMIT", "SOLVED");
  EXPECT_GE(rows.at(kTroubleCase - 1).at("time_us"), 1'000'000);
  for (const Json& row : rows) {
    if (row.at("verdict") == "SOLVED") {
      EXPECT_EQ(row.at("answer"), "260");
    }
  }
}

TEST_F(VerdictsTest, ACrashThatDoesNotComeAgainIsForgiven) {
  environment_[kMarkerVariable] = path("marker");
  Process daemon = start_daemon({"--workers", "2", "--worker-program", kTestWorker});
  const std::string job = submit({"bishops", trouble_file(), "--solver", "crash-once"});
  EXPECT_EQ(ctl({"wait", job}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("marker"))) << "it has not crashed";
  EXPECT_EQ(count(results(job), "SOLVED"), kGood + 1);
}

TEST_F(VerdictsTest, AWrongSolverIsSeenByTheClaimedAnswers) {
  Process daemon = start_daemon({"--workers", "1", "--worker-program", kTestWorker});
  file("t/a.in", "8 6\n9 13\n0 0\n");
  file("t/a.ans", "5599888\n" + ctl({"solve", "bishops"}, "9 13\n0 0\n").out);
  const std::string job = submit({"bishops", path("t"), "--solver", "wrong"});
  EXPECT_EQ(ctl({"wait", job}).exit_code, 1);
  EXPECT_EQ(results(job).at(0).at("verdict"), "ACCEPTED");
  EXPECT_EQ(results(job).at(1).at("verdict"), "WRONG_ANSWER");
}

TEST_F(VerdictsTest, WorkersMayComeAndGo) {
  Process daemon = start_daemon({"--workers", "0"});
  std::string text;
  for (int i = 0; i < 2'000; ++i) text += "8 6\n";
  const std::string job =
      submit({"bishops", file("a.in", text + "0 0\n"), "--solver", "busy", "--no-cache"});
  // One after the other is killed at work, each with cases in its hands.
  for (int round = 0; round < 3; ++round) {
    const auto before = status(job).at("done").get<std::uint64_t>();
    Process worker = start_test_worker();
    // While a slow disk writes, a worker may solve all that is left.
    ASSERT_TRUE(eventually([&] {
      const Json now = status(job);
      return now.at("done") > before || now.at("state") == "DONE";
    }));
    worker.signal(round == 1 ? SIGTERM : SIGKILL);
    ASSERT_TRUE(worker.wait(std::chrono::seconds(60)).has_value());
  }
  Process last = start_test_worker();
  EXPECT_EQ(ctl({"wait", job}).exit_code, 0);
  EXPECT_EQ(count(results(job), "SOLVED"), 2'000U);
}

}  // namespace
}  // namespace puzzled::testing
