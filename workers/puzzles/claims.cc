#include "workers/puzzles/claims.h"

namespace puzzled {

void LineClaims::next(ParsedClaim& out) {
  out.answer.clear();
  out.unreadable.clear();
  in_.skip_blank_lines();
  const std::size_t line_offset = in_.offset();
  try {
    read_value(in_, out.answer);
    if (in_.at_line_end()) return;
    in_.token("the end of the line");
    in_.fail_found("the end of the line");
  } catch (const ParseError& error) {
    out.answer.clear();
    out.unreadable = describe(error.defect());
  }
  if (in_.offset() != line_offset) in_.skip_line();
}

std::optional<Defect> LineClaims::finish() {
  if (in_.at_end()) return std::nullopt;
  try {
    in_.expect_end("the end of the file after the last case's answer");
  } catch (const ParseError& error) {
    return error.defect();
  }
  return std::nullopt;
}

}  // namespace puzzled
