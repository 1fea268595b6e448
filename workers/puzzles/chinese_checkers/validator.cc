#include <fmt/format.h>

#include "workers/puzzles/chinese_checkers/chinese_checkers.h"

namespace puzzled::chinese_checkers {

std::optional<std::string> defect_of(const Instance& instance) {
  if ((instance.words[1] & ~kLastWordCells) != 0) {
    return fmt::format("found a checker on cell {}, expected cells in 0..{}",
                       127 - std::countl_zero(instance.words[1]), kCells - 1);
  }
  if (instance.size() == 0) return fmt::format("found 0, expected n in 1..{}", kCells);
  return std::nullopt;
}

}  // namespace puzzled::chinese_checkers
