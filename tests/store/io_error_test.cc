// Every call to the system that the store makes, failing in turn: the store says "no room" and goes
// on later, or stops; it never acknowledges what is not on the disk.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <map>

#include "daemon/store/store.h"
#include "tests/store/store_thread_fixture.h"
#include "tests/support/fault_vfs.h"

namespace puzzled {
namespace {

using testing::FaultVfs;
using Call = FaultVfs::Call;

constexpr std::uint32_t kCases = 40;    // of a chunk
constexpr std::uint64_t kChunks = 10;   // of the script
constexpr std::uint64_t kRunsMax = 40;  // of a kind of fault, unless PUZZLED_LONG is set

class IoErrorTest : public StoreThreadTest {
 protected:
  enum class End { kWell, kPaused, kStopped };

  // One transaction after the other, each waited for: a chunk, its results, and a load of it.
  void submit(std::uint64_t sequence) {
    StoreThread::Work work{.sequence = sequence, .records = {}, .loads = {}};
    const auto chunk_no = static_cast<ChunkNo>(sequence - 1);
    const std::uint64_t first = 1 + chunk_no * std::uint64_t{kCases};
    if (sequence == 1) work.records = {insert_job(1), insert_worker(1)};
    work.records.emplace_back(insert_chunk(1, chunk_no, first, kCases, chunk_no + 1,
                                           {{fmt::format("file {}", chunk_no), first, kCases}}));
    std::vector<Graded> graded;
    for (std::uint32_t k = 0; k < kCases; ++k) {
      graded.push_back(
          {.case_no = first + k, .chunk_no = chunk_no, .answer = std::string(300, 'a')});
    }
    work.records.emplace_back(insert_results(1, graded));
    work.loads = {{.job = {1},
                   .chunk_no = chunk_no,
                   .first_case = {first},
                   .case_count = kCases,
                   .with_done = true}};
    thread_->submit(std::move(work));
  }

  // Runs the script with this fault; then what was acknowledged is looked for.
  End run(FaultVfs& vfs, const FaultVfs::Fault& fault) {
    reports_.clear();
    path_ = folder_.file(fmt::format("{}.db", ++runs_));
    StoreOptions options;
    options.checkpoint_wal_bytes = 128U << 10U;  // so that the script has checkpoints
    options.cache_bytes = 256U << 10U;           // and pages are read again
    start(path_, options);
    vfs.arm(fault);
    std::uint64_t acknowledged = 0;
    for (std::uint64_t i = 1; i <= kChunks && count<StoreThread::Failed>() == 0; ++i) {
      submit(i);
      EXPECT_TRUE(wait([&] {
        if (count<event::IntakePaused>() > 0) vfs.heal();  // there is room again
        return durable() == i || count<StoreThread::Failed>() > 0;
      }));
      if (durable() < i) break;
      acknowledged = i;
      EXPECT_TRUE(vfs.unsynced_log_writes() == 0 || vfs.has_failed());
    }
    for (auto& report : thread_->take()) reports_.push_back(std::move(report));
    thread_ = nullptr;
    EXPECT_EQ(durable(), acknowledged) << "acknowledged after it had stopped";
    vfs.heal();
    check_disk(acknowledged);
    const bool failed = count<StoreThread::Failed>() > 0;
    EXPECT_TRUE(failed || acknowledged == kChunks);
    if (failed) return End::kStopped;
    return count<event::IntakePaused>() > 0 ? End::kPaused : End::kWell;
  }

  void check_disk(std::uint64_t acknowledged) {
    const auto store = Store::open(path_, {});
    const Recovery recovery = store->recover();
    const std::uint64_t chunks = recovery.jobs.empty() ? 0 : recovery.jobs[0].chunk_count;
    EXPECT_GE(chunks, acknowledged);
    EXPECT_LE(chunks, acknowledged + 1) << "of what was not acknowledged at most the last try";
    const auto cases = static_cast<std::int64_t>(chunks * kCases);
    EXPECT_EQ(look(path_, "SELECT coalesce(sum(done), 0) FROM totals"), cases);
    EXPECT_EQ(look(path_, "SELECT coalesce(sum(done), 0) FROM progress"), cases);
    EXPECT_EQ(look(path_, "SELECT count(*) FROM results"), cases);
    EXPECT_EQ(look(path_, "SELECT count(*) FROM files"), static_cast<std::int64_t>(chunks));
    EXPECT_EQ(look(path_, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
  }

  // The fault at every call of its kind that the script makes (or at some of them).
  std::map<End, std::uint64_t> run_all(FaultVfs::Fault fault) {
    FaultVfs vfs;
    fault.at = UINT64_MAX;
    EXPECT_EQ(run(vfs, fault), End::kWell);
    const std::uint64_t calls = vfs.calls(fault.call);
    EXPECT_GT(calls, 0U);
    const std::uint64_t step = std::getenv("PUZZLED_LONG") != nullptr ? 1 : 1 + calls / kRunsMax;
    std::map<End, std::uint64_t> ends;
    for (fault.at = 1; fault.at <= calls && !HasFailure(); fault.at += step) {
      SCOPED_TRACE(fmt::format("call {} of {}", fault.at, calls));
      ++ends[run(vfs, fault)];
    }
    return ends;
  }

  int runs_ = 0;
};

TEST_F(IoErrorTest, AFailedWriteStopsTheStore) {
  const auto ends = run_all({.call = Call::kWrite, .code = SQLITE_IOERR_WRITE, .os_error = EIO});
  EXPECT_GT(ends.at(End::kStopped), 0U);
  EXPECT_FALSE(ends.contains(End::kPaused));
}

TEST_F(IoErrorTest, AShortWriteStopsTheStore) {
  const auto ends =
      run_all({.call = Call::kWrite, .code = SQLITE_IOERR_WRITE, .os_error = EIO, .half = true});
  EXPECT_GT(ends.at(End::kStopped), 0U);
}

TEST_F(IoErrorTest, ADiskThatDiesStopsTheStore) {
  const auto ends =
      run_all({.call = Call::kWrite, .code = SQLITE_IOERR_WRITE, .os_error = EIO, .stays = true});
  EXPECT_GT(ends.at(End::kStopped), 0U);
}

TEST_F(IoErrorTest, AFullDiskIsTriedAgain) {
  const auto ends =
      run_all({.call = Call::kWrite, .code = SQLITE_FULL, .os_error = ENOSPC, .stays = true});
  EXPECT_GT(ends.at(End::kPaused), 0U);
  EXPECT_FALSE(ends.contains(End::kStopped));
}

TEST_F(IoErrorTest, AShortWriteToAFullDiskIsTriedAgain) {
  const auto ends =
      run_all({.call = Call::kWrite, .code = SQLITE_FULL, .os_error = ENOSPC, .half = true});
  EXPECT_FALSE(ends.contains(End::kStopped));
}

TEST_F(IoErrorTest, AFailedSyncStopsTheStoreWhateverItsReason) {
  for (const int os_error : {EIO, ENOSPC}) {
    const auto ends =
        run_all({.call = Call::kSync, .code = SQLITE_IOERR_FSYNC, .os_error = os_error});
    EXPECT_GT(ends.at(End::kStopped), 0U);
    EXPECT_FALSE(ends.contains(End::kPaused));
  }
}

TEST_F(IoErrorTest, AFailedReadStopsTheStore) {
  const auto ends = run_all({.call = Call::kRead, .code = SQLITE_IOERR_READ, .os_error = EIO});
  EXPECT_FALSE(ends.contains(End::kPaused));
}

TEST_F(IoErrorTest, LocksThatFail) {
  run_all({.call = Call::kShmLock, .code = SQLITE_IOERR_SHMLOCK, .os_error = EIO});
  const auto ends = run_all({.call = Call::kShmLock, .code = SQLITE_BUSY, .os_error = 0});
  EXPECT_FALSE(ends.contains(End::kStopped));
}

TEST_F(IoErrorTest, AFailedStartSaysSo) {
  FaultVfs vfs;
  for (const Call call : {Call::kRead, Call::kWrite, Call::kSync, Call::kShmMap, Call::kLock}) {
    for (std::uint64_t at = 1; at < 30; ++at) {
      path_ = folder_.file(fmt::format("start{}.db", ++runs_));
      vfs.arm({.call = call, .at = at, .code = SQLITE_IOERR, .os_error = EIO});
      try {
        Store::open(path_, {})->recover();
      } catch (const Fatal& error) {
        EXPECT_EQ(error.exit_code(), kExitIo) << error.what();
        EXPECT_NE(std::string(error.what()).find(path_), std::string::npos);
      }
      vfs.heal();
      EXPECT_GE(Store::open(path_, {})->recover().boot.value, 1U);
    }
  }
}

}  // namespace
}  // namespace puzzled
