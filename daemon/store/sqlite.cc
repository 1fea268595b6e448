#include "daemon/store/sqlite.h"

#include <sqlite3.h>

#include <cctype>
#include <cerrno>

namespace puzzled::sqlite {
namespace {

// sqlite.org/uri.html
std::string immutable_uri(const std::string& path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '/' || c == '.' || c == '-' || c == '_') {
      uri += c;
    } else {
      uri += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

Error::Error(int code, int os_error, const std::string& text)
    : std::runtime_error(text), code_(code), os_error_(os_error) {}

bool Error::disk_full() const {
  if ((code_ & 0xff) == SQLITE_FULL) return true;
  // After a failed sync nobody knows what is on the disk, whatever the reason was.
  const bool sync = code_ == SQLITE_IOERR_FSYNC || code_ == SQLITE_IOERR_DIR_FSYNC;
  return (code_ & 0xff) == SQLITE_IOERR && !sync && (os_error_ == ENOSPC || os_error_ == EDQUOT);
}

bool Error::busy() const { return (code_ & 0xff) == SQLITE_BUSY; }

bool Error::passes() const { return busy() || (code_ & 0xff) == SQLITE_NOMEM; }

Error corrupt(const std::string& text) { return {SQLITE_CORRUPT, 0, text}; }

Connection::Connection(const std::string& path, Mode mode) {
  // NOMUTEX: a connection belongs to one thread at a time, so SQLite need not lock it.
  const bool at_rest = mode == Mode::kAtRest;
  const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | (at_rest ? SQLITE_OPEN_URI : 0) |
                    (mode == Mode::kReadWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
  const std::string name = at_rest ? immutable_uri(path) : path;
  const int code = sqlite3_open_v2(name.c_str(), &handle_, flags, nullptr);
  if (code == SQLITE_OK) return;
  const int os_error = handle_ == nullptr ? 0 : sqlite3_system_errno(handle_);
  const std::string text = handle_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle_);
  sqlite3_close(handle_);
  throw Error(code, os_error, text);
}

Connection::~Connection() { sqlite3_close(handle_); }

void Connection::exec(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t Connection::integer(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

void Connection::fail(int code) const {
  throw Error(code, sqlite3_system_errno(handle_), sqlite3_errmsg(handle_));
}

Statement::Statement(Connection& connection, std::string_view sql) : connection_(connection) {
  check(sqlite3_prepare_v3(connection.handle(), sql.data(), static_cast<int>(sql.size()),
                           SQLITE_PREPARE_PERSISTENT, &handle_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(handle_); }

void Statement::bind_integer(int index, std::int64_t value) {
  check(sqlite3_bind_int64(handle_, index, value));
}

void Statement::bind_at(int index, std::string_view text) {
  check(
      sqlite3_bind_text64(handle_, index, address(text), text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bind_at(int index, Blob blob) {
  check(sqlite3_bind_blob64(handle_, index, address(blob.bytes), blob.bytes.size(), SQLITE_STATIC));
}

void Statement::bind_at(int index, std::nullptr_t) { check(sqlite3_bind_null(handle_, index)); }

bool Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  // The reset would clear errno and message of the connection: take them first.
  const int os_error = sqlite3_system_errno(connection_.handle());
  const std::string text = sqlite3_errmsg(connection_.handle());
  sqlite3_reset(handle_);
  throw Error(code, os_error, text);
}

void Statement::reset() { sqlite3_reset(handle_); }

bool Statement::null(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(handle_, column);
  const int size = sqlite3_column_bytes(handle_, column);
  return data == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) connection_.fail(code);
}

}  // namespace puzzled::sqlite
