#include <fmt/format.h>

#include "workers/puzzles/chinese_checkers/chinese_checkers.h"

namespace puzzled::chinese_checkers {

CheckResult check(std::string_view instance, std::string_view claimed, std::string_view right) {
  decode_instance(instance);
  const Answer found = decode_answer(claimed);
  const Answer expected = decode_answer(right);
  if (found.moves == expected.moves) return {true, ""};
  return {false, fmt::format("found {}, expected {}", found.moves, expected.moves)};
}

}  // namespace puzzled::chinese_checkers
