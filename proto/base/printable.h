// Text of others on its way to a terminal, a log or a reply.
#pragma once

#include <string>
#include <string_view>

namespace puzzled {

// UTF-8 without control characters, line separators and what turns the direction of writing: what
// a peer may give as a name or a reason.
bool is_printable(std::string_view text);

// The text on one line, safe for a terminal: UTF-8 letters stay; all that is not is_printable(),
// and what joins or hides characters, becomes \xNN, byte by byte.
std::string printable_line(std::string_view text);
// The same, but line breaks stay.
std::string printable_lines(std::string_view text);

}  // namespace puzzled
