#include "workers/puzzles/shuttle/shuttle.h"

namespace puzzled::shuttle {

std::string generate(Rng& rng, int size) {
  // 2,772 positions at n = 5, four times as many for each marble more.
  std::string out;
  encode_instance({static_cast<std::uint32_t>(rng.uniform(1, 2 + size * 3 / 100))}, out);
  return out;
}

}  // namespace puzzled::shuttle
