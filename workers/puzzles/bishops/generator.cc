#include "workers/puzzles/bishops/bishops.h"

namespace puzzled::bishops {

std::string generate(Rng& rng, int size) {
  // A board of 6 has 167,281 placements in all, one of 7 twenty times as many.
  const auto n = static_cast<std::uint32_t>(rng.uniform(1, 2 + size * 4 / 100));
  const std::int64_t all = std::int64_t{n} * n;
  // Mostly up to one bishop more than fits; beyond that the answer is 0.
  const std::int64_t k_max = rng.chance(1, 20) ? all : std::min(all, 2 * std::int64_t{n} - 1);
  std::string out;
  encode_instance({n, static_cast<std::uint32_t>(rng.uniform(0, k_max))}, out);
  return out;
}

}  // namespace puzzled::bishops
