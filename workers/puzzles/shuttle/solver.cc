// The default solver: the wanted sequence in closed form.
#include <algorithm>

#include "workers/puzzles/shuttle/shuttle.h"

namespace puzzled::shuttle {

void solve_direct(std::string_view instance, std::string& answer) {
  const std::uint32_t n = decode_instance(instance).n;
  Moves moves;
  moves.reserve((n + 1) * (n + 1) - 1);
  // Sweep p moves the hole over every second position of a range around the middle that grows to
  // the whole board and shrinks again: upwards for even p, downwards for odd.
  for (std::uint32_t p = 2; p <= 2 * n + 1; ++p) {
    const std::uint32_t length = std::min(p, 2 * n + 2 - p);
    const std::uint32_t low = n + 2 - length;
    const std::uint32_t high = n + length;
    for (std::uint32_t i = 0; i < length; ++i) {
      moves.push_back(static_cast<std::uint16_t>(p % 2 == 0 ? low + 2 * i : high - 2 * i));
    }
  }
  encode_answer(moves, answer);
}

}  // namespace puzzled::shuttle
