// Records for people (tables) and for programs (CSV, JSON). Field names are an interface.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "client/console.h"

namespace puzzled::client {

enum class OutputFormat : std::uint8_t { kTable, kCsv, kJson, kJsonl };

struct Field;
using Record = std::vector<Field>;
struct Value {
  // What programs read; bytes that are not UTF-8 become U+FFFD in JSON and stay in CSV.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, std::string, Record,
               std::vector<Record>, std::vector<std::string>>
      data;
  // What people read in its place; nothing: the data.
  std::optional<std::string> shown = std::nullopt;
  Colour colour = Colour::kNone;
};

struct Field {
  std::string_view name;  // a literal
  Value value;
};

struct Column {
  std::string_view field;    // in the record
  std::string_view heading;  // in tables; empty: not shown there
  bool right = false;        // aligned to the right
  std::size_t width_max = 60;
};

// Writes records of the same fields one after the other.
class RecordWriter {
 public:
  virtual ~RecordWriter() = default;
  virtual void write(const Record& record) = 0;
  // After the last record; nothing is complete without.
  virtual void finish() = 0;
};
// `columns`: the fields in order, as every record will have them. The console must outlive it.
std::unique_ptr<RecordWriter> record_writer(OutputFormat format, const std::vector<Column>& columns,
                                            Console& console);

// One record by itself: in tables a line for each field ("heading  value"), in JSON one object.
void write_single(OutputFormat format, const std::vector<Column>& columns, const Record& record,
                  Console& console);

// RFC 4180: quoted if need be.
std::string csv_field(std::string_view text);
// "2026-01-31T12:34:56.789Z"; empty for 0 (never).
std::string iso_time(std::int64_t unix_ms);
Value time_value(std::int64_t unix_ms);
// A text of others; empty becomes "no value" in tables.
Value text_value(std::string_view text);

}  // namespace puzzled::client
