#include "workers/puzzles/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace puzzled {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// An optional '-' and digits, without leading zeros, "-0" or anything else.
bool is_plain_integer(std::string_view token) {
  const bool negative = token.starts_with('-');
  const std::string_view digits = token.substr(negative ? 1 : 0);
  if (digits.empty() || !std::ranges::all_of(digits, is_digit)) return false;
  return digits.front() != '0' || (digits.size() == 1 && !negative);
}

// The value of a plain integer; nullopt if it does not fit.
std::optional<std::int64_t> value_of(std::string_view token) {
  const bool negative = token.starts_with('-');
  std::int64_t value = 0;
  for (const char c : token.substr(negative ? 1 : 0)) {
    const std::int64_t digit = negative ? '0' - c : c - '0';
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) {
      return std::nullopt;
    }
  }
  return value;
}

std::string range_of(std::int64_t low, std::int64_t high, std::string_view name) {
  return low == high ? fmt::format("{} = {}", name, low)
                     : fmt::format("{} in {}..{}", name, low, high);
}

}  // namespace

std::string describe(const Defect& defect) {
  return fmt::format("{}:{}: {}", defect.at.line, defect.at.column, defect.message);
}

std::string printable(std::string_view text, std::size_t bytes_max) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x20 && byte < 0x7f;
    const std::string shown = plain ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
    if (out.size() + shown.size() > bytes_max) return out + "...";
    out += shown;
  }
  return out;
}

inline std::size_t TextReader::white_space_at(std::size_t offset) const {
  const char c = text_[offset];
  if (c == ' ' || c == '\n' || c == '\t') return 1;
  if (c == '\r' && offset + 1 < text_.size() && text_[offset + 1] == '\n') return 2;
  return 0;
}

inline void TextReader::skip_white_space() {
  while (offset_ < text_.size()) {
    const std::size_t length = white_space_at(offset_);
    if (length == 0) return;
    offset_ += length;
  }
}

inline void TextReader::advance() {
  skip_white_space();
  token_start_ = offset_;
  while (offset_ < text_.size() && white_space_at(offset_) == 0) ++offset_;
  token_end_ = offset_;
}

bool TextReader::at_end() {
  skip_white_space();
  return offset_ == text_.size();
}

bool TextReader::at_line_end() {
  while (offset_ < text_.size() && (text_[offset_] == ' ' || text_[offset_] == '\t')) ++offset_;
  return offset_ == text_.size() || white_space_at(offset_) != 0;
}

void TextReader::skip_blank_lines() { skip_white_space(); }

void TextReader::skip_line() {
  const std::size_t line_break = text_.find('\n', offset_);
  offset_ = line_break == std::string_view::npos ? text_.size() : line_break + 1;
}

std::string_view TextReader::token(std::string_view what) {
  advance();
  if (token_start_ == token_end_) fail_found(what);
  return text_.substr(token_start_, token_end_ - token_start_);
}

std::optional<TextReader::Number> TextReader::next_number(std::int64_t low, std::int64_t high) {
  // Nearly all tokens are short numbers: read them in one pass.
  skip_white_space();
  constexpr std::size_t kSafeDigits = 18;
  const std::size_t stop = std::min(text_.size(), offset_ + kSafeDigits);
  std::size_t at = offset_;
  std::int64_t value = 0;
  while (at < stop && is_digit(text_[at])) value = value * 10 + (text_[at++] - '0');
  const std::size_t length = at - offset_;
  const bool plain = length > 0 && (text_[offset_] != '0' || length == 1);
  if (plain && (at == text_.size() || white_space_at(at) != 0)) {
    token_start_ = offset_;
    token_end_ = offset_ = at;
    return Number{value, low <= value && value <= high};
  }
  advance();
  const std::string_view token = text_.substr(token_start_, token_end_ - token_start_);
  if (!is_plain_integer(token)) return std::nullopt;
  const std::optional<std::int64_t> exact = value_of(token);
  return Number{exact.value_or(0), exact && low <= *exact && *exact <= high};
}

std::optional<std::int64_t> TextReader::read_int(std::int64_t low, std::int64_t high,
                                                 std::string_view name) {
  const std::optional<Number> number = next_number(low, high);
  if (!number) fail_found(range_of(low, high, name));
  if (number->in_range) return number->value;
  add_found(range_of(low, high, name));
  return std::nullopt;
}

std::optional<std::int64_t> TextReader::read_number(std::int64_t low, std::int64_t high,
                                                    std::string_view expected) {
  const std::optional<Number> number = next_number(low, high);
  if (!number) fail_found(expected);
  if (number->in_range) return number->value;
  add_found(expected);
  return std::nullopt;
}

std::int64_t TextReader::require_int(std::int64_t low, std::int64_t high, std::string_view name) {
  const std::optional<Number> number = next_number(low, high);
  if (!number || !number->in_range) fail_found(range_of(low, high, name));
  return number->value;
}

void TextReader::expect_end(std::string_view what) {
  if (at_end()) return;
  advance();
  fail_found(what);
}

std::string TextReader::found(std::string_view expected) const {
  if (token_start_ == token_end_) {
    return fmt::format("found the end of the file, expected {}", expected);
  }
  const std::string_view token = text_.substr(token_start_, token_end_ - token_start_);
  const std::string shown = printable(token);
  return is_plain_integer(token) ? fmt::format("found {}, expected {}", shown, expected)
                                 : fmt::format("found \"{}\", expected {}", shown, expected);
}

void TextReader::add_found(std::string_view expected) {
  defects_.push_back({token_position(), found(expected)});
}

void TextReader::fail_found(std::string_view expected) const {
  throw ParseError({token_position(), found(expected)});
}

Position TextReader::position_of(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  // From the last place asked for, forwards or backwards: defects come roughly in order.
  while (offset < known_line_start_) {
    const std::size_t line_break =
        known_line_start_ < 2 ? std::string_view::npos : text_.rfind('\n', known_line_start_ - 2);
    known_line_start_ = line_break == std::string_view::npos ? 0 : line_break + 1;
    known_offset_ = known_line_start_;
    --known_line_;
  }
  while (known_offset_ < offset) {
    const std::size_t line_break = text_.find('\n', known_offset_);
    if (line_break >= offset) break;
    known_offset_ = known_line_start_ = line_break + 1;
    ++known_line_;
  }
  return {known_line_, offset - known_line_start_ + 1};
}

}  // namespace puzzled
