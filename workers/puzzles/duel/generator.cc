#include <array>

#include "workers/puzzles/duel/duel.h"

namespace puzzled::duel {

std::string generate(Rng& rng, int size) {
  // Brute force visits about 2.5 times as many positions for each further cell.
  const std::int64_t n = rng.uniform(kCellsMin, kCellsMin + std::int64_t{size} * 12 / 100);
  // Few different values make many ties; single large ones make the players race for them.
  constexpr std::array<std::int64_t, 5> kLargest = {1, 3, 9, 100, kValueMax};
  const std::int64_t largest = kLargest[static_cast<std::size_t>(rng.uniform(0, 4))];
  const bool has_peaks = rng.chance(1, 3);
  std::vector<std::uint64_t> values;
  for (std::int64_t cell = 3; cell <= n; ++cell) {
    const bool is_plain = has_peaks && !rng.chance(1, 4);
    const std::int64_t value = rng.uniform(0, is_plain ? 1 : largest);
    values.push_back(static_cast<std::uint64_t>(value));
  }
  std::string out;
  encode_instance({values}, out);
  return out;
}

}  // namespace puzzled::duel
