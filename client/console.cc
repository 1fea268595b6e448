#include "client/console.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/failure.h"

namespace puzzled::client {
namespace {

// Length of the well-formed UTF-8 sequence at the start of `text` and its code point; 0: none.
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

// Controls, and what changes the direction of writing, joins or hides characters.
bool is_harmful(std::uint32_t code) {
  const auto in = [code](std::uint32_t low, std::uint32_t high) {
    return code >= low && code <= high;
  };
  return code < 0x20 || in(0x7f, 0x9f) || code == 0xad || code == 0x61c || in(0x200b, 0x200f) ||
         in(0x2028, 0x202e) || in(0x2060, 0x206f) || code == 0xfeff || in(0xfff0, 0xfffb) ||
         in(0xe0000, 0xe0fff);
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

std::string printable_line(std::string_view text) { return made_printable(text, false); }
std::string printable_lines(std::string_view text) { return made_printable(text, true); }

std::size_t display_width(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(
      utf8, [](char c) { return (static_cast<std::uint8_t>(c) & 0xc0U) != 0x80; }));
}

std::string shortened(std::string_view utf8, std::size_t width) {
  if (display_width(utf8) <= width) return std::string(utf8);
  const std::size_t kept = width > 3 ? width - 3 : 0;
  std::size_t at = 0;
  for (std::size_t n = 0; at < utf8.size(); ++at) {
    const bool starts = (static_cast<std::uint8_t>(utf8[at]) & 0xc0U) != 0x80;
    if (starts && n++ == kept) break;
  }
  return std::string(utf8.substr(0, at)) + "...";
}

Console::Console(std::ostream& out, std::ostream& err, Setup setup)
    : out_(out), err_(err), setup_(setup) {}

Console::~Console() { progress(""); }

std::string Console::coloured(std::string_view text, Colour colour) const {
  if (!setup_.colour || colour == Colour::kNone || text.empty()) return std::string(text);
  constexpr std::string_view kCodes[] = {"", "\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[2m"};
  return fmt::format("{}{}\x1b[0m", kCodes[static_cast<std::size_t>(colour)], text);
}

void Console::note(std::string_view text) {
  if (setup_.quiet) return;
  progress("");
  err_ << "puzzlectl: " << printable_line(text) << '\n';
  err_.flush();
}

void Console::error(std::string_view what, std::string_view advice) {
  progress("");
  err_ << "puzzlectl: " << coloured("error:", Colour::kBad) << ' ' << printable_line(what);
  if (!advice.empty()) err_ << "; " << printable_line(advice);
  err_ << '\n';
  err_.flush();
}

void Console::line(std::string_view text) {
  progress("");
  err_ << text << '\n';
}

void Console::progress(std::string_view text) {
  if (!shows_progress() || (text.empty() && !drawn_)) return;
  const auto width = static_cast<std::size_t>(std::max(setup_.err_columns - 1, 20));
  err_ << "\r\x1b[K" << shortened(text, width);
  err_.flush();
  drawn_ = !text.empty();
}

void Console::flush() {
  out_.flush();
  if (!out_) {
    throw Failure(kExitOutput, "standard output cannot be written",
                  "is the disk full, or the reader gone?");
  }
}

std::string progress_bar(std::uint64_t done, std::uint64_t total, std::size_t width) {
  const double share =
      total == 0 ? 1.0 : static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(width));
  std::string bar(filled, '=');
  if (filled < width) bar += '>';
  bar.resize(width, ' ');
  return "[" + bar + "]";
}

}  // namespace puzzled::client
