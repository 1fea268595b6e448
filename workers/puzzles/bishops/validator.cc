#include <fmt/format.h>

#include "workers/puzzles/bishops/bishops.h"

namespace puzzled::bishops {

std::optional<std::string> defect_of(const Instance& instance) {
  const auto [n, k] = instance;
  if (n < 1 || n > kSideMax) return fmt::format("found {}, expected n in 1..{}", n, kSideMax);
  if (k > n * n) return fmt::format("found {}, expected k in 0..{}", k, n * n);
  return std::nullopt;
}

}  // namespace puzzled::bishops
