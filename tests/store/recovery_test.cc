#include <gtest/gtest.h>

#include "daemon/store/store.h"
#include "proto/wire.h"
#include "tests/store/support.h"

namespace puzzled {
namespace {

class RecoveryTest : public ::testing::Test {
 protected:
  Recovery reopen() {
    store_ = nullptr;
    store_ = Store::open(path_, {});
    return store_->recover();
  }
  // REQUIRES: the store is closed.
  void set_boot(std::int64_t boot) {
    sqlite::Connection connection(path_, sqlite::Connection::Mode::kReadWrite);
    connection.exec("UPDATE meta SET boot = " + std::to_string(boot));
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("puzzled.db");
  std::unique_ptr<Store> store_ = Store::open(path_, {});
};

TEST_F(RecoveryTest, AnEmptyStore) {
  const Recovery recovery = store_->recover();
  EXPECT_GT(recovery.boot, Boot{0});
  EXPECT_EQ(recovery.last_job, JobId{0});
  EXPECT_EQ(recovery.last_worker, WorkerNo{0});
  EXPECT_TRUE(recovery.jobs.empty());
}

TEST_F(RecoveryTest, TheBootNumberRisesAndIsCommittedFirst) {
  Boot last{};
  for (int i = 0; i < 5; ++i) {
    const Boot boot = reopen().boot;
    EXPECT_GT(boot, last);
    EXPECT_EQ(look(path_, "SELECT boot FROM meta"), static_cast<std::int64_t>(boot.value));
    last = boot;
  }
}

TEST_F(RecoveryTest, TheBootNumberRisesThoughTheClockWasSetBack) {
  constexpr std::int64_t kFuture = 9'000'000'000'000;
  store_.reset();
  set_boot(kFuture);
  EXPECT_EQ(reopen().boot, Boot{kFuture + 1});
}

// A copy of the file that is put back has forgotten boots that workers still remember.
TEST_F(RecoveryTest, ABootNumberThatWasForgottenIsNotUsedAgain) {
  reopen();
  const std::int64_t before = look(path_, "SELECT boot FROM meta");
  const Boot forgotten = reopen().boot;
  store_.reset();
  set_boot(before);
  EXPECT_GT(reopen().boot, forgotten);
}

TEST_F(RecoveryTest, AnUnsealedJobComesWithItsHashes) {
  write(*store_, {insert_job(3, "sieben"), insert_chunk(3, 0, 1, 2, 1, {{"a", 1, 5}}),
                  insert_chunk(3, 1, 3, 3)});
  const Recovery recovery = reopen();
  ASSERT_EQ(recovery.jobs.size(), 1U);
  const RecoveredJob& job = recovery.jobs[0];
  EXPECT_EQ(recovery.last_job, JobId{3});
  EXPECT_EQ(job.job, JobId{3});
  EXPECT_EQ(job.request_id, bytes16(3));
  EXPECT_EQ(*job.spec, *insert_job(3, "sieben").spec);
  EXPECT_FALSE(job.sealed || job.cancelled || job.finished);
  EXPECT_EQ(job.created_ms, 1003);
  EXPECT_EQ(job.chunk_count, 2U);
  EXPECT_EQ(job.case_count, 5U);
  EXPECT_EQ(job.file_count, 1U);
  EXPECT_EQ(job.done_count, 0U);
  const std::vector<std::uint64_t> hashes = {insert_chunk(3, 0, 1, 2, 1, {{"a", 1, 5}}).hash,
                                             insert_chunk(3, 1, 3, 3).hash};
  EXPECT_EQ(job.chunk_hashes, hashes);
  EXPECT_EQ(job.digest,
            wire::fold_digest(wire::fold_digest(wire::kEmptyDigest, hashes[0]), hashes[1]));
  ASSERT_EQ(job.open_chunks.size(), 2U);
  EXPECT_EQ(job.open_chunks[1].first_case, CaseNo{3});
  EXPECT_EQ(job.open_chunks[1].case_count, 3U);
}

TEST_F(RecoveryTest, ASealedJobComesWithItsOpenChunksOnly) {
  write(*store_,
        {insert_job(1), insert_worker(8), insert_chunk(1, 0, 1, 2), insert_chunk(1, 1, 3, 0),
         insert_chunk(1, 2, 3, 3), insert_chunk(1, 3, 6, 1),
         record::SealJob{.job = {1}, .digest = 42, .sealed_ms = 9},
         insert_results(1, {{.case_no = 1}, {.case_no = 2}, {.case_no = 4, .chunk_no = 2}})});
  const Recovery recovery = reopen();
  const RecoveredJob& job = recovery.jobs.at(0);
  EXPECT_EQ(recovery.last_worker, WorkerNo{8});
  EXPECT_TRUE(job.sealed);
  EXPECT_EQ(job.digest, 42U);
  EXPECT_EQ(job.done_count, 3U);
  EXPECT_EQ(job.case_count, 6U);
  EXPECT_TRUE(job.chunk_hashes.empty());
  ASSERT_EQ(job.open_chunks.size(), 2U);
  EXPECT_EQ(job.open_chunks[0].chunk_no, 2U);
  EXPECT_EQ(job.open_chunks[0].done_count, 1U);
  EXPECT_EQ(job.open_chunks[1].chunk_no, 3U);
}

TEST_F(RecoveryTest, FinishedAndCancelledJobsAreCompact) {
  for (const std::uint64_t job : {1, 2}) {
    write(*store_, {insert_job(job), insert_worker(job), insert_chunk(job, 0, 1, 2),
                    insert_results(job, {{.case_no = 1}}),
                    record::InsertAttempt{.job = {job},
                                          .case_no = {2},
                                          .attempt = 1,
                                          .worker = {1},
                                          .start_id = bytes16(1),
                                          .ended_ms = 1,
                                          .message = "x"}});
  }
  write(*store_, {insert_results(1, {{.case_no = 2}}),
                  record::SealJob{.job = {1}, .digest = 1, .sealed_ms = 1},
                  record::FinishJob{.job = {1}, .finished_ms = 2},
                  record::CancelJob{.job = {2}, .reason = "why", .cancelled_ms = 3}});
  const Recovery recovery = reopen();
  ASSERT_EQ(recovery.jobs.size(), 2U);
  EXPECT_TRUE(recovery.jobs[0].finished && recovery.jobs[0].sealed);
  EXPECT_EQ(recovery.jobs[0].done_count, 2U);
  EXPECT_TRUE(recovery.jobs[1].cancelled && !recovery.jobs[1].finished);
  for (const RecoveredJob& job : recovery.jobs) {
    EXPECT_EQ(job.case_count, 2U);
    EXPECT_EQ(job.chunk_count, 1U);
    EXPECT_TRUE(job.open_chunks.empty());
    EXPECT_TRUE(job.attempts.empty());
    EXPECT_TRUE(job.chunk_hashes.empty());
  }
}

TEST_F(RecoveryTest, OnlyAttemptsOfOpenCases) {
  const auto attempt = [](std::uint64_t case_no, std::uint32_t number) {
    return record::InsertAttempt{.job = {1},
                                 .case_no = {case_no},
                                 .attempt = number,
                                 .worker = {1},
                                 .start_id = bytes16(static_cast<std::uint8_t>(number)),
                                 .ended_ms = 1,
                                 .message = "killed"};
  };
  write(*store_, {insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 3), attempt(3, 1),
                  attempt(2, 1), attempt(3, 2), insert_results(1, {{.case_no = 2}})});
  const Recovery recovery = reopen();
  const RecoveredJob& job = recovery.jobs.at(0);
  ASSERT_EQ(job.attempts.size(), 2U);
  EXPECT_EQ(job.attempts[0].case_no, CaseNo{3});
  EXPECT_EQ(job.attempts[0].attempt, 1U);
  EXPECT_EQ(job.attempts[1].attempt, 2U);
  EXPECT_EQ(job.attempts[1].start_id, bytes16(2));
}

TEST_F(RecoveryTest, RetractedAttemptsAreGone) {
  const auto attempt = [](std::uint64_t case_no, std::uint8_t start) {
    return record::InsertAttempt{.job = {1},
                                 .case_no = {case_no},
                                 .attempt = 1,
                                 .worker = {1},
                                 .start_id = bytes16(start),
                                 .ended_ms = 1,
                                 .message = "silent"};
  };
  write(*store_, {insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 3), attempt(3, 1),
                  attempt(2, 1), attempt(3, 2)});
  write(*store_, {record::RetractAttempt{.job = {1}, .case_no = {3}, .start_id = bytes16(1)}});
  const Recovery recovery = reopen();
  const RecoveredJob& job = recovery.jobs.at(0);
  ASSERT_EQ(job.attempts.size(), 2U);
  EXPECT_EQ(job.attempts[0].case_no, CaseNo{2});
  EXPECT_EQ(job.attempts[1].start_id, bytes16(2));
}

TEST_F(RecoveryTest, ManyJobsInOrder) {
  for (std::uint64_t job = 1; job <= 50; ++job) {
    write(*store_, {insert_job(job), insert_chunk(job, 0, 1, static_cast<std::uint32_t>(job))});
  }
  const Recovery recovery = reopen();
  ASSERT_EQ(recovery.jobs.size(), 50U);
  for (std::uint64_t job = 1; job <= 50; ++job) {
    EXPECT_EQ(recovery.jobs[job - 1].job, JobId{job});
    ASSERT_EQ(recovery.jobs[job - 1].open_chunks.size(), 1U);
    EXPECT_EQ(recovery.jobs[job - 1].open_chunks[0].case_count, job);
  }
}

}  // namespace
}  // namespace puzzled
