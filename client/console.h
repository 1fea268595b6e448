// Where a command writes: standard output, standard error, and a line that is drawn over itself.
// Bytes of others (labels, names, messages) pass through printable_line() before they get there.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "proto/base/printable.h"

namespace puzzled::client {

// Code points, which is what alignment counts.
std::size_t display_width(std::string_view utf8);
// The first `width` code points, with "..." at the end if any are left out.
std::string shortened(std::string_view utf8, std::size_t width);

enum class Colour : std::uint8_t { kNone, kGood, kBad, kWarning, kDim };

class Console {
 public:
  struct Setup {
    bool out_terminal = false;  // standard output is a terminal
    bool err_terminal = false;
    bool colour = false;
    bool quiet = false;    // only errors on standard error
    int err_columns = 80;  // width of the terminal
  };
  // The streams must outlive the console.
  Console(std::ostream& out, std::ostream& err, Setup setup);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  std::ostream& out() { return out_; }
  [[nodiscard]] const Setup& setup() const { return setup_; }
  // `text` in that colour if colours are on.
  [[nodiscard]] std::string coloured(std::string_view text, Colour colour) const;

  // A remark on standard error, unless quiet: "puzzlectl: TEXT".
  void note(std::string_view text);
  // "puzzlectl: error: WHAT; ADVICE".
  void error(std::string_view what, std::string_view advice = "");
  // A whole line of standard error as it stands, e.g. a defect. Must be printable.
  void line(std::string_view text);

  // Whether progress() shows anything.
  [[nodiscard]] bool shows_progress() const { return setup_.err_terminal && !setup_.quiet; }
  // Replaces the line drawn before; "" removes it. Notes and errors remove it too.
  void progress(std::string_view text);

  // Throws Failure(74) if standard output could not be written.
  void flush();

 private:
  std::ostream& out_;
  std::ostream& err_;
  Setup setup_;
  bool drawn_ = false;
};

// "[=====>    ]" of `width` characters between the brackets.
std::string progress_bar(std::uint64_t done, std::uint64_t total, std::size_t width);

}  // namespace puzzled::client
