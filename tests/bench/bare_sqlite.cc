#include "tests/bench/bare_sqlite.h"

#include <fstream>
#include <string_view>

#include "tests/bench/support.h"

namespace puzzled::bench {
namespace {

// As `results` of daemon/store/schema.sql.
constexpr std::string_view kTable =
    "CREATE TABLE r (id INTEGER PRIMARY KEY, verdict INTEGER NOT NULL, time_us INTEGER NOT NULL, "
    "memory_bytes INTEGER NOT NULL, attempt INTEGER NOT NULL, worker INTEGER NOT NULL, "
    "solver_version INTEGER NOT NULL, graded_ms INTEGER NOT NULL, answer BLOB, message TEXT, "
    "cached INTEGER NOT NULL DEFAULT 0) STRICT";

void remove_database(const std::filesystem::path& file) {
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + suffix);
}

}  // namespace

struct BareSqlite::Statements {
  explicit Statements(sqlite::Connection& connection)
      : begin(connection, "BEGIN"),
        commit(connection, "COMMIT"),
        row(connection, "INSERT INTO r VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") {}
  sqlite::Statement begin, commit, row;
};

BareSqlite::BareSqlite(std::filesystem::path file) : file_(std::move(file)) {
  remove_database(file_);
  std::ofstream(file_).flush();
  connection_ = std::make_unique<sqlite::Connection>(file_, sqlite::Connection::Mode::kReadWrite);
  connection_->exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  connection_->exec(std::string(kTable));
  statements_ = std::make_unique<Statements>(*connection_);
}

BareSqlite::~BareSqlite() {
  statements_.reset();
  connection_.reset();
  remove_database(file_);
}

void BareSqlite::insert_transaction(std::uint64_t rows) {
  statements_->begin.run();
  for (std::uint64_t i = 0; i < rows; ++i) {
    statements_->row.run(next_id_++, 1, 0, 4'096, 1, 1, 1, 1'700'000'000'000,
                         sqlite::Blob{"\x0a\x02\x15\x72"}, nullptr, 0);
  }
  statements_->commit.run();
}

BareSqlite::Times BareSqlite::insert(std::uint64_t rows, std::uint64_t rows_per_transaction) {
  const double start = wall_s();
  const double cpu = thread_cpu_s();
  for (std::uint64_t done = 0; done < rows; done += rows_per_transaction) {
    insert_transaction(std::min(rows - done, rows_per_transaction));
  }
  return {wall_s() - start, thread_cpu_s() - cpu};
}

std::vector<double> BareSqlite::commits(std::uint64_t count) {
  std::vector<double> times;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double start = wall_s();
    insert_transaction(1);
    times.push_back(wall_s() - start);
  }
  return times;
}

}  // namespace puzzled::bench
