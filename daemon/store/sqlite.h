// A thin layer over SQLite's C interface: handles that close themselves, errors that are thrown.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace puzzled::sqlite {

// Never leaves daemon/store: it becomes a Fatal, a pause of intake or a failed query.
class Error : public std::runtime_error {
 public:
  // `code` is SQLite's extended result code, `os_error` the errno behind it or 0.
  Error(int code, int os_error, const std::string& text);

  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] bool disk_full() const;  // SQLITE_FULL, or ENOSPC or EDQUOT before any sync
  [[nodiscard]] bool busy() const;       // another process holds the lock
  [[nodiscard]] bool passes() const;     // busy, or no memory: nothing is wrong with the file

 private:
  int code_;
  int os_error_;
};
// What was read cannot have been written by us.
Error corrupt(const std::string& text);

// One connection, to be used by one thread at a time.
class Connection {
 public:
  // kAtRest: only to read, a file that nobody writes meanwhile; leaves no traces beside it.
  enum class Mode { kReadWrite, kReadOnly, kAtRest };
  // The file must exist. Throws Error.
  Connection(const std::string& path, Mode mode);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs statements without results. Throws Error.
  void exec(const std::string& sql);
  // The integer in the first column of the first row.
  std::int64_t integer(const std::string& sql);
  [[nodiscard]] bool in_transaction() const;
  [[nodiscard]] sqlite3* handle() const { return handle_; }
  [[noreturn]] void fail(int code) const;

 private:
  sqlite3* handle_ = nullptr;
};

// An empty view may have no address, which SQLite would take for NULL.
inline const char* address(std::string_view bytes) { return bytes.empty() ? "" : bytes.data(); }

// Bytes that are no text.
struct Blob {
  std::string_view bytes;
};

// A prepared statement. Bound text and blobs are not copied: they must live until the step.
class Statement {
 public:
  Statement(Connection& connection, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  template <std::integral T>
  void bind_at(int index, T value) {
    bind_integer(index, static_cast<std::int64_t>(value));
  }
  template <std::integral T>
  void bind_at(int index, const std::optional<T>& value) {
    if (value) {
      bind_at(index, *value);
    } else {
      bind_at(index, nullptr);
    }
  }
  void bind_at(int index, std::string_view text);
  void bind_at(int index, Blob blob);
  void bind_at(int index, std::nullptr_t null);

  // Binds all parameters in order.
  template <class... Args>
  void bind(const Args&... args) {
    int index = 0;
    (bind_at(++index, args), ...);
  }

  bool step();  // true: there is a row. After an error the statement is reset.
  void reset();

  // Runs a statement without rows.
  template <class... Args>
  void run(const Args&... args) {
    bind(args...);
    step();
    reset();
  }

  // Columns of the current row, from 0. Views are valid until the next step or reset.
  [[nodiscard]] bool null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(integer(column));
  }
  [[nodiscard]] std::uint32_t number32(int column) const {
    return static_cast<std::uint32_t>(integer(column));
  }
  [[nodiscard]] std::string_view bytes(int column) const;  // text or blob
  [[nodiscard]] std::string string(int column) const { return std::string(bytes(column)); }

 private:
  void bind_integer(int index, std::int64_t value);
  void check(int code) const;

  Connection& connection_;
  sqlite3_stmt* handle_ = nullptr;
};

// Resets a statement at the end of the scope, so that it holds no snapshot.
class ResetAtEnd {
 public:
  explicit ResetAtEnd(Statement& statement) : statement_(statement) {}
  ~ResetAtEnd() { statement_.reset(); }
  ResetAtEnd(const ResetAtEnd&) = delete;
  ResetAtEnd& operator=(const ResetAtEnd&) = delete;

 private:
  Statement& statement_;
};

}  // namespace puzzled::sqlite
