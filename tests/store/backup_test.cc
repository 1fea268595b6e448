// Backups: whole, consistent, in place only when they are, and careful with what is there.
#include "daemon/store/backup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "daemon/store/check_file.h"
#include "daemon/store/store_thread.h"
#include "proto/base/mailbox.h"
#include "proto/wire.h"
#include "tests/store/support.h"

namespace puzzled {
namespace {

record::InsertChunk chunk_of(std::uint64_t job, ChunkNo no, std::uint32_t count) {
  record::InsertChunk chunk = insert_chunk(job, no, 1 + no * std::uint64_t{count}, count);
  chunk.hash = wire::chunk_hash(chunk.cases->bytes, {});
  return chunk;
}

class BackupTest : public ::testing::Test {
 protected:
  BackupTest() {
    write(*store_, {insert_worker(1), insert_job(1)});
    for (ChunkNo no = 0; no < 20; ++no) write(*store_, {chunk_of(1, no, 500)});
  }
  // What is wrong with making one; empty: it was made.
  std::string make(const std::string& path, bool force = false) {
    try {
      Backup backup(store_->connection(), path_, path, force);
      while (!backup.step()) {
      }
      backup.publish();
    } catch (const BackupError& error) {
      return error.what();
    }
    return "";
  }
  static void expect_clean(const std::string& path) {
    FileCheck file(path);
    std::vector<std::uint64_t> cursor;
    do {
      const query::CheckPage page = file.page(cursor);
      for (const Finding& finding : page.findings) ADD_FAILURE() << finding.text;
      cursor = page.cursor;
    } while (!cursor.empty());
  }
  std::size_t files() {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file(""))) {
      count += entry.is_regular_file() ? 1 : 0;
    }
    return count;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("puzzled.db");
  std::string copy_ = folder_.file("copy.db");
  std::unique_ptr<Store> store_ = Store::open(path_, {});
};

TEST_F(BackupTest, IsWholeAndForItsUserAlone) {
  const std::size_t before = files();
  EXPECT_EQ(make(copy_), "");
  EXPECT_EQ(files(), before + 1) << "something was left beside it";
  struct stat status {};
  ASSERT_EQ(stat(copy_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  expect_clean(copy_);
  const auto restored = Store::open(copy_, {});
  const Recovery recovery = restored->recover();
  ASSERT_EQ(recovery.jobs.size(), 1U);
  EXPECT_EQ(recovery.jobs[0].case_count, 10'000U);
}

TEST_F(BackupTest, ARestoredOneUsesNoBootOfTheOriginal) {
  const std::uint64_t original = store_->recover().boot.value;
  EXPECT_EQ(make(copy_), "");
  EXPECT_GT(Store::open(copy_, {})->recover().boot.value, original + 100'000);
}

// Everything that was written between two steps is in it, and it never begins anew.
TEST_F(BackupTest, WhatIsWrittenMeanwhileIsInIt) {
  Backup backup(store_->connection(), path_, copy_, false);
  ChunkNo no = 20;
  int steps = 0;
  bool copied = false;
  while (!copied) {
    write(*store_, {chunk_of(1, no++, 500), insert_results(1, {{no, 0}})});
    copied = backup.step();
    ASSERT_LT(++steps, 1'000) << "the copy does not end";
  }
  backup.publish();
  expect_clean(copy_);
  EXPECT_EQ(look(copy_, "SELECT chunk_count FROM jobs"), no);
}

TEST_F(BackupTest, NothingIsReplacedUnasked) {
  std::ofstream(copy_) << "mine";
  EXPECT_NE(make(copy_).find("exists already"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(copy_), 4U);
}

TEST_F(BackupTest, OnlyAnOlderBackupIsReplaced) {
  std::ofstream(copy_) << std::string(200, 'x');
  EXPECT_NE(make(copy_, true).find("no database of puzzled"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(copy_), 200U);
  EXPECT_NE(make(path_, true).find("own database"), std::string::npos);
  EXPECT_NE(make(folder_.file(""), true), "");
  std::filesystem::remove(copy_);
  EXPECT_EQ(make(copy_), "");
  write(*store_, {chunk_of(1, 20, 500)});
  EXPECT_EQ(make(copy_, true), "");
  EXPECT_EQ(look(copy_, "SELECT chunk_count FROM jobs"), 21);
}

TEST_F(BackupTest, ADatabaseInUseIsNotReplaced) {
  const std::string other = folder_.file("other.db");
  const auto daemon = Store::open(other, {});
  write(*daemon, {insert_job(1)});
  EXPECT_NE(make(other, true).find("in use"), std::string::npos);
}

TEST_F(BackupTest, WhatFailsLeavesNothingBehind) {
  const std::size_t before = files();
  EXPECT_NE(make(folder_.file("missing/copy.db")), "");
  { Backup backup(store_->connection(), path_, copy_, false); }  // given up
  {
    Backup backup(store_->connection(), path_, copy_, false);
    while (!backup.step()) {
    }
    std::ofstream(copy_) << "it came meanwhile";
    EXPECT_THROW(backup.publish(), BackupError);
  }
  EXPECT_EQ(files(), before + 1);
  EXPECT_EQ(std::filesystem::file_size(copy_), 17U);
}

// The store's thread goes on writing; whatever was acknowledged before the request is in the copy.
TEST_F(BackupTest, UnderLoadItHasWhatWasAcknowledgedBefore) {
  Mailbox<int> woken;
  StoreThread thread(std::move(store_), {}, [&woken] { woken.put(1); });
  std::uint64_t sequence = 0;
  std::uint64_t durable = 0;
  std::optional<Backups::Ended> ended;
  const auto take = [&] {
    for (StoreThread::Report& report : thread.take()) {
      if (const auto* d = std::get_if<StoreThread::Durable>(&report)) durable = d->sequence;
      if (auto* e = std::get_if<Backups::Ended>(&report)) ended = std::move(*e);
    }
  };
  const auto submit = [&] {
    const auto no = static_cast<ChunkNo>(20 + sequence);
    thread.submit({++sequence, {chunk_of(1, no, 100)}, {}});
  };
  // Chunks of 100 cases after those of 500: only their place in the job differs.
  for (int i = 0; i < 50; ++i) submit();
  while (durable < 50) {
    woken.wait();
    take();
  }
  thread.back_up({.ticket = 7, .path = copy_, .force = false});
  while (!ended) {
    submit();
    take();
  }
  EXPECT_EQ(ended->ticket, 7U);
  EXPECT_EQ(ended->error, "");
  EXPECT_EQ(ended->bytes, std::filesystem::file_size(copy_));
  EXPECT_EQ(look(copy_, "PRAGMA integrity_check"), 0);
  EXPECT_GE(look(copy_, "SELECT count(*) FROM chunks"), 70);
  EXPECT_EQ(look(copy_, "SELECT (SELECT count(*) FROM chunks) - (SELECT chunk_count FROM jobs)"),
            0);
}

}  // namespace
}  // namespace puzzled
