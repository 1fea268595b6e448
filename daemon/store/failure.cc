#include "daemon/store/failure.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace puzzled {

Fatal store_failure(const std::string& database_path, const sqlite::Error& error) {
  if (error.busy()) {
    return {kExitRefused,
            fmt::format("another process holds the lock of the database {}: {}. End it "
                        "(a sqlite3 shell, a backup?) and start puzzled again.",
                        database_path, error.what())};
  }
  if (error.disk_full()) {
    return {kExitIo, fmt::format("no room for the database {}: {}. Make room on its disk and start "
                                 "puzzled again.",
                                 database_path, error.what())};
  }
  const int kind = error.code() & 0xff;
  if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB) {
    return {kExitIo, fmt::format("the database {} is damaged: {}. Keep the file, restore a backup "
                                 "in its place (with no -wal and -shm files beside it), or choose "
                                 "another with --database.",
                                 database_path, error.what())};
  }
  return {kExitIo,
          fmt::format("cannot use the database {}: {} (SQLite code {}). Nothing that was "
                      "acknowledged is lost. Check the disk and the system's log, then start "
                      "puzzled again.",
                      database_path, error.what(), error.code())};
}

}  // namespace puzzled
