// Brings a database to the schema this program knows: all in one transaction, only ever forward.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "daemon/store/sqlite.h"

namespace puzzled {

// "PZLD": marks a SQLite file as ours (PRAGMA application_id).
inline constexpr std::int64_t kApplicationId = 0x505a4c44;

// `schema` makes an empty database of the newest version; steps[i] turns version i + 1 into i + 2,
// so the newest version is steps.size() + 1. Throws Fatal (exit 5) if the database is newer, or
// another program's; sqlite::Error otherwise.
void migrate(sqlite::Connection& connection, const std::string& path, const std::string& schema,
             std::span<const std::string_view> steps);

// The version that migrate() brings a database to.
std::int64_t schema_version();

// Only the checks, without touching the file. Throws as migrate() does.
void refuse_unsuitable(sqlite::Connection& connection, const std::string& path);

// With the schema and steps of this program.
void migrate(sqlite::Connection& connection, const std::string& path);

}  // namespace puzzled
