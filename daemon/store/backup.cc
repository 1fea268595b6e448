#include "daemon/store/backup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include "daemon/store/migrate.h"
#include "proto/base/assert.h"
#include "proto/base/paths.h"

namespace puzzled {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPagesAtOnce = 64;
constexpr std::chrono::milliseconds kStep{10};  // the writer waits for no longer
constexpr int kCopyCacheKib = 2'048;

std::string system_text() { return std::strerror(errno); }

// sqlite.org/fileformat.html: the header, and where in it the application id is.
constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr off_t kApplicationIdAt = 68;

bool is_database_of_ours(const std::string& path) {
  char header[kApplicationIdAt + 4] = {};
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return false;
  const ssize_t length = ::read(file, header, sizeof header);
  ::close(file);
  if (length != static_cast<ssize_t>(sizeof header)) return false;
  if (std::string_view(header, kMagic.size()) != kMagic) return false;
  std::uint32_t id = 0;
  for (int i = 0; i < 4; ++i) {
    id = id << 8U | static_cast<unsigned char>(header[kApplicationIdAt + i]);
  }
  return id == static_cast<std::uint32_t>(kApplicationId);
}

// What is at the backup's name already must be an older backup, if anything.
void check_target(const std::string& path, const std::string& source_path, bool force) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) {
    if (errno == ENOENT) return;
    throw BackupError(fmt::format("cannot write {}: {}", path, system_text()));
  }
  if (!force) {
    throw BackupError(
        fmt::format("{} exists already; choose another name, or replace an older "
                    "backup with --force",
                    path));
  }
  struct stat source {};
  const bool same = ::stat(source_path.c_str(), &source) == 0 && source.st_ino == there.st_ino &&
                    source.st_dev == there.st_dev;
  if (same) throw BackupError(fmt::format("{} is the daemon's own database", path));
  for (const char* beside : {"-wal", "-shm", "-journal"}) {
    if (::access((path + beside).c_str(), F_OK) == 0) {
      throw BackupError(
          fmt::format("{} is in use ({}{} is beside it); it is not replaced", path, path, beside));
    }
  }
  if (!S_ISREG(there.st_mode) || !is_database_of_ours(path)) {
    throw BackupError(fmt::format("{} is no database of puzzled; it is not replaced", path));
  }
}

void sync_folder_of(const std::string& path) {
  const int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = folder >= 0 && ::fsync(folder) == 0;
  const std::string why = synced ? "" : system_text();
  if (folder >= 0) ::close(folder);
  if (!synced) throw BackupError(fmt::format("cannot make {} durable: {}", path, why));
}

// A daemon that starts on a copy must not use boot numbers that the original used after it: workers
// tell daemons apart by them. Far enough ahead, and another distance for each copy.
std::uint64_t boots_ahead() {
  std::random_device device;
  return 1'000'000 + std::uniform_int_distribution<std::uint64_t>(0, 1ULL << 40U)(device);
}

}  // namespace

Backup::Backup(sqlite::Connection& source, std::string source_path, std::string path, bool force)
    : source_path_(std::move(source_path)), path_(std::move(path)), force_(force), source_(source) {
  check_target(path_, source_path_, force_);
  std::string name = path_ + ".XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);  // mode 0600
  if (file < 0) throw BackupError(fmt::format("cannot write {}: {}", path_, system_text()));
  ::close(file);
  temporary_ = name;
  try {
    copy_ = std::make_unique<sqlite::Connection>(name, sqlite::Connection::Mode::kReadWrite);
    // A crash leaves a temporary file that is of no use anyway; publish() syncs.
    copy_->exec(
        fmt::format("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
                    "PRAGMA cache_size = -{}",
                    kCopyCacheKib));
    backup_ = sqlite3_backup_init(copy_->handle(), "main", source_.handle(), "main");
    if (backup_ == nullptr) copy_->fail(sqlite3_errcode(copy_->handle()));
  } catch (const sqlite::Error& error) {
    close_copy();
    ::unlink(temporary_.c_str());
    throw BackupError(fmt::format("cannot write {}: {}", path_, error.what()));
  }
}

Backup::~Backup() {
  close_copy();
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void Backup::close_copy() {
  if (backup_ != nullptr) sqlite3_backup_finish(std::exchange(backup_, nullptr));
  copy_.reset();
}

bool Backup::step() {
  const auto until = Clock::now() + kStep;
  int code = SQLITE_OK;
  do {
    code = sqlite3_backup_step(backup_, kPagesAtOnce);
  } while (code == SQLITE_OK && Clock::now() < until);
  // Another process holds the database's lock for a moment.
  if (code == SQLITE_OK || code == SQLITE_BUSY || code == SQLITE_LOCKED) return false;
  if (code != SQLITE_DONE) {
    throw BackupError(fmt::format("cannot write {}: {}", path_, sqlite3_errstr(code)));
  }
  const int end = sqlite3_backup_finish(std::exchange(backup_, nullptr));
  if (end != SQLITE_OK) {
    throw BackupError(fmt::format("cannot write {}: {}", path_, sqlite3_errstr(end)));
  }
  close_copy();
  return true;
}

std::uint64_t Backup::publish() {
  try {
    sqlite::Connection copy(temporary_, sqlite::Connection::Mode::kReadWrite);
    // One file by itself, without a write-ahead log; the daemon that opens it makes one again.
    copy.exec(
        fmt::format("PRAGMA synchronous = OFF; PRAGMA journal_mode = DELETE; "
                    "UPDATE meta SET boot = boot + {}",
                    boots_ahead()));
  } catch (const sqlite::Error& error) {
    throw BackupError(fmt::format("cannot write {}: {}", path_, error.what()));
  }
  struct stat status {};
  const int file = ::open(temporary_.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0 && ::fstat(file, &status) == 0;
  const std::string why = synced ? "" : system_text();
  if (file >= 0) ::close(file);
  if (!synced) throw BackupError(fmt::format("cannot write {}: {}", path_, why));
  check_target(path_, source_path_, force_);
  // Not even what appeared this moment is overwritten without `force`.
  const unsigned flags = force_ ? 0U : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), flags) != 0 &&
      (errno != EINVAL || ::rename(temporary_.c_str(), path_.c_str()) != 0)) {
    throw BackupError(fmt::format("cannot write {}: {}", path_, system_text()));
  }
  temporary_.clear();
  sync_folder_of(path_);
  return static_cast<std::uint64_t>(status.st_size);
}

// ---- One at a time.

Backups::~Backups() {
  if (publisher_.joinable()) publisher_.join();
  if (copying_) report_({.ticket = ticket_, .bytes = 0, .error = "the daemon stops"});
}

void Backups::start(sqlite::Connection& source, const std::string& source_path,
                    std::uint64_t ticket, const std::string& path, bool force) {
  ASSERT(!copying_);
  if (publisher_.joinable()) publisher_.join();
  ticket_ = ticket;
  try {
    backup_ = std::make_unique<Backup>(source, source_path, path, force);
    copying_ = true;
  } catch (const BackupError& error) {
    report_({.ticket = ticket, .bytes = 0, .error = error.what()});
  }
}

void Backups::step() {
  try {
    if (!backup_->step()) return;
    copying_ = false;
    publisher_ = std::thread([this] {
      Ended ended{.ticket = ticket_, .bytes = 0, .error = ""};
      try {
        ended.bytes = backup_->publish();
      } catch (const BackupError& error) {
        ended.error = error.what();
      }
      backup_.reset();
      report_(ended);
    });
  } catch (const BackupError& error) {
    copying_ = false;
    backup_.reset();
    report_({.ticket = ticket_, .bytes = 0, .error = error.what()});
  }
}

}  // namespace puzzled
