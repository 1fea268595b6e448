// The daemon as a program: who may start it, what it leaves behind, and that it comes back.
#include <gmock/gmock.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <set>

#include "tests/e2e/fixture.h"

namespace puzzled::testing {
namespace {

using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DaemonTest : public EndToEnd {
 protected:
  // Kills or ends the daemon and waits until it is gone.
  static void stop(Process& daemon, int signal_number) {
    daemon.signal(signal_number);
    const auto ended = daemon.wait(seconds(60));
    ASSERT_TRUE(ended.has_value());
    if (signal_number == SIGTERM) {
      EXPECT_EQ(ended->exit_code, 0) << ended->err;
    }
  }
  Ended refused(const Arguments& command) {
    auto ended = start(command).wait(seconds(60));
    EXPECT_TRUE(ended.has_value()) << "it runs";
    return ended.value_or(Ended{});
  }
  // Every case has one result, and all are good.
  void expect_complete(const std::string& job, std::size_t cases) {
    const std::vector<Json> rows = results(job);
    std::set<std::uint64_t> seen;
    for (const Json& row : rows) seen.insert(row.at("case").get<std::uint64_t>());
    EXPECT_EQ(rows.size(), cases);
    EXPECT_EQ(seen.size(), cases);
    EXPECT_EQ(count(rows, "SOLVED"), cases);
    EXPECT_EQ(status(job).at("state"), "DONE");
  }
};

TEST_F(DaemonTest, ASecondOneIsRefusedOnTheSameDatabase) {
  Process daemon = start_daemon();
  const Ended second = refused({kPuzzled, "--endpoint", "ipc://" + path("other.sock").string(),
                                "--database", database_, "--workers", "0"});
  EXPECT_EQ(second.exit_code, 5);
  EXPECT_THAT(second.err, HasSubstr("already"));
  EXPECT_EQ(ctl({"workers"}).exit_code, 0);
}

TEST_F(DaemonTest, ASecondOneIsRefusedOnTheSameEndpoint) {
  Process daemon = start_daemon();
  const Ended second = refused({kPuzzled, "--endpoint", endpoint_, "--database",
                                path("other.db").string(), "--workers", "0"});
  EXPECT_EQ(second.exit_code, 5);
  EXPECT_THAT(second.err, HasSubstr("already"));
  EXPECT_EQ(ctl({"workers"}).exit_code, 0) << "the first one must still be reached";
}

TEST_F(DaemonTest, ANewerDatabaseIsRefusedAndLeftAlone) {
  {
    Process daemon = start_daemon({"--workers", "0"});
    stop(daemon, SIGTERM);
  }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(database_.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "PRAGMA user_version = 4711", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  const std::string before = read_file(database_);

  const Ended ended = refused({kPuzzled, "--endpoint", endpoint_, "--database", database_});
  EXPECT_EQ(ended.exit_code, 5);
  EXPECT_THAT(ended.err, HasSubstr("newer"));
  EXPECT_EQ(read_file(database_), before);
}

TEST_F(DaemonTest, AFileThatIsNoDatabaseIsRefusedAndLeftAlone) {
  const std::string text(10'000, 'x');
  file("store/puzzled.db", text);
  const Ended ended = refused({kPuzzled, "--endpoint", endpoint_, "--database", database_});
  EXPECT_EQ(ended.exit_code, 74);
  EXPECT_EQ(read_file(database_), text);
}

TEST_F(DaemonTest, BadSettingsAreRefused) {
  EXPECT_EQ(refused({kPuzzled, "--no-such-flag"}).exit_code, 2);
  EXPECT_EQ(refused({kPuzzled, "--endpoint", "nonsense"}).exit_code, 2);
  EXPECT_EQ(refused({kPuzzled, "--config", path("none.toml")}).exit_code, 2);
  const std::string bad = file("bad.toml", "no_such_setting = 1\n");
  const Ended ended = refused({kPuzzled, "--config", bad});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("no_such_setting"));
}

TEST_F(DaemonTest, ItsSocketsAreForItsUserOnly) {
  Process daemon = start_daemon();
  for (const char* name : {"client.sock", "worker.sock"}) {
    struct stat info {};
    ASSERT_EQ(::stat(path(name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 0777U, 0600U) << name;
  }
}

TEST_F(DaemonTest, ItRunsWithoutARuntimeFolderAndWithAUmaskThatHidesNothing) {
  environment_.erase("PUZZLED_ENDPOINT");
  environment_["XDG_RUNTIME_DIR"] = path("runtime").string();
  std::filesystem::create_directories(path("runtime"));
  Process daemon = start({kPuzzled, "--workers", "1"});
  EXPECT_EQ(ctl({"--connect-timeout", "60s", "workers"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("runtime/puzzled/client.sock")));
  EXPECT_TRUE(std::filesystem::exists(path("home/.local/share/puzzled/puzzled.db")));
}

TEST_F(DaemonTest, ItsWorkersEndWhenItIsKilled) {
  Process daemon = start_daemon({"--workers", "3"});
  std::vector<pid_t> family;
  ASSERT_TRUE(eventually([&] {
    family = children_of(daemon.pid());
    const std::vector<pid_t> workers = family;
    for (const pid_t worker : workers) {
      for (const pid_t slot : children_of(worker)) family.push_back(slot);
    }
    return family.size() >= 6;  // three workers, each with a solver process
  }));
  stop(daemon, SIGKILL);
  for (const pid_t pid : family) {
    EXPECT_TRUE(eventually([&] { return !is_alive(pid); })) << pid;
  }
}

TEST_F(DaemonTest, ADeadWorkerIsReplaced) {
  Process daemon = start_daemon({"--workers", "1"});
  std::vector<pid_t> workers;
  ASSERT_TRUE(eventually([&] { return !(workers = children_of(daemon.pid())).empty(); }));
  ::kill(workers.front(), SIGKILL);
  EXPECT_TRUE(eventually([&] {
    const std::vector<pid_t> now = children_of(daemon.pid());
    return !now.empty() && now.front() != workers.front();
  }));
  const std::string job = submit({"bishops", file("a.in", bishops_file(10))});
  EXPECT_EQ(ctl({"wait", job}).exit_code, 0);
}

class RestartTest : public DaemonTest, public ::testing::WithParamInterface<int> {};

TEST_P(RestartTest, InTheMiddleOfAnUpload) {
  constexpr std::size_t kMany = 200'000;
  auto daemon = std::make_unique<Process>(start_daemon());
  Process upload = start({kCtl, "submit", "bishops", file("many.in", bishops_file(kMany))});
  // Stop the client as soon as something has come in, so that it is the middle for certain.
  ASSERT_TRUE(eventually([&] {
    const Json jobs = Json::parse(ctl_out({"jobs", "--output", "json"}));
    return !jobs.empty() && jobs[0].at("cases") > 0;
  }));
  upload.signal(SIGSTOP);
  const Json halfway = status("1");
  ASSERT_EQ(halfway.at("state"), "UPLOADING") << "the upload was too quick for this test";
  ASSERT_LT(halfway.at("cases"), kMany);

  stop(*daemon, GetParam());
  daemon = std::make_unique<Process>(start_daemon());
  EXPECT_GE(status("1").at("cases"), halfway.at("cases")) << "acknowledged, then lost";
  upload.signal(SIGCONT);
  const auto ended = upload.wait(seconds(120));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 0) << ended->err;
  EXPECT_EQ(ended->out, "1\n");
  EXPECT_EQ(ctl({"wait", "1"}).exit_code, 0);
  expect_complete("1", kMany);
}

TEST_P(RestartTest, InTheMiddleOfAJob) {
  constexpr std::size_t kMany = 100'000;
  auto daemon = std::make_unique<Process>(start_daemon());
  const std::string input = file("many.in", bishops_file(kMany));
  const std::string job = submit({"bishops", input});
  Process waiting = start({kCtl, "wait", job});
  ASSERT_TRUE(eventually([&] { return status(job).at("done") > 0; }));

  stop(*daemon, GetParam());
  daemon = std::make_unique<Process>(start_daemon());
  const auto ended = waiting.wait(seconds(120));
  ASSERT_TRUE(ended.has_value()) << "wait does not survive a restart";
  EXPECT_EQ(ended->exit_code, 0) << ended->err;
  expect_complete(job, kMany);

  ctl_out({"export", job, path("exported")});
  EXPECT_EQ(read_file(path("exported/many.ans")), ctl({"solve", "bishops", input}).out);
}

TEST_P(RestartTest, AFinishedJobStaysFinished) {
  auto daemon = std::make_unique<Process>(start_daemon());
  const std::string job = submit({"bishops", file("a.in", bishops_file(1'000)), "--wait"});
  const std::vector<Json> before = results(job);
  stop(*daemon, GetParam());
  daemon = std::make_unique<Process>(start_daemon());
  EXPECT_EQ(results(job), before);
  EXPECT_EQ(submit({"bishops", path("a.in")}), "2") << "an id was handed out again";
}

INSTANTIATE_TEST_SUITE_P(Daemon, RestartTest, ::testing::Values(SIGTERM, SIGKILL),
                         [](const auto& tested) {
                           return tested.param == SIGTERM ? "terminated" : "killed";
                         });

}  // namespace
}  // namespace puzzled::testing
