// The write-ahead log stays small: readers through the daemon cannot keep it from starting again,
// and a foreign one stops the writing before it grows over its limit.
#include "daemon/store/write_ahead_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include "daemon/store/lock_holders.h"
#include "daemon/store/reader.h"
#include "tests/store/store_thread_fixture.h"

namespace puzzled {
namespace {

constexpr std::uint32_t kCases = 100;  // of a chunk here

// Chunk `chunk_no` of job 1 with all its results, some 25 KB.
std::vector<Record> graded_chunk(ChunkNo chunk_no) {
  const std::uint64_t first = 1 + chunk_no * std::uint64_t{kCases};
  std::vector<Graded> graded;
  for (std::uint32_t k = 0; k < kCases; ++k) {
    graded.push_back({.case_no = first + k, .chunk_no = chunk_no, .answer = std::string(100, 'a')});
  }
  return {insert_chunk(1, chunk_no, first, kCases), insert_results(1, graded)};
}

// For what no report tells of. The limit only ends a test that hangs.
template <class Condition>
bool eventually(const Condition& condition) {
  for (int i = 0; i < 6'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class WriteAheadLogTest : public StoreThreadTest {
 protected:
  WriteAheadLogTest() {
    options_.wal_bytes_max = 4U << 20U;
    options_.checkpoint_wal_bytes = 1U << 20U;
  }
  void start_with_job() {
    start(path_, options_);
    thread_->submit({.sequence = 1, .records = {insert_job(1), insert_worker(1)}, .loads = {}});
    ASSERT_TRUE(wait([&] { return durable() == 1; }));
  }
  void submit_chunk() {
    thread_->submit({.sequence = ++sequence_, .records = graded_chunk(chunk_no_++), .loads = {}});
  }
  // Of the largest that the file ever was.
  std::uint64_t wal_file_bytes() {
    std::error_code none_yet;
    const auto bytes = std::filesystem::file_size(path_ + "-wal", none_yet);
    if (!none_yet) peak_ = std::max<std::uint64_t>(peak_, bytes);
    return peak_;
  }

  StoreOptions options_;
  std::uint64_t sequence_ = 1;
  ChunkNo chunk_no_ = 0;
  std::uint64_t peak_ = 0;
};

TEST_F(WriteAheadLogTest, AForeignReaderSlowsAndStopsWritingUntilItEnds) {
  start_with_job();
  sqlite::Connection foreign(path_, sqlite::Connection::Mode::kReadOnly);
  foreign.exec("BEGIN");
  foreign.integer("SELECT count(*) FROM jobs");
  ASSERT_TRUE(wait([&] {
    if (thread_->queued_bytes() < (256U << 10U)) submit_chunk();
    wal_file_bytes();
    return count<event::IntakePaused>() > 0;
  }));
  const std::uint64_t done = durable();
  EXPECT_LT(done, sequence_);
  EXPECT_NE(first<event::IntakePaused>().reason.find("a reader of the database"),
            std::string::npos);
  EXPECT_TRUE(thread_->health().slow) << "it was not slowed down before it was stopped";
  EXPECT_TRUE(eventually([&] { return thread_->health().reader_age_ms > 0; }));
  EXPECT_GT(thread_->health().log_bytes, options_.wal_bytes_max / 2);
  EXPECT_EQ(look(path_, "SELECT count(*) FROM chunks") + 1, static_cast<std::int64_t>(done))
      << "reads must go on";

  foreign.exec("COMMIT");
  EXPECT_TRUE(wait([&] { return durable() == sequence_; }));
  EXPECT_TRUE(wait([&] { return count<event::IntakeResumed>() == 1; }));
  for (int i = 0; i < 20; ++i) submit_chunk();
  EXPECT_TRUE(wait([&] { return durable() == sequence_; }));
  EXPECT_TRUE(eventually([&] { return thread_->health().reader_age_ms == 0; }));
  EXPECT_FALSE(thread_->health().slow);
  EXPECT_LE(wal_file_bytes(), options_.wal_bytes_max);
  EXPECT_EQ(look(path_, "SELECT sum(done) FROM totals"), std::int64_t{kCases} * chunk_no_);
  EXPECT_EQ(count<StoreThread::Failed>(), 0U);
}

TEST_F(WriteAheadLogTest, OneLargeStepGoesThroughWhateverTheLimit) {
  options_.wal_bytes_max = 1U << 20U;
  start_with_job();
  for (int i = 0; i < 3; ++i) {
    StoreThread::Work work{.sequence = ++sequence_, .records = {}, .loads = {}};
    for (int k = 0; k < 100; ++k) {
      for (Record& record : graded_chunk(chunk_no_++)) work.records.push_back(std::move(record));
    }
    thread_->submit(std::move(work));
  }
  EXPECT_TRUE(wait([&] { return durable() == sequence_; }));
}

TEST_F(WriteAheadLogTest, AnIdleStoreMovesItsLogOnceTheReaderIsGone) {
  start_with_job();
  sqlite::Connection foreign(path_, sqlite::Connection::Mode::kReadOnly);
  foreign.exec("BEGIN");
  foreign.integer("SELECT count(*) FROM jobs");
  while (chunk_no_ < 60) submit_chunk();  // more than at which the log is moved
  EXPECT_TRUE(wait([&] { return durable() == sequence_; }));
  EXPECT_TRUE(eventually([&] { return thread_->health().reader_age_ms > 0; }));
  foreign.exec("COMMIT");
  EXPECT_TRUE(eventually([&] { return thread_->health().reader_age_ms == 0; }));
}

// One page after the other without a pause between them: somebody always reads.
TEST_F(WriteAheadLogTest, ReadersThroughTheDaemonDoNotKeepTheLog) {
  start_with_job();
  submit_chunk();
  ASSERT_TRUE(wait([&] { return durable() == sequence_; }));
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> pages{0};
  std::vector<std::thread> readers;
  StoreOptions reading;
  reading.snapshot_ms_max = 5;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      Reader reader(path_, reading);
      query::ListResults list{.job = {1}, .limit = 10'000, .verdicts = {}, .label_glob = {}};
      while (!over) {
        const auto page = std::get<query::ResultsPage>(reader.answer(list));
        list.after_case = page.more ? page.next_after : 0;
        ++pages;
      }
    });
  }
  while (chunk_no_ < 600) {  // four times the limit
    submit_chunk();
    EXPECT_TRUE(wait([&] { return thread_->queued_bytes() < (256U << 10U); }));
    wal_file_bytes();
  }
  EXPECT_TRUE(wait([&] { return durable() == sequence_; }));
  over = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(pages, 10U);
  EXPECT_EQ(count<event::IntakePaused>(), 0U);
  EXPECT_LT(wal_file_bytes(), options_.wal_bytes_max);
}

TEST(LockHolders, OnlyReadersOfThisLogCount) {
  constexpr std::string_view kLocks =
      "1: POSIX  ADVISORY  READ  300 08:11:77 124 124\n"
      "2: POSIX  ADVISORY  READ  200 08:11:77 123 123\n"
      "2: -> POSIX  ADVISORY  READ  555 08:11:77 123 123\n"
      "3: POSIX  ADVISORY  READ  300 08:11:77 125 125\n"
      "4: POSIX  ADVISORY  READ  100 08:11:77 124 124\n"  // ourselves
      "5: POSIX  ADVISORY  WRITE 400 08:11:77 120 120\n"  // a writer
      "6: POSIX  ADVISORY  READ  500 08:11:78 124 124\n"  // another file
      "7: FLOCK  ADVISORY  WRITE 600 08:11:77 0 EOF\n"    // another kind
      "8: POSIX  ADVISORY  READ  700 08:11:77 128 128\n"  // a connection, not a reader
      "nonsense\n";
  EXPECT_EQ(log_readers(kLocks, 8, 0x11, 77, 100), (std::vector<std::int64_t>{200, 300}));
  EXPECT_TRUE(log_readers("", 8, 0x11, 77, 100).empty());
}

TEST(LockHolders, NamesAForeignProcess) {
  const TemporaryFolder folder;
  const std::string path = folder.file("puzzled.db");
  const auto store = Store::open(path, {});
  write(*store, {insert_job(1)});
  EXPECT_EQ(describe_log_readers(path), "");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    sqlite::Connection foreign(path, sqlite::Connection::Mode::kReadOnly);
    foreign.exec("BEGIN");
    foreign.integer("SELECT count(*) FROM jobs");
    if (::write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_NE(describe_log_readers(path).find(fmt::format("process {} (", child)), std::string::npos)
      << describe_log_readers(path);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace puzzled
