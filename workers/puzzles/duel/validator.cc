#include <fmt/format.h>

#include <algorithm>

#include "workers/puzzles/duel/duel.h"

namespace puzzled::duel {

std::optional<std::string> defect_of(const Instance& instance) {
  if (instance.cells() > kCellsMax) {
    return fmt::format("found {}, expected n in {}..{}", instance.cells(), kCellsMin, kCellsMax);
  }
  const auto large =
      std::ranges::find_if(instance.values, [](std::uint64_t value) { return value > kValueMax; });
  if (large != instance.values.end()) {
    return fmt::format("found {}, expected value in 0..{}", *large, kValueMax);
  }
  return std::nullopt;
}

}  // namespace puzzled::duel
