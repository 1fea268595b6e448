#include "daemon/store/result_rows.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <new>
#include <string_view>

namespace puzzled {
namespace {

using Source = ResultRows::Source;

// Its columns are numbered as in kDeclaration.
enum Column : int {
  kId,
  kVerdict,
  kTimeUs,
  kMemoryBytes,
  kAttempt,
  kWorker,
  kSolverVersion,
  kGradedMs,
  kAnswer,
  kMessage,
  kCached,
};
constexpr const char* kDeclaration =
    "CREATE TABLE new_results (id, verdict, time_us, memory_bytes, attempt, worker, "
    "solver_version, graded_ms, answer, message, cached)";

// OR FAIL: the caller rolls back the whole transaction, so the statement needs no journal of its
// own to be undone by (sqlite.org/lang_conflict.html).
constexpr std::string_view kInsert =
    "INSERT OR FAIL INTO results (id, verdict, time_us, memory_bytes, attempt, worker, "
    "solver_version, graded_ms, answer, message, cached) SELECT * FROM new_results";

struct Table : sqlite3_vtab {
  explicit Table(const Source& from) : sqlite3_vtab{}, source(from) {}
  const Source& source;
};

struct Cursor : sqlite3_vtab_cursor {
  Cursor() : sqlite3_vtab_cursor{} {}
  std::size_t at = 0;
};

const Source& source_of(sqlite3_vtab_cursor* cursor) {
  return static_cast<Table*>(cursor->pVtab)->source;
}

int connect(sqlite3* database, void* source, int /*argc*/, const char* const* /*argv*/,
            sqlite3_vtab** table, char** /*error*/) {
  const int code = sqlite3_declare_vtab(database, kDeclaration);
  if (code != SQLITE_OK) return code;
  // Only the statement above may use it, nothing that a file's schema says.
  sqlite3_vtab_config(database, SQLITE_VTAB_DIRECTONLY);
  *table = new (std::nothrow) Table(*static_cast<const Source*>(source));
  return *table == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

int best_index(sqlite3_vtab* /*table*/, sqlite3_index_info* /*info*/) { return SQLITE_OK; }

int open(sqlite3_vtab* /*table*/, sqlite3_vtab_cursor** cursor) {
  *cursor = new (std::nothrow) Cursor;
  return *cursor == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int close(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* cursor, int /*index*/, const char* /*name*/, int /*argc*/,
           sqlite3_value** /*argv*/) {
  static_cast<Cursor*>(cursor)->at = 0;
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* cursor) {
  ++static_cast<Cursor*>(cursor)->at;
  return SQLITE_OK;
}

int eof(sqlite3_vtab_cursor* cursor) {
  return static_cast<Cursor*>(cursor)->at >= source_of(cursor).rows.size() ? 1 : 0;
}

void give(sqlite3_context* context, std::uint64_t value) {
  sqlite3_result_int64(context, static_cast<std::int64_t>(value));
}

int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int number) {
  const Source& source = source_of(cursor);
  const ResultRows::Row& row = source.rows[static_cast<Cursor*>(cursor)->at];
  const CaseResult& result = *row.result;
  switch (number) {
    case kId:
      sqlite3_result_int64(context, row.id);
      break;
    case kVerdict:
      sqlite3_result_int(context, static_cast<int>(result.verdict));
      break;
    case kTimeUs:
      give(context, result.time_us);
      break;
    case kMemoryBytes:
      give(context, result.memory_bytes);
      break;
    case kAttempt:
      give(context, source.common.attempt);
      break;
    case kWorker:
      give(context, source.common.worker);
      break;
    case kSolverVersion:
      sqlite3_result_int64(context, source.common.solver_version);
      break;
    case kGradedMs:
      sqlite3_result_int64(context, source.common.graded_ms);
      break;
    case kAnswer:
      if (result.has_answer) {
        sqlite3_result_blob64(context, sqlite::address(result.answer), result.answer.size(),
                              SQLITE_STATIC);
      }
      break;
    case kMessage:
      if (!result.message.empty()) {
        sqlite3_result_text64(context, sqlite::address(result.message), result.message.size(),
                              SQLITE_STATIC, SQLITE_UTF8);
      }
      break;
    case kCached:
      sqlite3_result_int(context, result.cached ? 1 : 0);
      break;
    default:
      return SQLITE_ERROR;
  }
  return SQLITE_OK;  // nothing set: NULL
}

int rowid(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = static_cast<sqlite3_int64>(static_cast<Cursor*>(cursor)->at);
  return SQLITE_OK;
}

// Without xCreate the table is there on the connection, under the name of the module, and leaves
// nothing in the file.
constexpr sqlite3_module module_of_rows() {
  sqlite3_module module{};
  module.xConnect = connect;
  module.xDisconnect = disconnect;
  module.xBestIndex = best_index;
  module.xOpen = open;
  module.xClose = close;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = eof;
  module.xColumn = column;
  module.xRowid = rowid;
  return module;
}
constexpr sqlite3_module kModule = module_of_rows();

}  // namespace

sqlite::Connection& ResultRows::with_table(sqlite::Connection& connection, Source& source) {
  const int code = sqlite3_create_module(connection.handle(), "new_results", &kModule, &source);
  if (code != SQLITE_OK) connection.fail(code);
  return connection;
}

ResultRows::ResultRows(sqlite::Connection& connection)
    : connection_(with_table(connection, source_)), insert_(connection, kInsert) {}

void ResultRows::start(const Common& common) {
  source_.common = common;
  source_.rows.clear();
}

void ResultRows::add(std::int64_t id, const CaseResult& result) {
  source_.rows.push_back({id, &result});
}

void ResultRows::insert() {
  if (source_.rows.empty()) return;
  insert_.run();
  const auto inserted = static_cast<std::uint64_t>(sqlite3_changes64(connection_.handle()));
  if (inserted != source_.rows.size()) {
    throw sqlite::corrupt(
        fmt::format("{} of {} results were inserted; a trigger on the table "
                    "results or a table new_results is not puzzled's: drop it",
                    inserted, source_.rows.size()));
  }
  source_.rows.clear();
}

}  // namespace puzzled
