// A SQLite VFS in front of the usual one: counts calls, fails when it is told to, and knows what of
// the write-ahead log has not been synced. Syncs do not reach the disk, so that many runs are
// quick.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace puzzled::testing {

class FaultVfs {
 public:
  enum class Call : std::uint8_t { kRead, kWrite, kSync, kTruncate, kLock, kShmLock, kShmMap };
  struct Fault {
    Call call = Call::kWrite;
    std::uint64_t at = 1;  // the how-manieth call from now on
    int code = SQLITE_IOERR_WRITE;
    int os_error = 0;    // errno behind it
    bool half = false;   // of a write: half of the bytes get there
    bool stays = false;  // all later calls of the kind fail as well
  };

  FaultVfs();  // all connections opened from now on use it
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  void arm(const Fault& fault);  // and counts from zero
  void heal();
  [[nodiscard]] bool has_failed() const;
  [[nodiscard]] std::uint64_t calls(Call call) const;
  [[nodiscard]] std::uint64_t unsynced_log_writes() const;

  // ---- For the VFS's functions.
  // The code to fail with, or SQLITE_OK.
  int count(Call call, bool& half);
  void note_log_write();
  void note_log_sync();
  [[nodiscard]] int os_error() const;
  [[nodiscard]] sqlite3_vfs* base() const { return base_; }

 private:
  mutable std::mutex mutex_;
  sqlite3_vfs* base_;
  sqlite3_vfs self_;
  std::array<std::uint64_t, 7> calls_{};
  std::optional<Fault> fault_;
  bool failed_ = false;
  std::uint64_t unsynced_ = 0;
};

}  // namespace puzzled::testing
