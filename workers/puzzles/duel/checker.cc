#include <fmt/format.h>

#include "workers/puzzles/duel/duel.h"

namespace puzzled::duel {

CheckResult check(std::string_view instance, std::string_view claimed, std::string_view right) {
  decode_instance(instance);
  const Answer found = decode_answer(claimed);
  const Answer expected = decode_answer(right);
  if (found.difference == expected.difference) return {true, ""};
  return {false, fmt::format("found {}, expected {}", found.difference, expected.difference)};
}

}  // namespace puzzled::duel
