// What SQLite alone can do, to be measured in the same run as the daemon.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "daemon/store/sqlite.h"

namespace puzzled::bench {

// Inserts rows like those of the daemon's results into a table like the daemon's, WAL,
// synchronous=FULL, SQLite's own checkpoints. The file is made anew and removed at the end.
class BareSqlite {
 public:
  explicit BareSqlite(std::filesystem::path file);
  ~BareSqlite();
  BareSqlite(const BareSqlite&) = delete;
  BareSqlite& operator=(const BareSqlite&) = delete;

  struct Times {
    double wall_s = 0;
    double cpu_s = 0;
  };
  Times insert(std::uint64_t rows, std::uint64_t rows_per_transaction);
  // Seconds of each of `count` transactions of one row.
  std::vector<double> commits(std::uint64_t count);

 private:
  void insert_transaction(std::uint64_t rows);

  struct Statements;
  std::filesystem::path file_;
  std::unique_ptr<sqlite::Connection> connection_;
  std::unique_ptr<Statements> statements_;
  std::int64_t next_id_ = 1;
};

}  // namespace puzzled::bench
