#include "daemon/store/store_thread.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>

#include "tests/store/store_thread_fixture.h"

namespace puzzled {
namespace {

TEST_F(StoreThreadTest, DurableMeansThatAnotherConnectionSeesIt) {
  start();
  for (std::uint64_t i = 1; i <= 100; ++i) {
    thread_->submit({.sequence = i, .records = {insert_job(i)}, .loads = {}});
  }
  std::uint64_t last = 0;
  EXPECT_TRUE(wait([&] {
    if (durable() != last) {
      last = durable();
      EXPECT_GE(look(path_, "SELECT count(*) FROM jobs"), static_cast<std::int64_t>(last));
    }
    return last == 100;
  }));
  EXPECT_EQ(thread_->queued_bytes(), 0U);
}

TEST_F(StoreThreadTest, AQueueBecomesOneTransaction) {
  start();
  // While a foreign lock holds the thread up, all that comes is gathered.
  sqlite::Connection other(path_, sqlite::Connection::Mode::kReadWrite);
  other.exec("BEGIN IMMEDIATE");
  for (std::uint64_t i = 1; i <= 50; ++i) {
    thread_->submit({.sequence = i, .records = {insert_job(i)}, .loads = {}});
  }
  EXPECT_TRUE(wait([&] { return count<event::IntakePaused>() == 1; }));
  EXPECT_EQ(count<StoreThread::Durable>(), 0U);
  EXPECT_GT(thread_->queued_bytes(), 0U);
  other.exec("ROLLBACK");
  EXPECT_TRUE(wait([&] { return count<event::IntakeResumed>() == 1; }));
  EXPECT_TRUE(wait([&] { return durable() == 50; }));
  // The try that was waiting for the lock may have begun with a part of it.
  EXPECT_LE(count<StoreThread::Durable>(), 2U);
}

TEST_F(StoreThreadTest, ASmallJobIsOneTransaction) {
  StoreOptions options;
  options.upload_linger_us = 600'000'000;  // without its seal it would hang
  start(path_, options);
  thread_->submit({.sequence = 1, .records = {insert_job(1)}, .loads = {}});
  thread_->submit({.sequence = 2, .records = {insert_chunk(1, 0, 1, 3)}, .loads = {}});
  thread_->submit({.sequence = 3, .records = {record::SealJob{{1}, 0, 1}}, .loads = {}});
  EXPECT_TRUE(wait([&] { return durable() == 3; }));
  EXPECT_EQ(count<StoreThread::Durable>(), 1U);
}

TEST_F(StoreThreadTest, NothingElseWaitsForAnUpload) {
  StoreOptions options;
  options.upload_linger_us = 600'000'000;
  start(path_, options);
  thread_->submit({.sequence = 1, .records = {insert_job(1)}, .loads = {}});
  thread_->submit({.sequence = 2, .records = {insert_worker(1)}, .loads = {}});
  EXPECT_TRUE(wait([&] { return durable() == 2; }));
}

TEST_F(StoreThreadTest, AnUploadIsWrittenAtTheEnd) {
  StoreOptions options;
  options.upload_linger_us = 600'000'000;
  start(path_, options);
  thread_->submit({.sequence = 1, .records = {insert_job(1)}, .loads = {}});
  thread_.reset();
  EXPECT_EQ(look(path_, "SELECT count(*) FROM jobs"), 1);
}

TEST_F(StoreThreadTest, ATransactionIsBoundedInRows) {
  StoreOptions options;
  options.commit_rows_max = 10;
  start(path_, options);
  sqlite::Connection other(path_, sqlite::Connection::Mode::kReadWrite);
  other.exec("BEGIN IMMEDIATE");
  for (std::uint64_t i = 1; i <= 50; ++i) {
    thread_->submit({.sequence = i, .records = {insert_job(i)}, .loads = {}});
  }
  EXPECT_TRUE(wait([&] { return count<event::IntakePaused>() == 1; }));
  other.exec("ROLLBACK");
  EXPECT_TRUE(wait([&] { return durable() == 50; }));
  EXPECT_GE(count<StoreThread::Durable>(), 5U);
}

// A copy of an answer is small in memory, and in the database as large as the answer.
TEST_F(StoreThreadTest, ATransactionIsBoundedInBytesThatItCopies) {
  StoreOptions options;
  options.commit_bytes_max = 10'000;
  start(path_, options);
  const std::string answer(20'000, 'x');
  auto results = insert_results(1, {{1, 0, Verdict::kSolved, answer}});
  const std::string key(kAnswerKeyBytes, 'k');
  results.results.results[0].key = key;
  results.keeps_answers = true;
  thread_->submit({.sequence = 1,
                   .records = {insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 1), results},
                   .loads = {}});
  EXPECT_TRUE(wait([&] { return durable() == 1; }));
  const std::int64_t source = look(path_, "SELECT result FROM answers");
  sqlite::Connection other(path_, sqlite::Connection::Mode::kReadWrite);
  other.exec("BEGIN IMMEDIATE");
  for (std::uint64_t i = 2; i <= 6; ++i) {
    const record::InsertCached copy{.job = {i},
                                    .chunk_no = 0,
                                    .first_case = {1},
                                    .solver_version = "solver 1",
                                    .graded_ms = 99,
                                    .answers = {{.source = source, .answer_bytes = answer.size()}}};
    thread_->submit(
        {.sequence = i, .records = {insert_job(i), insert_chunk(i, 0, 1, 1), copy}, .loads = {}});
  }
  EXPECT_TRUE(wait([&] { return count<event::IntakePaused>() == 1; }));
  other.exec("ROLLBACK");
  EXPECT_TRUE(wait([&] { return durable() == 6; }));
  EXPECT_EQ(count<StoreThread::Durable>(), 6U);
}

TEST_F(StoreThreadTest, LoadsSeeTheRecordsBeforeThemAndKeepTheirOrder) {
  start();
  const auto load = [](ChunkNo chunk_no) {
    return LoadChunk{.job = {1},
                     .chunk_no = chunk_no,
                     .first_case = {1 + std::uint64_t{5} * chunk_no},
                     .case_count = 5,
                     .with_done = true};
  };
  thread_->submit({.sequence = 1,
                   .records = {insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 5)},
                   .loads = {load(0)}});
  thread_->submit({.sequence = 2,
                   .records = {insert_chunk(1, 1, 6, 5), insert_results(1, {{.case_no = 2}})},
                   .loads = {load(1), load(0)}});
  thread_->submit({.sequence = 3, .records = {}, .loads = {load(0)}});
  EXPECT_TRUE(wait([&] { return count<event::ChunkLoaded>() == 4; }));
  std::vector<std::pair<ChunkNo, std::size_t>> loaded;
  for (const auto& report : reports_) {
    if (const auto* chunk = std::get_if<event::ChunkLoaded>(&report)) {
      loaded.emplace_back(chunk->chunk_no, chunk->done.size());
    }
  }
  EXPECT_EQ(loaded, (std::vector<std::pair<ChunkNo, std::size_t>>{{0, 0}, {1, 0}, {0, 1}, {0, 1}}));
  EXPECT_TRUE(wait([&] { return durable() == 3; }));
}

TEST_F(StoreThreadTest, WritesWhatIsQueuedBeforeItEnds) {
  start();
  for (std::uint64_t i = 1; i <= 200; ++i) {
    thread_->submit({.sequence = i, .records = {insert_job(i)}, .loads = {}});
  }
  thread_ = nullptr;
  EXPECT_EQ(Store::open(path_, {})->recover().jobs.size(), 200U);
}

TEST_F(StoreThreadTest, EndsWhileTheDatabaseIsLocked) {
  start();
  sqlite::Connection other(path_, sqlite::Connection::Mode::kReadWrite);
  other.exec("BEGIN IMMEDIATE");
  thread_->submit({.sequence = 1, .records = {insert_job(1)}, .loads = {}});
  thread_ = nullptr;
  other.exec("ROLLBACK");
  EXPECT_EQ(look(path_, "SELECT count(*) FROM jobs"), 0);
}

TEST_F(StoreThreadTest, CorruptionIsReportedOnceAndNothingIsAcknowledgedAfterIt) {
  start();
  thread_->submit({.sequence = 1, .records = {insert_job(1)}, .loads = {}});
  EXPECT_TRUE(wait([&] { return durable() == 1; }));
  thread_->submit({.sequence = 2,
                   .records = {insert_job(2)},
                   .loads = {{.job = {1}, .chunk_no = 9, .first_case = {1}, .case_count = 1}}});
  thread_->submit({.sequence = 3, .records = {insert_job(3)}, .loads = {}});
  EXPECT_TRUE(wait([&] { return count<StoreThread::Failed>() == 1; }));
  EXPECT_NE(first<StoreThread::Failed>().text.find(path_), std::string::npos);
  thread_ = nullptr;
  EXPECT_EQ(durable(), 1U);
  EXPECT_EQ(look(path_, "SELECT count(*) FROM jobs"), 1);
}

// A small file system of this process's own; false: this machine does not let us.
bool mount_small(const std::string& folder) {
  std::filesystem::create_directories(folder);
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  return mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=4m") == 0;
}

// Takes all the room that is left.
void fill(const std::string& path) {
  const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const std::string block(4096, 'x');
  while (::write(file, block.data(), block.size()) > 0) {
  }
  close(file);
}

TEST_F(StoreThreadTest, AFullDiskPausesIntakeAndRoomResumesIt) {
  const std::string disk = folder_.file("disk");
  if (!mount_small(disk)) GTEST_SKIP() << "not allowed to mount a small tmpfs";
  const std::string path = disk + "/puzzled.db";
  start(path);
  thread_->submit({.sequence = 1, .records = {insert_job(1), insert_worker(1)}, .loads = {}});
  EXPECT_TRUE(wait([&] { return durable() == 1; }));
  fill(disk + "/filler");
  for (ChunkNo i = 0; i < 20; ++i) {
    const std::uint64_t first = 1 + std::uint64_t{100} * i;
    std::vector<Graded> graded;
    for (std::uint64_t k = 0; k < 100; ++k) {
      graded.push_back({.case_no = first + k, .chunk_no = i, .answer = std::string(200, 'a')});
    }
    thread_->submit({.sequence = 2 + std::uint64_t{i},
                     .records = {insert_chunk(1, i, first, 100), insert_results(1, graded)},
                     .loads = {}});
  }
  EXPECT_TRUE(wait([&] { return count<event::IntakePaused>() == 1; }));
  EXPECT_NE(first<event::IntakePaused>().reason.find("no room"), std::string::npos);
  // What is acknowledged is there, the rest is not, and reads go on.
  const std::uint64_t done = durable();
  EXPECT_LT(done, 21U);
  EXPECT_EQ(look(path, "SELECT count(*) FROM chunks"), static_cast<std::int64_t>(done) - 1);
  std::filesystem::remove(disk + "/filler");
  EXPECT_TRUE(wait([&] { return count<event::IntakeResumed>() == 1 && durable() == 21; }));
  EXPECT_EQ(count<StoreThread::Failed>(), 0U);
  EXPECT_EQ(count<event::IntakePaused>(), 1U);
  EXPECT_EQ(look(path, "SELECT count(*) FROM results"), 2000);
  EXPECT_EQ(look(path, "SELECT done FROM totals"), 2000);
  thread_ = nullptr;
  EXPECT_EQ(look(path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
            1);
  umount(disk.c_str());
}

}  // namespace
}  // namespace puzzled
