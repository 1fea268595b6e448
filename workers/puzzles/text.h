// Reading contest text: tokens, numbers with named ranges, lines; every error with its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace puzzled {

// A place in a text, lines and columns from 1, columns in bytes.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
};

// Something wrong with a text. `message` reads "found X, expected Y", printable ASCII.
struct Defect {
  Position at;
  std::string message;
};

// A syntax error: the rest of the text cannot be understood.
class ParseError : public std::runtime_error {
 public:
  explicit ParseError(Defect defect)
      : std::runtime_error(defect.message), defect_(std::move(defect)) {}
  [[nodiscard]] const Defect& defect() const { return defect_; }

 private:
  Defect defect_;
};

// "LINE:COLUMN: message".
std::string describe(const Defect& defect);

// Text as it may be shown: control and non-ASCII bytes as \xNN, cut to `bytes_max` with "...".
std::string printable(std::string_view text, std::size_t bytes_max = 40);

// Splits a text into tokens by runs of space, tab, LF and CRLF. A lone CR, a NUL byte, a byte
// order mark are part of a token and hence errors. Positions are computed only when asked for, so
// that reading stays fast.
class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  // True if only white space is left (which is then consumed).
  bool at_end();
  // True if only blanks are left on this line (LF, CRLF or the end of the text follows); consumes
  // the blanks, not the line break.
  bool at_line_end();
  // Consumes white space up to the next token, line breaks included.
  void skip_blank_lines();

  // The next token on any line. Throws ParseError at the end of the text: found the end of the
  // file, expected `what`.
  std::string_view token(std::string_view what);

  // The next token as a plain decimal integer (an optional '-', no '+', no leading zeros, no "-0").
  // Throws ParseError if it is anything else. A well-formed number outside [low, high], however
  // large, adds a defect that names the range ("found 122, expected n in 1..121") and gives
  // nullopt: the text can still be understood.
  std::optional<std::int64_t> read_int(std::int64_t low, std::int64_t high, std::string_view name);

  // The same with the whole of what is expected in words, where "NAME in LOW..HIGH" does not say
  // it.
  std::optional<std::int64_t> read_number(std::int64_t low, std::int64_t high,
                                          std::string_view expected);

  // As read_int, but a number out of range is a ParseError too: for counts that say how the text
  // goes on, and for claimed answers.
  std::int64_t require_int(std::int64_t low, std::int64_t high, std::string_view name);

  // Throws ParseError unless only white space is left.
  void expect_end(std::string_view what);

  // Skips the rest of this line, its line break included.
  void skip_line();

  // For readers that look at the bytes themselves: what is not read yet, and to consume `bytes` of
  // it. REQUIRES: bytes <= rest().size().
  [[nodiscard]] std::string_view rest() const { return text_.substr(offset_); }
  void skip(std::size_t bytes) { offset_ += bytes; }

  // Where the next byte, or the token last returned, stands.
  [[nodiscard]] Position position() const { return position_of(offset_); }
  [[nodiscard]] Position token_position() const { return position_of(token_start_); }
  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::string_view last_token() const {
    return text_.substr(token_start_, token_end_ - token_start_);
  }
  // At the end of the text: the line after the last line break (column 1 if it is empty).
  [[nodiscard]] Position position_of(std::size_t offset) const;

  // Adds a defect; `message` reads "found X, expected Y".
  void add_defect(Position at, std::string message) {
    defects_.push_back({at, std::move(message)});
  }
  // REQUIRES: there is one.
  void drop_last_defect() { defects_.pop_back(); }
  [[nodiscard]] const std::vector<Defect>& defects() const { return defects_; }
  // The same at the token last returned: found that token (or the end of the file), expected
  // `expected`.
  void add_found(std::string_view expected);
  // Throws ParseError.
  [[noreturn]] void fail_found(std::string_view expected) const;
  [[noreturn]] void fail(Position at, std::string message) const {
    throw ParseError({at, std::move(message)});
  }

 private:
  struct Number {
    std::int64_t value = 0;
    bool in_range = false;
  };
  // Consumes a token; nullopt if it is not a plain decimal integer.
  std::optional<Number> next_number(std::int64_t low, std::int64_t high);
  // Consumes white space and then the bytes up to the next; the token may be empty only at the end.
  void advance();
  void skip_white_space();
  // Length of the white space character at `offset`: 0 none, 1, or 2 for CRLF.
  [[nodiscard]] std::size_t white_space_at(std::size_t offset) const;
  [[nodiscard]] std::string found(std::string_view expected) const;

  std::string_view text_;
  std::size_t offset_ = 0;
  std::size_t token_start_ = 0;
  std::size_t token_end_ = 0;
  // Line starts are counted from the last position asked for.
  mutable std::size_t known_offset_ = 0;
  mutable std::size_t known_line_ = 1;
  mutable std::size_t known_line_start_ = 0;
  std::vector<Defect> defects_;
};

}  // namespace puzzled
