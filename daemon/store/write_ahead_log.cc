#include "daemon/store/write_ahead_log.h"

#include <sqlite3.h>

#include <algorithm>

namespace puzzled {
namespace {

// Above this part of its limit, writing becomes slow.
constexpr std::uint64_t kSlowParts = 3;
constexpr std::uint64_t kParts = 4;

int on_commit(void* pages, sqlite3*, const char*, int count) {
  *static_cast<std::uint64_t*>(pages) = static_cast<std::uint64_t>(count);
  return SQLITE_OK;
}

}  // namespace

WriteAheadLog::WriteAheadLog(sqlite::Connection& connection, const StoreOptions& options)
    : connection_(connection),
      bytes_max_(options.wal_bytes_max),
      usual_bytes_(std::min(options.checkpoint_wal_bytes, options.wal_bytes_max / 2)),
      reader_wait_(2 * options.snapshot_ms_max),
      lock_wait_(options.retry_ms),
      page_bytes_(static_cast<std::uint64_t>(connection.integer("PRAGMA page_size"))),
      due_bytes_(usual_bytes_) {
  sqlite3_wal_hook(connection_.handle(), on_commit, &pages_);
}

std::uint64_t WriteAheadLog::room() const {
  if (pages_ == 0) return UINT64_MAX;
  return bytes_max_ - std::min(bytes(), bytes_max_);
}

double WriteAheadLog::pressure() const {
  const std::uint64_t slow = bytes_max_ / kParts * kSlowParts;
  if (bytes() <= slow) return 0;
  return std::min(1.0,
                  static_cast<double>(bytes() - slow) / static_cast<double>(bytes_max_ - slow));
}

void WriteAheadLog::checkpoint_if_due() {
  if (bytes() < usual_bytes_) {  // the log has started again from its front
    due_bytes_ = usual_bytes_;
    held_since_.reset();
  }
  if (bytes() < due_bytes_) return;
  // The first try waits for nobody, and mostly the next commit starts at the front. If not, readers
  // follow each other so closely that one is always there: then it is worth to wait for them.
  due_bytes_ == usual_bytes_ ? checkpoint(SQLITE_CHECKPOINT_PASSIVE, {})
                             : checkpoint(SQLITE_CHECKPOINT_RESTART, reader_wait_);
  due_bytes_ = bytes() + usual_bytes_ / 4;
}

bool WriteAheadLog::start_again() { return checkpoint(SQLITE_CHECKPOINT_RESTART, reader_wait_); }

void WriteAheadLog::truncate() noexcept {
  sqlite3_busy_timeout(connection_.handle(), 0);
  const int code = sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr,
                                             SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  sqlite3_busy_timeout(connection_.handle(), static_cast<int>(lock_wait_.count()));
  if (code == SQLITE_OK) pages_ = 0;
}

// True: nothing of the log is needed any more.
bool WriteAheadLog::checkpoint(int mode, std::chrono::milliseconds wait) {
  int in_log = 0;
  int in_database = 0;
  sqlite3_busy_timeout(connection_.handle(), static_cast<int>(wait.count()));
  const int code =
      sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr, mode, &in_log, &in_database);
  sqlite3_busy_timeout(connection_.handle(), static_cast<int>(lock_wait_.count()));
  const bool busy = (code & 0xff) == SQLITE_BUSY;
  if (code != SQLITE_OK && !busy) connection_.fail(code);
  if (!busy && in_database == in_log) {
    held_since_.reset();
    held_at_ = -1;
    if (mode != SQLITE_CHECKPOINT_PASSIVE) pages_ = 0;
    return true;
  }
  // As long as it stands at the same page, it is the same reader that is in the way.
  if (!held_since_ || in_database != held_at_) held_since_ = Clock::now();
  held_at_ = in_database;
  return false;
}

}  // namespace puzzled
