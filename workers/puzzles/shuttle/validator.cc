#include <fmt/format.h>

#include "workers/puzzles/shuttle/shuttle.h"

namespace puzzled::shuttle {

std::optional<std::string> defect_of(const Instance& instance) {
  if (instance.n >= 1 && instance.n <= kMarblesMax) return std::nullopt;
  return fmt::format("found {}, expected N in 1..{}", instance.n, kMarblesMax);
}

}  // namespace puzzled::shuttle
