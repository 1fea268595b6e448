#include "proto/base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace puzzled {
namespace {

// Length of the well-formed UTF-8 sequence at the start of `text` and its code point; 0: none.
// REQUIRES: text is not empty.
std::size_t decode_utf8(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) {
    code = first;
    return 1;
  }
  std::size_t length = 0;
  std::uint32_t lowest = 0;
  if (first >= 0xc2 && first < 0xe0) {
    length = 2, code = first & 0x1fU, lowest = 0x80;
  } else if (first >= 0xe0 && first < 0xf0) {
    length = 3, code = first & 0x0fU, lowest = 0x800;
  } else if (first >= 0xf0 && first < 0xf5) {
    length = 4, code = first & 0x07U, lowest = 0x10000;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
    code = (code << 6U) | (byte(i) & 0x3fU);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < lowest || code > 0x10ffff || surrogate ? 0 : length;
}

bool in(std::uint32_t code, std::uint32_t low, std::uint32_t high) {
  return code >= low && code <= high;
}

// Controls (C0, DEL, C1), line and paragraph separators, and what turns the direction of writing.
bool is_control(std::uint32_t code) {
  return code < 0x20 || in(code, 0x7f, 0x9f) || in(code, 0x2028, 0x202e) ||
         in(code, 0x2066, 0x2069);
}

// Those, and what cannot be seen: two names that look alike might not be.
bool is_harmful(std::uint32_t code) {
  return is_control(code) || code == 0xad || code == 0x61c || in(code, 0x200b, 0x200f) ||
         in(code, 0x2060, 0x206f) || code == 0xfeff || in(code, 0xfff0, 0xfffb) ||
         in(code, 0xe0000, 0xe0fff);
}

std::string made_printable(std::string_view text, bool keep_line_breaks) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t code = 0;
    std::size_t length = decode_utf8(text, code);
    if (keep_line_breaks && code == '\n' && length == 1) {
      out.push_back('\n');
    } else if (length == 0 || is_harmful(code)) {
      length = std::max<std::size_t>(length, 1);
      for (const char c : text.substr(0, length)) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<std::uint8_t>(c));
      }
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    std::uint32_t code = 0;
    const std::size_t length = decode_utf8(text, code);
    if (length == 0 || is_control(code)) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable_line(std::string_view text) { return made_printable(text, false); }
std::string printable_lines(std::string_view text) { return made_printable(text, true); }

}  // namespace puzzled
