// The contest's text format, and the instance drawn for people.
#include <fmt/format.h>

#include <iterator>
#include <limits>

#include "workers/puzzles/chinese_checkers/chinese_checkers.h"
#include "workers/puzzles/claims.h"
#include "workers/puzzles/counted_reader.h"

namespace puzzled::chinese_checkers {
namespace {

constexpr std::array<std::string_view, kRows> kColumnNames = {
    "column of row 1",  "column of row 2",  "column of row 3",  "column of row 4",
    "column of row 5",  "column of row 6",  "column of row 7",  "column of row 8",
    "column of row 9",  "column of row 10", "column of row 11", "column of row 12",
    "column of row 13", "column of row 14", "column of row 15", "column of row 16",
    "column of row 17"};

struct Cell {
  int row = 0;     // from 1
  int column = 0;  // from 1
};
Cell cell_at(int cell) {
  int row = kRows;
  while (kRowStarts[static_cast<std::size_t>(row - 1)] > cell) --row;
  return {row, cell - kRowStarts[static_cast<std::size_t>(row - 1)] + 1};
}

// Cells of a row by its number, 0 for what is no row.
constexpr std::array<std::uint8_t, 100> kLengthOfRow = [] {
  std::array<std::uint8_t, 100> lengths{};
  for (std::size_t row = 0; row < kRows; ++row) {
    lengths[row + 1] = static_cast<std::uint8_t>(kRowLengths[row]);
  }
  return lengths;
}();

// "ROW COLUMN" and a line break, numbers of one or two digits without a leading zero.
struct PlainLine {
  unsigned row = 0;
  unsigned column = 0;
  std::ptrdiff_t bytes = 0;  // 0: the text is anything else
};
// How many digits a number has is as good as random, so nothing here branches on it: a branch that
// is predicted wrong costs more than all the rest. REQUIRES: six bytes at `at`.
inline PlainLine read_plain_line(const char* at) {
  const auto digit = [](char c) { return static_cast<unsigned>(c - '0'); };
  const unsigned row_tens = at[1] != ' ' ? 1 : 0;
  const char* const blank = at + 1 + row_tens;
  const unsigned column_tens = blank[2] != '\n' ? 1 : 0;
  const char* const line_break = blank + 2 + column_tens;
  const unsigned row_first = digit(at[0]);
  const unsigned row_last = digit(blank[-1]);
  const unsigned column_first = digit(blank[1]);
  const unsigned column_last = digit(line_break[-1]);
  const bool is_plain = (row_first - 1 <= 8) & (row_last <= 9) & (*blank == ' ') &
                        (column_first - 1 <= 8) & (column_last <= 9) & (*line_break == '\n');
  if (!is_plain) return {};
  return {.row = row_tens * row_first * 10 + row_last,
          .column = column_tens * column_first * 10 + column_last,
          .bytes = line_break - at + 1};
}

class Reader final : public CountedReader {
 public:
  explicit Reader(std::string_view text) : CountedReader(text, kBoardsMax) {}

 private:
  void read_case(std::string& instance) override {
    const std::int64_t n = read_size(1, kCells, "n");
    Instance board;
    std::int64_t left = n;
    while (left > 0) {
      left -= read_plain_lines(left, board);
      if (left == 0) break;
      read_checker(board);
      --left;
    }
    if (is_sound()) encode_instance(board, instance);
  }

  // Reads checkers as long as there is one on each line, "ROW COLUMN" without further blanks, with
  // nothing wrong: nearly all of a file of hundreds of megabytes. Returns how many it has read.
  std::int64_t read_plain_lines(std::int64_t count, Instance& board) {
    // Of the next line: a line break, four digits, a blank and the next line break.
    constexpr std::ptrdiff_t kLineBytesMax = 7;
    const std::string_view text = in().rest();
    const char* const end = text.data() + text.size();
    const char* done = text.data();
    std::int64_t read = 0;
    while (read < count && end - done >= kLineBytesMax && *done == '\n') {
      const PlainLine line = read_plain_line(done + 1);
      if (line.bytes == 0 || line.column > kLengthOfRow[line.row]) break;
      const int cell = kRowStarts[line.row - 1] + static_cast<int>(line.column) - 1;
      if (board.contains(cell)) break;
      board.add(cell);
      done += line.bytes;  // the line break belongs to the next line.
      ++read;
    }
    in().skip(static_cast<std::size_t>(done - text.data()));
    return read;
  }

  // Reads one checker however it is laid out, with all that can be wrong.
  void read_checker(Instance& board) {
    const auto row = read_value(1, kRows, "row");
    const std::size_t row_end = in().offset();
    if (!row) {
      read_value(1, 13, "column");
      return;
    }
    const auto index = static_cast<std::size_t>(*row - 1);
    const auto column = read_value(1, kRowLengths[index], kColumnNames[index]);
    if (!column) return;
    const int cell = kRowStarts[index] + static_cast<int>(*column) - 1;
    if (board.contains(cell)) {
      add_case_defect(
          in().position_of(row_end - (*row < 10 ? 1 : 2)),
          fmt::format("found row {} column {} twice, expected distinct checkers", *row, *column));
    }
    board.add(cell);
  }
};

class Claims final : public LineClaims {
 public:
  using LineClaims::LineClaims;

 private:
  void read_value(TextReader& in, std::string& answer) override {
    const std::int64_t moves =
        in.require_int(0, std::numeric_limits<std::uint32_t>::max(), "number of moves");
    encode_answer({static_cast<std::uint32_t>(moves)}, answer);
  }
};

}  // namespace

std::unique_ptr<InstanceReader> read_instances(std::string_view text) {
  return std::make_unique<Reader>(text);
}

std::unique_ptr<ClaimReader> read_claims(std::string_view text) {
  return std::make_unique<Claims>(text);
}

void format_answer(std::string_view answer, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}\n", decode_answer(answer).moves);
}

std::string format_instances(const std::vector<std::string>& instances) {
  if (instances.empty()) throw InvalidWire("found no board, expected at least one in a file");
  std::string out = fmt::format("{}\n", instances.size());
  for (const std::string& bytes : instances) {
    const Instance instance = decode_instance(bytes);
    fmt::format_to(std::back_inserter(out), "{}\n", instance.size());
    for (int cell = 0; cell < kCells; ++cell) {
      if (!instance.contains(cell)) continue;
      const auto [row, column] = cell_at(cell);
      fmt::format_to(std::back_inserter(out), "{} {}\n", row, column);
    }
  }
  return out;
}

std::string draw(std::string_view bytes) {
  const Instance instance = decode_instance(bytes);
  std::string out;
  for (std::size_t row = 0; row < kRows; ++row) {
    fmt::format_to(std::back_inserter(out), "{:2} {:{}}", row + 1, "", 13 - kRowLengths[row]);
    for (int column = 0; column < kRowLengths[row]; ++column) {
      out += instance.contains(kRowStarts[row] + column) ? " o" : " .";
    }
    out += '\n';
  }
  return out;
}

std::string summarize(std::string_view answer) {
  return fmt::format("{}", decode_answer(answer).moves);
}

}  // namespace puzzled::chinese_checkers
