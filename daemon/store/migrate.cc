#include "daemon/store/migrate.h"

#include <fmt/format.h>

#include <array>

#include "daemon/store/schema.h"
#include "proto/base/fatal.h"

namespace puzzled {
namespace {

// One entry for each version after the first: what was changed in schema.sql, as statements that
// change a database of the version before it. Never change one that was released. A database of
// every older version is in tests/store/schemas.
constexpr std::array<std::string_view, 3> kSteps = {
    // 2
    "CREATE INDEX progress_present ON progress (id, present)",
    // 3
    "ALTER TABLE jobs ADD COLUMN canary_ms INTEGER; "
    "ALTER TABLE jobs ADD COLUMN revised INTEGER NOT NULL DEFAULT 0; "
    "ALTER TABLE progress ADD COLUMN generations BLOB; "
    "CREATE TABLE unproven (stretch INTEGER NOT NULL, worker INTEGER NOT NULL, "
    "job INTEGER NOT NULL, chunk_no INTEGER NOT NULL, first_case INTEGER NOT NULL, "
    "case_count INTEGER NOT NULL, PRIMARY KEY (stretch, job, chunk_no, first_case)) "
    "STRICT, WITHOUT ROWID; "
    "CREATE TABLE barred (id INTEGER PRIMARY KEY, name TEXT NOT NULL, host TEXT NOT NULL, "
    "version TEXT NOT NULL, puzzle TEXT NOT NULL, solver TEXT NOT NULL, "
    "solver_version TEXT NOT NULL, barred_ms INTEGER NOT NULL, reason TEXT NOT NULL) STRICT; "
    "ALTER TABLE jobs ADD COLUMN require TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE jobs ADD COLUMN solver_version TEXT NOT NULL DEFAULT '';"
    "CREATE TABLE job_versions (job INTEGER NOT NULL, "
    "solver_version INTEGER NOT NULL, cases INTEGER NOT NULL, "
    "PRIMARY KEY (job, solver_version)) STRICT, WITHOUT ROWID;"
    "INSERT INTO job_versions SELECT id >> 39, solver_version, count(*) "
    "FROM results GROUP BY 1, 2",
    // 4
    "ALTER TABLE meta ADD COLUMN answers_forgotten INTEGER NOT NULL DEFAULT 0; "
    "ALTER TABLE jobs ADD COLUMN no_cache INTEGER NOT NULL DEFAULT 0; "
    "ALTER TABLE chunks ADD COLUMN keyed INTEGER NOT NULL DEFAULT 0; "
    "ALTER TABLE totals ADD COLUMN cached INTEGER NOT NULL DEFAULT 0; "
    "ALTER TABLE results ADD COLUMN cached INTEGER NOT NULL DEFAULT 0; "
    "CREATE TABLE chunk_keys (id INTEGER PRIMARY KEY, keys BLOB NOT NULL) STRICT; "
    "CREATE TABLE answers (id INTEGER PRIMARY KEY, key BLOB NOT NULL, "
    "solver_version INTEGER NOT NULL, result INTEGER NOT NULL, proof INTEGER NOT NULL) STRICT; "
    "CREATE UNIQUE INDEX answers_by_key ON answers (key, solver_version); "
    "CREATE INDEX answers_by_proof ON answers (proof) WHERE proof > 0",
};

void refuse(sqlite::Connection& connection, const std::string& path, std::int64_t newest) {
  if (connection.integer("PRAGMA application_id") != kApplicationId &&
      connection.integer("SELECT count(*) FROM sqlite_schema") != 0) {
    throw Fatal(kExitRefused,
                fmt::format("{} is a SQLite database of another program. Choose another file with "
                            "--database.",
                            path));
  }
  const std::int64_t version = connection.integer("PRAGMA user_version");
  if (version > newest) {
    throw Fatal(kExitRefused,
                fmt::format("the database {} was written by a newer puzzled (schema {}, this one "
                            "knows {}). Install that version, or choose another with --database.",
                            path, version, newest));
  }
}

void create(sqlite::Connection& connection, const std::string& schema) {
  connection.exec(schema);
  connection.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
}

void bring_forward(sqlite::Connection& connection, const std::string& path,
                   const std::string& schema, std::span<const std::string_view> steps) {
  const auto newest = static_cast<std::int64_t>(steps.size()) + 1;
  refuse(connection, path, newest);
  const std::int64_t version = connection.integer("PRAGMA user_version");
  if (version == newest) return;
  if (version <= 0) {
    create(connection, schema);
  } else {
    for (auto step = static_cast<std::size_t>(version); step <= steps.size(); ++step) {
      connection.exec(std::string(steps[step - 1]));
    }
  }
  connection.exec(fmt::format("PRAGMA user_version = {}", newest));
}

}  // namespace

void migrate(sqlite::Connection& connection, const std::string& path, const std::string& schema,
             std::span<const std::string_view> steps) {
  connection.exec("BEGIN IMMEDIATE");
  try {
    bring_forward(connection, path, schema, steps);
    connection.exec("COMMIT");
  } catch (...) {
    if (connection.in_transaction()) connection.exec("ROLLBACK");
    throw;
  }
}

std::int64_t schema_version() { return static_cast<std::int64_t>(kSteps.size()) + 1; }

void refuse_unsuitable(sqlite::Connection& connection, const std::string& path) {
  refuse(connection, path, schema_version());
}

void migrate(sqlite::Connection& connection, const std::string& path) {
  migrate(connection, path, kSchemaSql, kSteps);
}

}  // namespace puzzled
