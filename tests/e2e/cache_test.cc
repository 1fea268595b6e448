// Reuse of answers, from submission to the columns that people read.
#include <gmock/gmock.h>

#include <set>

#include "tests/e2e/faults.h"

namespace puzzled::testing {
namespace {

using ::testing::HasSubstr;

// Cases cost less than what is worth it by default.
const Arguments kReuse = {"--answer-cache-cost", "0s", "--workers", "2"};

class CacheTest : public FaultsTest {
 protected:
  std::string submit_and_wait(const Arguments& arguments) {
    const std::string job = submit(arguments);
    EXPECT_EQ(ctl({"wait", job, "--timeout", "120s"}).exit_code, 0);
    return job;
  }
  std::uint64_t cached(const std::string& job) { return status(job).at("cached"); }
  std::vector<std::pair<std::string, std::string>> verdicts(const std::string& job) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const Json& row : results(job)) {
      all.emplace_back(row.at("verdict"), row.at("answer").dump());
    }
    return all;
  }
  void expect_sound() {
    const Ended doctor = ctl({"doctor"});
    EXPECT_EQ(doctor.exit_code, 0) << doctor.out << doctor.err;
  }
};

// 60 different duel games.
std::string duel_file(int games = 60) {
  std::string text = std::to_string(games) + "\n";
  for (int i = 0; i < games; ++i) {
    text += "6\n" + std::to_string(i) + " 2 3 " + std::to_string(i * i) + "\n";
  }
  return text;
}

TEST_F(CacheTest, TheSameCasesAreNotSolvedAgain) {
  Process daemon = start_daemon(kReuse);
  const std::string input = file("games.in", duel_file());
  const std::string first = submit_and_wait({"duel", input});
  EXPECT_EQ(cached(first), 0U);
  const std::string second = submit_and_wait({"duel", input});
  EXPECT_EQ(cached(second), 60U);
  EXPECT_EQ(status(second).at("done"), 60);
  EXPECT_EQ(verdicts(first), verdicts(second));
  for (const Json& row : results(second)) EXPECT_EQ(row.at("cached"), true);
  EXPECT_THAT(ctl_out({"results", second}), HasSubstr("CACHED"));
  EXPECT_THAT(ctl_out({"status", second}), HasSubstr("cached"));
  EXPECT_THAT(ctl_out({"show", second, "1"}), HasSubstr("the answer was known"));
  EXPECT_THAT(ctl_out({"results", second, "--output", "csv"}), HasSubstr("cached"));
  expect_sound();
}

TEST_F(CacheTest, AJobMayWantEveryCaseSolved) {
  Process daemon = start_daemon(kReuse);
  const std::string input = file("games.in", duel_file());
  submit_and_wait({"duel", input});
  const std::string job = submit_and_wait({"duel", input, "--no-cache"});
  EXPECT_EQ(cached(job), 0U);
  EXPECT_EQ(status(job).at("no_cache"), true);
}

TEST_F(CacheTest, AJobThatIsKnownIsDoneWithoutAWorkerAlsoAfterARestart) {
  const std::string input = file("games.in", duel_file());
  {
    Process daemon = start_daemon(kReuse);
    submit_and_wait({"duel", input});
    kill_and_wait(daemon, SIGTERM);
  }
  Process daemon = start_daemon({"--answer-cache-cost", "0s", "--workers", "0"});
  const std::string job = submit_and_wait({"duel", input});
  EXPECT_EQ(cached(job), 60U);
  expect_sound();
}

TEST_F(CacheTest, ClaimsAreGradedByWhatIsKnown) {
  Process daemon = start_daemon(kReuse);
  const std::string input = file("set/games.in", "3\n4\n7 8\n4\n1 2\n5\n1 2 3\n");
  const std::string solved = submit_and_wait({"duel", input});
  std::string claims;
  for (const Json& row : results(solved)) {
    claims += row.at("answer").get<std::string>() + "\n";
  }
  // The second is wrong, and cannot be known to be: somebody has to look at it.
  std::string wrong = claims;
  wrong.replace(wrong.find('\n') + 1, 0, "9");
  file("set/games.ans", wrong);
  const std::string job = submit({"duel", input});
  ctl({"wait", job, "--timeout", "120s"});
  const auto rows = results(job);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].at("verdict"), "ACCEPTED");
  EXPECT_EQ(rows[0].at("cached"), true);
  EXPECT_EQ(rows[1].at("verdict"), "WRONG_ANSWER");
  EXPECT_EQ(rows[1].at("cached"), false);
  EXPECT_EQ(rows[2].at("verdict"), "ACCEPTED");
  EXPECT_EQ(cached(job), 2U);
}

TEST_F(CacheTest, EqualCasesOfAJobAreSolvedOnce) {
  Process daemon = start_daemon(
      {"--answer-cache-cost", "0s", "--workers", "1", "--dispatch-cases-first", "100"});
  std::string text = "90\n";
  for (int i = 0; i < 90; ++i) text += i % 2 == 0 ? "4\n7 8\n" : " 4\n 7   8 \n";
  const std::string job = submit_and_wait({"duel", file("same.in", text)});
  EXPECT_GE(cached(job), 80U) << "a few dispatches, each with one that was solved";
  std::set<std::string> answers;
  for (const Json& row : results(job)) answers.insert(row.at("answer").dump());
  EXPECT_EQ(answers.size(), 1U);
  expect_sound();
}

TEST_F(CacheTest, CheapCasesAreLeftAlone) {
  Process daemon = start_daemon({"--workers", "2", "--answer-cache-cost", "1h"});
  const std::string input = file("games.in", duel_file(2'000));
  submit_and_wait({"duel", input});
  EXPECT_EQ(cached(submit_and_wait({"duel", input})), 0U);
}

TEST_F(CacheTest, ItCanBeTurnedOff) {
  Process daemon =
      start_daemon({"--workers", "2", "--answer-cache-cost", "0s", "--answer-cache-max", "0"});
  const std::string input = file("games.in", duel_file());
  submit_and_wait({"duel", input});
  EXPECT_EQ(cached(submit_and_wait({"duel", input})), 0U);
}

}  // namespace
}  // namespace puzzled::testing
