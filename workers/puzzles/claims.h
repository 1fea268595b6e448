// Readers of claimed answers that several puzzles share.
#pragma once

#include <optional>
#include <string_view>

#include "workers/puzzles/puzzle.h"

namespace puzzled {

// Answer files of one value a line: the i-th non-blank line is the claim for case i. An unreadable
// or missing line concerns its own case only.
class LineClaims : public ClaimReader {
 public:
  explicit LineClaims(std::string_view text) : in_(text) {}
  void next(ParsedClaim& out) final;
  std::optional<Defect> finish() final;

 protected:
  // Reads the one token of a line (`in` stands in front of it, or at the end of the text) and
  // writes the serialised answer. Throws ParseError if it is unreadable or out of range:
  // require_int() does both.
  virtual void read_value(TextReader& in, std::string& answer) = 0;

 private:
  TextReader in_;
};

}  // namespace puzzled
