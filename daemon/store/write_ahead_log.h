// The write-ahead log of the writing connection: when it is moved into the database, and how large
// it may become while a reader keeps it from that. SQLite's automatic checkpoints, which would run
// inside a commit, are off.
//
// A log can only start again from its front when all of it is in the database and nobody reads from
// it. Readers through the daemon are short; a foreign one (a forgotten sqlite3 shell) may stand for
// hours, so the log has a size at which writing becomes slow and one at which it stops.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "daemon/store/options.h"
#include "daemon/store/sqlite.h"

namespace puzzled {

class WriteAheadLog {
 public:
  using Clock = std::chrono::steady_clock;

  // Outlived by the connection.
  WriteAheadLog(sqlite::Connection& connection, const StoreOptions& options);
  WriteAheadLog(const WriteAheadLog&) = delete;
  WriteAheadLog& operator=(const WriteAheadLog&) = delete;

  // As of the last commit or checkpoint. The file may be larger: it is used again from its front.
  [[nodiscard]] std::uint64_t bytes() const { return pages_ * page_bytes_; }
  // How much more may be written. An empty log takes anything, or a large step could never go.
  [[nodiscard]] std::uint64_t room() const;
  // How full it is above the size at which writing becomes slow: 0 below it, 1 at its limit.
  [[nodiscard]] double pressure() const;
  // Since when a reader has kept the log from starting again, as far as was noticed.
  [[nodiscard]] std::optional<Clock::time_point> held_since() const { return held_since_; }

  // ---- Outside a transaction. Throw sqlite::Error; a reader in the way is none.
  // After a commit: moves the log into the database if it has grown enough.
  void checkpoint_if_due();
  // Does so now, waiting a moment for readers. False: one is in the way.
  bool start_again();
  // Gives the file's room back as well.
  void truncate() noexcept;

 private:
  bool checkpoint(int mode, std::chrono::milliseconds wait);

  sqlite::Connection& connection_;
  const std::uint64_t bytes_max_;
  const std::uint64_t usual_bytes_;  // at which it is moved
  const std::chrono::milliseconds reader_wait_;
  const std::chrono::milliseconds lock_wait_;
  std::uint64_t page_bytes_;
  std::uint64_t pages_ = 0;
  std::uint64_t due_bytes_;  // when the next checkpoint is due
  std::optional<Clock::time_point> held_since_;
  int held_at_ = -1;  // pages in the database when the reader was noticed
};

}  // namespace puzzled
