#include "daemon/store/check_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>

#include "proto/base/fatal.h"

namespace puzzled {
namespace {

constexpr std::uint32_t kPageMs = 200;  // how often progress can be shown
constexpr int kLockWaitMs = 5'000;      // a sqlite3 shell may hold the file's lock for a moment

Fatal unreadable(const std::string& path, const std::string& why) {
  return {kExitIo, fmt::format("cannot read the database {}: {}", path, why)};
}

Fatal unreadable(const std::string& path, const sqlite::Error& error) {
  const int kind = error.code() & 0xff;
  if (kind == SQLITE_CORRUPT) {
    return {kExitIo, fmt::format("the database {} is damaged: {}. Keep the file, and restore a "
                                 "backup in its place (with no -wal and -shm files beside it).",
                                 path, error.what())};
  }
  return unreadable(path, error.what());
}

// Holds the daemon's lock of the database, shared, if there is a lock file: a backup has none, and
// reading must not make one.
class SharedLock {
 public:
  explicit SharedLock(const std::string& database_path) {
    const std::string path = database_path + ".lock";
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0 || ::flock(descriptor_, LOCK_SH | LOCK_NB) == 0) return;
    const bool taken = errno == EWOULDBLOCK;
    char holder[32] = {};
    const ssize_t length = ::pread(descriptor_, holder, sizeof holder - 1, 0);
    ::close(descriptor_);
    if (!taken) throw unreadable(database_path, std::strerror(errno));
    std::string pid(holder, length > 0 ? static_cast<std::size_t>(length) : 0);
    pid.erase(pid.find_last_not_of("\n ") + 1);
    throw Fatal(kExitRefused,
                fmt::format("a puzzled{} runs on the database {}. Ask it with \"puzzlectl doctor\" "
                            "alone, or check a backup that \"puzzlectl backup\" makes of it.",
                            pid.empty() ? "" : " (process " + pid + ")", database_path));
  }
  ~SharedLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  int descriptor_ = -1;
};

// Without a write-ahead log that must be read too, the file can be opened as it is.
sqlite::Connection::Mode mode_for(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw unreadable(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw unreadable(path, "it is not a regular file");
  if (::access(path.c_str(), R_OK) != 0) throw unreadable(path, std::strerror(errno));
  const bool has_log = ::stat((path + "-wal").c_str(), &status) == 0 && status.st_size > 0;
  return has_log ? sqlite::Connection::Mode::kReadOnly : sqlite::Connection::Mode::kAtRest;
}

}  // namespace

struct FileCheck::Impl {
  explicit Impl(const std::string& file)
      : path(file),
        lock(path),
        connection(path, mode_for(path)),
        checker(connection,
                {.page_ms = kPageMs, .integrity_bytes_max = std::numeric_limits<uint64_t>::max()}) {
    sqlite3_busy_timeout(connection.handle(), kLockWaitMs);
  }

  const std::string path;
  const SharedLock lock;
  sqlite::Connection connection;
  Checker checker;
};

FileCheck::FileCheck(const std::string& path) try : impl_(std::make_unique<Impl>(path)) {
} catch (const sqlite::Error& error) {
  throw unreadable(path, error);
}
FileCheck::~FileCheck() = default;

query::CheckPage FileCheck::page(const std::vector<std::uint64_t>& cursor) {
  try {
    return impl_->checker.page(cursor);
  } catch (const sqlite::Error& error) {
    throw unreadable(impl_->path, error);
  }
}

}  // namespace puzzled
