// Store::open(): what is created, and everything that is refused.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "daemon/store/store.h"
#include "tests/store/support.h"

namespace puzzled {
namespace {

struct Refusal {
  int exit_code = 0;
  std::string text;
};

class OpenTest : public ::testing::Test {
 protected:
  Refusal open(const std::string& path) {
    StoreOptions options;
    options.lock_wait_ms = 10;
    try {
      Store::open(path, options)->recover();
    } catch (const Fatal& fatal) {
      return {fatal.exit_code(), fatal.what()};
    }
    return {};
  }
  static unsigned mode(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777U;
  }
  void make_database() {
    const auto store = Store::open(path_, {});
    write(*store, {insert_job(1)});
    for (ChunkNo i = 0; i < 50; ++i) {
      write(*store, {insert_chunk(1, i, 1 + i * std::uint64_t{100}, 100)});
    }
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("puzzled.db");
};

TEST_F(OpenTest, CreatesFoldersAndFileForTheUserAlone) {
  const std::string path = folder_.file("a/b/puzzled.db");
  const auto store = Store::open(path, {});
  write(*store, {insert_job(1)});
  EXPECT_EQ(mode(folder_.file("a")), 0700U);
  EXPECT_EQ(mode(folder_.file("a/b")), 0700U);
  EXPECT_EQ(mode(path), 0600U);
  EXPECT_EQ(mode(path + "-wal"), 0600U);
  EXPECT_EQ(mode(path + ".lock"), 0600U);
}

TEST_F(OpenTest, ANewDatabaseIsMadeBesideAndRenamed) {
  namespace fs = std::filesystem;
  const std::string real = folder_.file("real.db");
  std::ofstream(real + ".new") << "what a crash left";
  fs::create_symlink(real, path_);
  EXPECT_EQ(open(path_).text, "");
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_GT(fs::file_size(real), 0U);
  for (const char* suffix : {".new", ".new-wal", ".new-shm", ".new-journal"}) {
    EXPECT_FALSE(fs::exists(real + suffix)) << suffix;
  }
}

// A log that is left from another database would be replayed into one that gets its name.
TEST_F(OpenTest, AnOldLogIsNotReplayedIntoANewDatabase) {
  const std::string copy = folder_.file("copy.wal");
  {
    const auto store = Store::open(path_, {});
    store->recover();
    write(*store, {insert_job(1)});
    std::filesystem::copy_file(path_ + "-wal", copy);
  }
  std::filesystem::resize_file(path_, 0);
  std::filesystem::copy_file(copy, path_ + "-wal");
  EXPECT_EQ(open(path_).exit_code, 0);
  EXPECT_TRUE(Store::open(path_, {})->recover().jobs.empty());
}

TEST_F(OpenTest, UsesTheSafeSettings) {
  const auto store = Store::open(path_, {});
  sqlite::Connection connection(path_, sqlite::Connection::Mode::kReadOnly);
  EXPECT_EQ(connection.integer("SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
}

TEST_F(OpenTest, ASecondDaemonIsRefused) {
  const auto store = Store::open(path_, {});
  const Refusal refusal = open(path_);
  EXPECT_EQ(refusal.exit_code, kExitRefused);
  EXPECT_NE(refusal.text.find("(process " + std::to_string(getpid()) + ")"), std::string::npos)
      << refusal.text;
  EXPECT_NE(refusal.text.find(path_), std::string::npos) << refusal.text;
}

TEST_F(OpenTest, TheLockEndsWithTheStoreAndIsNotInherited) {
  auto store = Store::open(path_, {});
  bool found = false;
  for (int descriptor = 3; descriptor < 64; ++descriptor) {
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    std::error_code error;
    if (std::filesystem::read_symlink(link, error) != path_ + ".lock") continue;
    found = true;
    EXPECT_NE(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_TRUE(found);
  store = nullptr;
  EXPECT_EQ(open(path_).text, "");
}

TEST_F(OpenTest, ANewerDatabaseIsRefusedAndLeftAlone) {
  make_database();
  {
    sqlite::Connection connection(path_, sqlite::Connection::Mode::kReadWrite);
    connection.exec("PRAGMA user_version = 99");
  }
  const Refusal refusal = open(path_);
  EXPECT_EQ(refusal.exit_code, kExitRefused);
  EXPECT_NE(refusal.text.find("schema 99"), std::string::npos) << refusal.text;
  EXPECT_EQ(look(path_, "PRAGMA user_version"), 99);
}

TEST_F(OpenTest, AnotherProgramsDatabaseIsRefusedAndLeftAlone) {
  close(::open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  {
    sqlite::Connection connection(path_, sqlite::Connection::Mode::kReadWrite);
    connection.exec("CREATE TABLE bookmarks (a)");
  }
  EXPECT_EQ(open(path_).exit_code, kExitRefused);
  EXPECT_EQ(look(path_, "SELECT journal_mode = 'delete' FROM pragma_journal_mode"), 1);
}

TEST_F(OpenTest, AForeignLockIsRefusedAfterAWait) {
  make_database();
  sqlite::Connection other(path_, sqlite::Connection::Mode::kReadWrite);
  other.exec("BEGIN IMMEDIATE");
  const Refusal refusal = open(path_);
  EXPECT_EQ(refusal.exit_code, kExitRefused);
  EXPECT_NE(refusal.text.find("lock"), std::string::npos) << refusal.text;
}

TEST_F(OpenTest, AFileThatIsNoDatabaseIsRefused) {
  std::ofstream(path_) << std::string(10000, 'x');
  const Refusal refusal = open(path_);
  EXPECT_EQ(refusal.exit_code, kExitIo);
  EXPECT_NE(refusal.text.find("damaged"), std::string::npos) << refusal.text;
  EXPECT_NE(refusal.text.find(path_), std::string::npos) << refusal.text;
}

TEST_F(OpenTest, ADatabaseThatIsCutOffIsRefused) {
  make_database();
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2 / 4096 * 4096);
  const Refusal refusal = open(path_);
  EXPECT_EQ(refusal.exit_code, kExitIo);
  EXPECT_NE(refusal.text.find("damaged"), std::string::npos) << refusal.text;
}

TEST_F(OpenTest, AFolderInPlaceOfTheFileIsRefused) {
  std::filesystem::create_directory(path_);
  const Refusal refusal = open(path_);
  EXPECT_EQ(refusal.exit_code, kExitIo);
  EXPECT_NE(refusal.text.find(path_), std::string::npos) << refusal.text;
}

TEST_F(OpenTest, AFileInPlaceOfTheFolderIsRefused) {
  std::ofstream(folder_.file("file")) << "x";
  EXPECT_EQ(open(folder_.file("file/puzzled.db")).exit_code, kExitIo);
  EXPECT_EQ(open("/proc/puzzled/puzzled.db").exit_code, kExitIo);
}

}  // namespace
}  // namespace puzzled
