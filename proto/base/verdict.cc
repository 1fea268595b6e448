#include "proto/base/verdict.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace puzzled {

std::optional<Verdict> parse_verdict(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  for (std::size_t i = 1; i < kVerdictCount; ++i) {
    if (upper == kVerdictNames[i] || upper == kVerdictShortNames[i]) return static_cast<Verdict>(i);
  }
  return std::nullopt;
}

}  // namespace puzzled
