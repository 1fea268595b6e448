// A process that dies at any moment leaves each transaction whole or not at all, and all that were
// acknowledged.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include "daemon/store/store.h"
#include "tests/store/support.h"

namespace puzzled {
namespace {

constexpr std::uint32_t kCases = 20;  // of one transaction

// Commits a chunk and all its results in each transaction, and says so after each.
[[noreturn]] void write_for_ever(const std::string& path, int acknowledge) {
  const auto store = Store::open(path, {});
  write(*store, {insert_job(1), insert_worker(1)});
  for (ChunkNo i = 0;; ++i) {
    const std::uint64_t first = 1 + i * std::uint64_t{kCases};
    std::vector<Graded> results;
    for (std::uint32_t k = 0; k < kCases; ++k) {
      results.push_back({.case_no = first + k, .chunk_no = i, .answer = std::string(500, 'a')});
    }
    write(*store, {insert_chunk(1, i, first, kCases), insert_results(1, results)});
    store->log().checkpoint_if_due();
    if (::write(acknowledge, "x", 1) != 1) _exit(0);
  }
}

void kill_after(int acknowledged, const std::string& path) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(pipe_ends[0]);
    write_for_ever(path, pipe_ends[1]);
  }
  close(pipe_ends[1]);
  char byte = 0;
  std::int64_t seen = 0;
  while (seen < acknowledged && read(pipe_ends[0], &byte, 1) == 1) ++seen;
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  while (read(pipe_ends[0], &byte, 1) == 1) ++seen;
  close(pipe_ends[0]);

  const auto store = Store::open(path, {});
  const Recovery recovery = store->recover();
  ASSERT_EQ(recovery.jobs.size(), 1U);
  const RecoveredJob& job = recovery.jobs[0];
  EXPECT_GE(job.chunk_count, seen);
  EXPECT_LE(job.chunk_count, seen + 1);
  EXPECT_EQ(job.case_count, job.chunk_count * std::uint64_t{kCases});
  EXPECT_EQ(job.done_count, job.case_count);
  EXPECT_TRUE(job.open_chunks.empty());
  EXPECT_EQ(look(path, "SELECT count(*) FROM results"), static_cast<std::int64_t>(job.case_count));
  EXPECT_EQ(look(path, "SELECT count(*) FROM chunk_cases"), job.chunk_count);
}

TEST(CrashTest, AKilledProcessLeavesWholeTransactions) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 10; ++round) {
    const TemporaryFolder folder;
    kill_after(1 + static_cast<int>(random() % 60), folder.file("puzzled.db"));
    if (HasFatalFailure()) return;
  }
}

TEST(CrashTest, AnOpenTransactionIsGone) {
  const TemporaryFolder folder;
  const std::string path = folder.file("puzzled.db");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto store = Store::open(path, {});
    write(*store, {insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 2)});
    store->begin();
    store->apply(insert_results(1, {{.case_no = 1}}));
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const Recovery recovery = Store::open(path, {})->recover();
  EXPECT_EQ(recovery.jobs.at(0).done_count, 0U);
  EXPECT_EQ(recovery.jobs.at(0).open_chunks.size(), 1U);
}

}  // namespace
}  // namespace puzzled
