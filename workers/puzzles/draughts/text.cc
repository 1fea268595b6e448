// The contest's text format, and the instance drawn for people.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "workers/puzzles/draughts/draughts.h"
#include "workers/puzzles/instance_reader.h"

namespace puzzled::draughts {
namespace {

// As many as an answer of the largest size the system takes can list, one byte each.
constexpr std::int64_t kOperationsMax = std::int64_t{16} << 20U;

// One board: ten lines of ten digits for the pieces, then ten for the kings.
class Reader final : public InstanceReaderBase {
 public:
  using InstanceReaderBase::InstanceReaderBase;

 private:
  bool read_one(std::string& instance) override {
    if (done_) return false;
    done_ = true;
    Instance board;
    for (int row = 0; row < kSide; ++row) {
      read_row("row {} of the pieces", "0, 1 or 2", '2', row, [&](int square, char digit) {
        board.squares[static_cast<std::size_t>(square)] = static_cast<Piece>(digit - '0');
      });
    }
    for (int row = 0; row < kSide; ++row) {
      read_row("row {} of the kings", "0 or 1", '1', row, [&](int square, char digit) {
        Piece& piece = board.squares[static_cast<std::size_t>(square)];
        if (digit != '1') return;
        if (piece == Piece::kMan) piece = Piece::kKing;
        if (piece == Piece::kEnemyMan) piece = Piece::kEnemyKing;
      });
    }
    in().expect_end("the end of the file after 20 rows");
    encode_instance(board, instance);
    return true;
  }

  // Reads a line of ten digits up to `last`, blanks between them allowed, blank lines before it
  // skipped; `visit` gets each square. A larger digit is a defect, all else that is wrong a
  // ParseError.
  template <typename Visit>
  void read_row(fmt::format_string<int> name, std::string_view digits, char last, int row,
                Visit visit) {
    if (in().at_end()) in().token(fmt::format(name, row + 1));  // throws.
    for (int column = 0; column < kSide; ++column) {
      if (in().at_line_end()) {
        in().fail(in().position(),
                  fmt::format("found the end of the line, expected {} digits in {}", kSide,
                              fmt::format(name, row + 1)));
      }
      const char digit = in().rest().front();
      if (digit < '0' || digit > '9') fail_byte(digit, digits);
      if (digit > last) {
        in().add_defect(in().position(), fmt::format("found {}, expected {}", digit, digits));
      } else {
        visit(row * kSide + column, digit);
      }
      in().skip(1);
    }
    if (!in().at_line_end()) fail_byte(in().rest().front(), "the end of the line after ten digits");
  }

  [[noreturn]] void fail_byte(char byte, std::string_view expected) {
    in().fail(in().position(),
              fmt::format("found \"{}\", expected {}", printable({&byte, 1}), expected));
  }

  bool done_ = false;
};

// The whole file is the claim of the one case.
class Claims final : public ClaimReader {
 public:
  explicit Claims(std::string_view text) : in_(text) {}

  void next(ParsedClaim& out) override {
    out.answer.clear();
    out.unreadable.clear();
    try {
      if (is_read_) in_.fail({1, 1}, "found one claim, expected no further case in the file");
      is_read_ = true;
      read(out.answer);
    } catch (const ParseError& error) {
      out.answer.clear();
      out.unreadable = describe(error.defect());
    }
  }

  // What does not belong to the claim makes it unreadable instead.
  std::optional<Defect> finish() override {
    if (is_read_ || in_.at_end()) return std::nullopt;
    return Defect{in_.position(), "found a claim, expected the end of the file: there is no case"};
  }

 private:
  void read(std::string& answer) {
    const std::int64_t count = in_.require_int(0, kOperationsMax, "number of operations");
    Answer claimed;
    for (std::int64_t i = 0; i < count; ++i) {
      end_line();
      claimed.origins.push_back(read_square());
    }
    in_.expect_end(fmt::format("the end of the file after {} operations", count));
    encode_answer(claimed, answer);
  }

  // One operation a line: what follows on the line is too much.
  void end_line() {
    if (in_.at_line_end()) return;
    in_.token("the end of the line");
    in_.fail_found("the end of the line");
  }

  // "(ROW,COLUMN)", from 1.
  std::uint8_t read_square() {
    constexpr std::string_view kExpected = "(row,column) with row and column in 1..10";
    std::string_view token = in_.token(kExpected);
    const auto take_char = [&](char c) {
      if (!token.starts_with(c)) in_.fail_found(kExpected);
      token.remove_prefix(1);
    };
    const auto take_coordinate = [&]() -> int {
      const std::size_t length = token.starts_with("10") ? 2 : 1;
      if (token.empty() || token.front() < '1' || token.front() > '9') in_.fail_found(kExpected);
      const int value = length == 2 ? 10 : token.front() - '0';
      token.remove_prefix(length);
      return value;
    };
    take_char('(');
    const int row = take_coordinate();
    take_char(',');
    const int column = take_coordinate();
    take_char(')');
    if (!token.empty()) in_.fail_found(kExpected);
    return static_cast<std::uint8_t>((row - 1) * kSide + column - 1);
  }

  TextReader in_;
  bool is_read_ = false;
};

Answer& scratch_answer(std::string_view bytes) {
  thread_local Answer answer;
  decode_answer(bytes, answer);
  return answer;
}

}  // namespace

std::unique_ptr<InstanceReader> read_instances(std::string_view text) {
  return std::make_unique<Reader>(text);
}

std::unique_ptr<ClaimReader> read_claims(std::string_view text) {
  return std::make_unique<Claims>(text);
}

void format_answer(std::string_view bytes, std::string& out) {
  const Answer& answer = scratch_answer(bytes);
  fmt::format_to(std::back_inserter(out), "{}\n", answer.origins.size());
  for (const int square : answer.origins) {
    fmt::format_to(std::back_inserter(out), "({},{})\n", square / kSide + 1, square % kSide + 1);
  }
}

std::string format_instances(const std::vector<std::string>& instances) {
  if (instances.size() != 1) {
    throw InvalidWire(fmt::format("found {} boards, expected one in a file", instances.size()));
  }
  const Instance instance = decode_instance(instances.front());
  std::string pieces;
  std::string kings;
  for (int square = 0; square < kSquares; ++square) {
    const Piece piece = instance.squares[static_cast<std::size_t>(square)];
    pieces += is_own(piece) ? '1' : is_enemy(piece) ? '2' : '0';
    kings += piece == Piece::kKing || piece == Piece::kEnemyKing ? '1' : '0';
    if (square % kSide < kSide - 1) continue;
    pieces += '\n';
    kings += '\n';
  }
  return pieces + kings;
}

std::string draw(std::string_view bytes) {
  constexpr std::string_view kSymbols = ".oxOX";  // by Piece; kings are capital.
  const Instance instance = decode_instance(bytes);
  std::string out = "    1 2 3 4 5 6 7 8 9 10\n";
  for (int row = 0; row < kSide; ++row) {
    fmt::format_to(std::back_inserter(out), "{:2} ", row + 1);
    for (int column = 0; column < kSide; ++column) {
      const Piece piece = instance.squares[static_cast<std::size_t>(row * kSide + column)];
      out += ' ';
      out += kSymbols[static_cast<std::size_t>(piece)];
    }
    out += '\n';
  }
  out += "   o own man, O own king, x enemy man, X enemy king\n";
  return out;
}

std::string summarize(std::string_view bytes) {
  const std::vector<std::uint8_t>& origins = scratch_answer(bytes).origins;
  if (origins.empty()) return "0 operations";
  return fmt::format("{} operation{}, first ({},{})", origins.size(),
                     origins.size() == 1 ? "" : "s", origins.front() / kSide + 1,
                     origins.front() % kSide + 1);
}

}  // namespace puzzled::draughts
