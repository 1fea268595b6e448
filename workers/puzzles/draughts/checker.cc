#include <fmt/format.h>

#include <algorithm>

#include "workers/puzzles/draughts/draughts.h"

namespace puzzled::draughts {

CheckResult check(std::string_view instance, std::string_view claimed, std::string_view right) {
  decode_instance(instance);
  thread_local Answer found;  // kept, with their memory, for the next call.
  thread_local Answer expected;
  decode_answer(claimed, found);
  decode_answer(right, expected);
  if (found.origins.size() != expected.origins.size()) {
    return {false, fmt::format("found {} operations, expected {}", found.origins.size(),
                               expected.origins.size())};
  }
  const auto [wrong, wanted] = std::ranges::mismatch(found.origins, expected.origins);
  if (wrong == found.origins.end()) return {true, ""};
  return {false, fmt::format("operation {}: found ({},{}), expected ({},{})",
                             wrong - found.origins.begin() + 1, *wrong / kSide + 1,
                             *wrong % kSide + 1, *wanted / kSide + 1, *wanted % kSide + 1)};
}

}  // namespace puzzled::draughts
