#include "client/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "proto/base/assert.h"

namespace puzzled::client {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Value& value);

Json to_json(const Record& record) {
  Json object = Json::object();
  for (const auto& [name, value] : record) object[std::string(name)] = to_json(value);
  return object;
}

Json to_json(const Value& value) {
  return std::visit(
      [](const auto& data) -> Json {
        using T = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, Record>) {
          return to_json(data);
        } else if constexpr (std::is_same_v<T, std::vector<Record>>) {
          Json array = Json::array();
          for (const Record& record : data) array.push_back(to_json(record));
          return array;
        } else {
          return data;
        }
      },
      value.data);
}

// On a terminal only ASCII leaves: JSON escapes the control characters of C0, not those of C1.
std::string dump(const Json& json, bool terminal) {
  return json.dump(-1, ' ', terminal, Json::error_handler_t::replace);
}

std::string csv_text(const Value& value, bool terminal) {
  std::string text = std::visit(
      [&](const auto& data) -> std::string {
        using T = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<T, std::string>) {
          return data;
        } else {
          return dump(to_json(value), terminal);
        }
      },
      value.data);
  return terminal ? printable_lines(text) : text;
}

std::string shown_text(const Value& value) {
  if (value.shown) return *value.shown;
  return std::visit(
      [&](const auto& data) -> std::string {
        using T = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<T, std::string>) {
          return data;
        } else if constexpr (std::is_same_v<T, bool>) {
          return data ? "yes" : "no";
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return fmt::format("{}", fmt::join(data, ", "));
        } else {
          return dump(to_json(value), true);
        }
      },
      value.data);
}

const Value& value_of(const Record& record, std::string_view field) {
  for (const auto& [name, value] : record) {
    if (name == field) return value;
  }
  ASSERT(false && "a record without one of its fields");
  static const Value none;
  return none;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t used = display_width(text);
  const std::string blanks(used < width ? width - used : 0, ' ');
  return right ? blanks + text : text + blanks;
}

class CsvWriter : public RecordWriter {
 public:
  CsvWriter(const std::vector<Column>& columns, Console& console) : console_(console) {
    std::string line;
    for (const Column& column : columns) {
      if (!line.empty()) line += ',';
      line += column.field;
    }
    console_.out() << line << "\r\n";
  }
  void write(const Record& record) override {
    std::string line;
    for (std::size_t i = 0; i < record.size(); ++i) {
      if (i > 0) line += ',';
      line += csv_field(csv_text(record[i].value, console_.setup().out_terminal));
    }
    console_.out() << line << "\r\n";
  }
  void finish() override { console_.flush(); }

 private:
  Console& console_;
};

class JsonWriter : public RecordWriter {
 public:
  JsonWriter(bool lines, Console& console) : lines_(lines), console_(console) {}
  void write(const Record& record) override {
    if (!lines_) console_.out() << (first_ ? "[\n" : ",\n");
    first_ = false;
    console_.out() << dump(to_json(record), console_.setup().out_terminal);
    if (lines_) console_.out() << '\n';
  }
  void finish() override {
    if (!lines_) console_.out() << (first_ ? "[]\n" : "\n]\n");
    console_.flush();
  }

 private:
  bool lines_;
  Console& console_;
  bool first_ = true;
};

// Aligned by what the first records need, so that output of any length streams.
class TableWriter : public RecordWriter {
 public:
  TableWriter(const std::vector<Column>& columns, Console& console) : console_(console) {
    for (const Column& column : columns) {
      if (!column.heading.empty()) columns_.push_back(column);
    }
  }
  void write(const Record& record) override {
    std::vector<Cell> row;
    for (const Column& column : columns_) {
      const Value& value = value_of(record, column.field);
      row.push_back({shortened(printable_line(shown_text(value)), column.width_max), value.colour});
    }
    rows_.push_back(std::move(row));
    if (rows_.size() >= kBufferedRows) write_rows();
  }
  void finish() override {
    write_rows();
    console_.flush();
  }

 private:
  static constexpr std::size_t kBufferedRows = 1000;
  struct Cell {
    std::string text;
    Colour colour;
  };

  void write_rows() {
    if (widths_.empty()) {
      for (const Column& column : columns_) widths_.push_back(display_width(column.heading));
      widen();
      std::vector<Cell> heading;
      for (const Column& column : columns_) {
        heading.push_back({std::string(column.heading), Colour::kDim});
      }
      write_row(heading);
    } else {
      widen();
    }
    for (const std::vector<Cell>& row : rows_) write_row(row);
    rows_.clear();
  }
  void widen() {
    for (const std::vector<Cell>& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        widths_[i] = std::max(widths_[i], display_width(row[i].text));
      }
    }
  }
  void write_row(const std::vector<Cell>& row) {
    std::string line;
    std::string blanks;  // held back, so that no line ends with blanks.
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string text = padded(row[i].text, widths_[i], columns_[i].right);
      const std::size_t end = text.find_last_not_of(' ') + 1;
      if (end > 0) {
        line += blanks + console_.coloured(text.substr(0, end), row[i].colour);
        blanks.clear();
      }
      blanks.append(text.size() - end + 2, ' ');
    }
    console_.out() << line << '\n';
  }

  std::vector<Column> columns_;
  Console& console_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<Cell>> rows_;
};

void write_single_table(const std::vector<Column>& columns, const Record& record,
                        Console& console) {
  std::size_t width = 0;
  for (const Column& column : columns) width = std::max(width, column.heading.size());
  for (const Column& column : columns) {
    if (column.heading.empty()) continue;
    const Value& value = value_of(record, column.field);
    const std::string text = shown_text(value);
    if (text.empty()) continue;
    console.out() << padded(std::string(column.heading), width + 2, false)
                  << console.coloured(printable_line(text), value.colour) << '\n';
  }
  console.flush();
}

}  // namespace

std::unique_ptr<RecordWriter> record_writer(OutputFormat format, const std::vector<Column>& columns,
                                            Console& console) {
  switch (format) {
    case OutputFormat::kCsv:
      return std::make_unique<CsvWriter>(columns, console);
    case OutputFormat::kJson:
      return std::make_unique<JsonWriter>(false, console);
    case OutputFormat::kJsonl:
      return std::make_unique<JsonWriter>(true, console);
    case OutputFormat::kTable:
      break;
  }
  return std::make_unique<TableWriter>(columns, console);
}

void write_single(OutputFormat format, const std::vector<Column>& columns, const Record& record,
                  Console& console) {
  if (format == OutputFormat::kTable) {
    write_single_table(columns, record, console);
  } else if (format == OutputFormat::kJson) {
    const bool terminal = console.setup().out_terminal;
    console.out() << to_json(record).dump(2, ' ', terminal, Json::error_handler_t::replace) << '\n';
    console.flush();
  } else {
    const std::unique_ptr<RecordWriter> writer = record_writer(format, columns, console);
    writer->write(record);
    writer->finish();
  }
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string iso_time(std::int64_t unix_ms) {
  constexpr std::int64_t kLast = 253'402'300'799'999;  // of the year 9999
  if (unix_ms <= 0 || unix_ms > kLast) return "";
  using namespace std::chrono;
  const sys_time<milliseconds> time{milliseconds(unix_ms)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss<milliseconds> clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

Value time_value(std::int64_t unix_ms) {
  std::string text = iso_time(unix_ms);
  if (text.empty()) return {};
  return {std::move(text)};
}

Value text_value(std::string_view text) { return {std::string(text)}; }

}  // namespace puzzled::client
