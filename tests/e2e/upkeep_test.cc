// doctor and backup as commands: of a daemon that works, of files, and back from a backup.
#include <gmock/gmock.h>
#include <signal.h>
#include <sqlite3.h>

#include <filesystem>
#include <set>

#include "tests/e2e/fixture.h"

namespace puzzled::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class UpkeepTest : public EndToEnd {
 protected:
  static void stop(Process& daemon, int signal_number = SIGTERM) {
    daemon.signal(signal_number);
    ASSERT_TRUE(daemon.wait(seconds(60)).has_value());
  }
  void change(const std::string& database, const char* sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(database.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }
  void expect_clean(const Arguments& more = {}) {
    Arguments command = {"doctor", "--output", "json"};
    command.insert(command.end(), more.begin(), more.end());
    EXPECT_EQ(Json::parse(ctl_out(command)), Json::array());
  }
};

TEST_F(UpkeepTest, ARunningDaemonIsClean) {
  Process daemon = start_daemon();
  const std::string job =
      submit({"bishops", file("a.in", bishops_file(5'000)), "--no-answers"}, "");
  expect_clean();  // while it works
  ctl_out({"wait", job});
  expect_clean();
  const Ended ended = ctl({"doctor"});
  EXPECT_THAT(ended.err, HasSubstr("all is well"));
  EXPECT_EQ(ended.out, "");
}

TEST_F(UpkeepTest, AJobThatNobodyCanSolveIsSaidToBeStuck) {
  Process daemon = start_daemon({"--workers", "0"});
  const std::string job = submit({"bishops", file("a.in", bishops_file(3)), "--no-answers"});
  const Json findings = Json::parse(ctl_out({"doctor", "--output", "json"}, 1));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].at("rule"), "stuck");
  EXPECT_EQ(std::to_string(findings[0].at("job").get<int>()), job);
}

TEST_F(UpkeepTest, WhatIsWrongInTheStoreIsSaidByDaemonAndByFile) {
  {
    Process daemon = start_daemon();
    ctl_out({"wait", submit({"bishops", file("a.in", bishops_file(20)), "--no-answers"})});
    stop(daemon);
  }
  expect_clean({"--database", database_});
  change(database_, "DELETE FROM results WHERE id % 4294967296 = 7");
  const auto is_it = [](const Json& findings) {
    EXPECT_EQ(findings.at(0).at("rule"), "ledger");
    EXPECT_EQ(findings.at(0).at("job"), 1);
    EXPECT_EQ(findings.at(0).at("chunk"), 0);
    EXPECT_EQ(findings.at(0).at("case"), 7);
    EXPECT_NE(findings.at(0).at("advice"), "");
  };
  is_it(Json::parse(ctl_out({"doctor", "--database", database_, "--output", "json"}, 1)));
  Process daemon = start_daemon({"--workers", "0", "--upkeep-interval", "10ms"});
  is_it(Json::parse(ctl_out({"doctor", "--output", "json"}, 1)));
  const Ended refused = ctl({"doctor", "--database", database_});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, HasSubstr("runs on the database"));
  daemon.signal(SIGTERM);
  const auto ended = daemon.wait(seconds(60));
  ASSERT_TRUE(ended.has_value());
  EXPECT_THAT(ended->err, HasSubstr("rule ledger: job 1, chunk 0, case 7"));
}

TEST_F(UpkeepTest, WhatIsNoDatabaseCannotBeRead) {
  EXPECT_EQ(ctl({"doctor", "--database", path("missing")}).exit_code, 74);
  EXPECT_EQ(ctl({"doctor", "--database", file("junk", std::string(9'000, 'x'))}).exit_code, 74);
}

// A backup in the middle of work is in order; a daemon on it has every acknowledged case, and goes
// on where the backup was made.
TEST_F(UpkeepTest, ADaemonStartsFromABackup) {
  const std::string copy = path("copy.db");
  std::uint64_t cases = 0;
  {
    Process daemon = start_daemon();
    const std::string job = submit({"bishops", file("a.in", bishops_file(20'000)), "--no-answers"});
    cases = status(job).at("cases").get<std::uint64_t>();
    ctl_out({"backup", copy});
    const Ended twice = ctl({"backup", copy});
    EXPECT_EQ(twice.exit_code, 4);
    EXPECT_THAT(twice.err, HasSubstr("--force"));
    ctl_out({"backup", copy, "--force"});
    stop(daemon, SIGKILL);
  }
  expect_clean({"--database", copy});
  database_ = copy;
  Process daemon = start_daemon();
  ctl_out({"wait", "1"});
  EXPECT_EQ(cases, 20'000U);
  std::set<std::uint64_t> seen;
  for (const Json& row : results("1")) seen.insert(row.at("case").get<std::uint64_t>());
  EXPECT_EQ(seen.size(), cases);
  expect_clean();
}

TEST_F(UpkeepTest, ABackupToAPlaceThatCannotBeWrittenIsRefused) {
  Process daemon = start_daemon({"--workers", "0"});
  const Ended ended = ctl({"backup", path("missing/copy.db")});
  EXPECT_EQ(ended.exit_code, 4);
  EXPECT_THAT(ended.err, HasSubstr("missing/copy.db"));
  EXPECT_EQ(ctl({"backup", database_, "--force"}).exit_code, 4);
  expect_clean();
}

}  // namespace
}  // namespace puzzled::testing
