// What can happen to the database under a running daemon: a full disk, a foreign lock, a foreign
// reader, damage. Short by default; PUZZLED_LONG=1 makes the faults last as long as they may.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/e2e/fixture.h"

namespace puzzled::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

bool is_long() { return std::getenv("PUZZLED_LONG") != nullptr; }

// A program of its own on the same database would do the same; this is quicker to direct.
class Database {
 public:
  explicit Database(const std::string& path) {
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
    sqlite3_busy_timeout(handle_, 60'000);
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const char* sql) {
    EXPECT_EQ(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr), SQLITE_OK)
        << sql << ": " << sqlite3_errmsg(handle_);
  }
  std::int64_t number(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr), SQLITE_OK) << sql;
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW) << sql;
    const std::int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
  }

 private:
  sqlite3* handle_ = nullptr;
};

class StorageTest : public EndToEnd {
 protected:
  static constexpr std::size_t kMany = 100'000;

  Json daemon_status() { return Json::parse(ctl_out({"status", "--output", "json"})); }
  bool paused_because(const std::string& reason) {
    return eventually(
        [&] {
          const Json status = daemon_status();
          return status.at("intake") == "paused" &&
                 status.at("intake_reason").get<std::string>().find(reason) != std::string::npos;
        },
        seconds(90));
  }
  // An upload that is stopped somewhere in its middle.
  Process start_upload(std::size_t cases = kMany) {
    cases_ = cases;
    const std::string input = file("many.in", bishops_file(cases));
    Process upload = start({kCtl, "submit", "bishops", input});
    EXPECT_TRUE(eventually([&] {
      const Json jobs = Json::parse(ctl_out({"jobs", "--output", "json"}));
      return !jobs.empty() && jobs[0].at("cases") > 0;
    }));
    upload.signal(SIGSTOP);
    EXPECT_EQ(status("1").at("state"), "UPLOADING") << "the upload was too quick for this test";
    return upload;
  }
  // The fault goes on for `length`; nothing is accepted that is not on the disk, and reads go on.
  void expect_paused_for(seconds length, Process& upload) {
    const std::int64_t on_disk =
        Database(database_).number("SELECT coalesce(sum(case_count), 0) FROM jobs");
    const auto end = std::chrono::steady_clock::now() + length;
    do {
      EXPECT_EQ(status("1").at("cases"), on_disk);
      EXPECT_TRUE(upload.running());
      EXPECT_EQ(ctl({"results", "1", "--limit", "10"}).exit_code, 0);
      std::this_thread::sleep_for(milliseconds(200));
    } while (std::chrono::steady_clock::now() < end);
  }
  void expect_all_well(Process& daemon, Process& upload) {
    const auto ended = upload.wait(seconds(200));
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->exit_code, 0) << ended->err;
    EXPECT_EQ(ctl({"wait", "1"}).exit_code, 0);
    EXPECT_TRUE(daemon.running()) << "it was to go on by itself";
    EXPECT_EQ(daemon_status().at("intake"), "open");
    ctl_out({"export", "1", path("exported")});
    EXPECT_EQ(read_file(path("exported/many.ans")), ctl({"solve", "bishops", path("many.in")}).out);
    expect_ledger();
  }
  // Accepted = done, once each, and every count agrees with what it counts.
  void expect_ledger() {
    Database database(database_);
    const auto many = static_cast<std::int64_t>(cases_);
    EXPECT_EQ(database.number("SELECT case_count FROM jobs"), many);
    EXPECT_EQ(database.number("SELECT finished_ms IS NOT NULL FROM jobs"), 1);
    EXPECT_EQ(database.number("SELECT sum(case_count) FROM chunks"), many);
    EXPECT_EQ(database.number("SELECT count(*) FROM chunks"),
              database.number("SELECT count(*) FROM chunk_cases"));
    EXPECT_EQ(database.number("SELECT count(*) FROM results"), many);
    EXPECT_EQ(database.number("SELECT sum(done) FROM progress"), many);
    EXPECT_EQ(database.number("SELECT sum(done) FROM totals"), many);
    EXPECT_EQ(database.number("SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
  }

  std::size_t cases_ = 0;
};

// A small file system that only this process and its children see; false: we are not allowed to.
bool mount_small(const std::string& folder) {
  std::filesystem::create_directories(folder);
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  return mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=48m") == 0;
}

void fill(const std::string& path) {
  const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const std::string block(4096, 'x');
  while (::write(file, block.data(), block.size()) > 0) {
  }
  close(file);
}

TEST_F(StorageTest, AFullDiskInTheMiddleOfAnUpload) {
  const std::string disk = path("disk");
  if (!mount_small(disk)) GTEST_SKIP() << "not allowed to mount a small tmpfs";
  database_ = disk + "/puzzled.db";
  {
    Process daemon = start_daemon();
    Process upload = start_upload();
    fill(disk + "/filler");
    upload.signal(SIGCONT);
    ASSERT_TRUE(paused_because("no room"));
    EXPECT_THAT(ctl_out({"doctor", "--output", "json"}, 1), HasSubstr("intake-paused"));
    expect_paused_for(seconds(is_long() ? 20 : 2), upload);
    std::filesystem::remove(disk + "/filler");
    expect_all_well(daemon, upload);
    daemon.signal(SIGTERM);
    EXPECT_TRUE(daemon.wait(seconds(60)).has_value());
  }
  EXPECT_EQ(umount(disk.c_str()), 0);
}

TEST_F(StorageTest, AForeignProcessThatHoldsTheLock) {
  Process daemon = start_daemon();
  Process upload = start_upload();
  Database foreign(database_);
  foreign.run("BEGIN IMMEDIATE");
  upload.signal(SIGCONT);
  ASSERT_TRUE(paused_because("another process holds the lock"));
  expect_paused_for(seconds(is_long() ? 10 : 2), upload);
  foreign.run("ROLLBACK");
  expect_all_well(daemon, upload);
}

TEST_F(StorageTest, AForeignReaderThatStays) {
  Process daemon = start_daemon({"--workers", "2", "--wal-bytes-max", "4MiB",
                                 "--checkpoint-wal-bytes", "1MiB", "--disk-retry", "100ms"});
  Database foreign(database_);
  foreign.run("BEGIN");
  foreign.number("SELECT count(*) FROM jobs");
  Process upload = start_upload(3 * kMany);
  upload.signal(SIGCONT);
  ASSERT_TRUE(paused_because("a reader of the database"));
  const Json status = daemon_status();
  EXPECT_THAT(status.at("intake_reason").get<std::string>(),
              HasSubstr("process " + std::to_string(getpid())));
  EXPECT_GT(status.at("wal_reader_age_ms"), 0);
  expect_paused_for(seconds(is_long() ? 20 : 2), upload);
  EXPECT_LE(std::filesystem::file_size(database_ + "-wal"), 4U << 20U);
  EXPECT_GT(daemon_status().at("wal_reader_age_ms"), status.at("wal_reader_age_ms"));
  foreign.run("COMMIT");
  expect_all_well(daemon, upload);
  EXPECT_LE(std::filesystem::file_size(database_ + "-wal"), 4U << 20U);
}

// Changes bytes of the stopped daemon's database, and starts it: it must end with exit code 74 and
// say so, at once or when it meets the damage.
class DamageTest : public StorageTest {
 protected:
  void make_database() {
    Process daemon = start_daemon();
    submit({"bishops", file("a.in", bishops_file(20'000)), "--wait"});
    submit({"bishops", file("b.in", bishops_file(500)), "--wait"});
    daemon.signal(SIGTERM);
    ASSERT_TRUE(daemon.wait(seconds(60)).has_value());
    ASSERT_GT(std::filesystem::file_size(database_), 500'000U);
  }
  void overwrite(std::uint64_t at, const std::string& bytes) {
    std::fstream out(database_, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(at));
    out << bytes;
    ASSERT_TRUE(out.good());
  }
  // Reads all results until the daemon has ended.
  void expect_stops() {
    Process daemon =
        start({kPuzzled, "--endpoint", endpoint_, "--database", database_, "--workers", "0"});
    auto ended = daemon.wait(seconds(3));
    for (int i = 0; i < 3 && !ended; ++i) {
      start({kCtl, "--connect-timeout", "3s", "results", "1"}).wait(seconds(20));
      ended = daemon.wait(seconds(2));
    }
    ASSERT_TRUE(ended.has_value()) << "it runs on a damaged database";
    EXPECT_EQ(ended->exit_code, 74);
    EXPECT_THAT(ended->err, HasSubstr("damaged"));
  }
};

TEST_F(DamageTest, AHeaderThatIsNone) {
  make_database();
  overwrite(3, "!");
  expect_stops();
}

TEST_F(DamageTest, AFileThatWasCutOff) {
  make_database();
  std::filesystem::resize_file(database_, std::filesystem::file_size(database_) / 2 / 4096 * 4096);
  expect_stops();
}

TEST_F(DamageTest, PagesInTheMiddle) {
  make_database();
  const std::uint64_t pages = std::filesystem::file_size(database_) / 4096;
  for (std::uint64_t page = pages / 4; page < pages; page += 7) {
    overwrite(page * 4096, std::string(200, '\x5a'));
  }
  expect_stops();
}

}  // namespace
}  // namespace puzzled::testing
