#include "client/console.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/failure.h"

namespace puzzled::client {

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
