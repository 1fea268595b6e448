// A copy of the database while it is written to.
//
// The pages are copied on the writer's own connection, between its transactions: so what is written
// meanwhile goes into the copy as well, the copy never has to begin anew, and no snapshot is held.
// The copy appears under its name when it is whole and on disk, and not before.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "daemon/store/sqlite.h"

struct sqlite3_backup;

namespace puzzled {

// what() is one printable sentence for whoever asked for the backup. The daemon goes on.
class BackupError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Backup {
 public:
  // Creates a temporary file beside `path` (mode 0600). Without `force`, nothing may be there yet;
  // with it, an older backup is replaced, never anything else. Throws BackupError.
  Backup(sqlite::Connection& source, std::string source_path, std::string path, bool force);
  // An unfinished copy is removed.
  ~Backup();
  Backup(const Backup&) = delete;
  Backup& operator=(const Backup&) = delete;

  // Copies for some milliseconds; true: all pages are copied. REQUIRES: the source has no
  // transaction open. Throws BackupError.
  bool step();
  // Puts the copy in its place; returns its size in bytes. Waits for the disk, so it may be called
  // on another thread, once, after step() gave true. Throws BackupError.
  std::uint64_t publish();

 private:
  void close_copy();

  const std::string source_path_;
  const std::string path_;
  const bool force_;
  std::string temporary_;  // empty: published, or never made
  sqlite::Connection& source_;
  std::unique_ptr<sqlite::Connection> copy_;
  sqlite3_backup* backup_ = nullptr;
};

// The backups of one store's thread, one at a time.
class Backups {
 public:
  struct Ended {
    std::uint64_t ticket = 0;
    std::uint64_t bytes = 0;
    std::string error;  // not empty: there is no backup
  };
  // `report` is called from the thread that uses this object, or from one of its own.
  explicit Backups(std::function<void(Ended)> report) : report_(std::move(report)) {}
  ~Backups();
  Backups(const Backups&) = delete;
  Backups& operator=(const Backups&) = delete;

  void start(sqlite::Connection& source, const std::string& source_path, std::uint64_t ticket,
             const std::string& path, bool force);
  // Whether step() has something to do.
  [[nodiscard]] bool copying() const { return copying_; }
  void step();

 private:
  std::function<void(Ended)> report_;
  std::unique_ptr<Backup> backup_;
  std::uint64_t ticket_ = 0;
  bool copying_ = false;
  std::thread publisher_;
};

}  // namespace puzzled
