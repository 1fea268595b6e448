#include "workers/puzzles/chinese_checkers/chinese_checkers.h"

namespace puzzled::chinese_checkers {
namespace {

// A random cell among those that `chosen` admits.
template <typename Chosen>
void add_checkers(Instance& instance, Rng& rng, std::int64_t n, Chosen chosen) {
  // Bounded, as few cells may be chosen; an instance may have fewer checkers than asked for.
  for (int tries = 0; tries < 20 * kCells && instance.size() < n; ++tries) {
    const auto cell = static_cast<int>(rng.uniform(0, kCells - 1));
    if (chosen(cell)) instance.add(cell);
  }
}

}  // namespace

std::string generate(Rng& rng, int size) {
  const std::int64_t n = rng.uniform(1, 1 + std::int64_t{size} * (kCells - 1) / 100);
  Instance instance;
  instance.add(static_cast<int>(rng.uniform(0, kCells - 1)));
  switch (rng.uniform(0, 2)) {
    case 0:  // anywhere
      add_checkers(instance, rng, n, [](int) { return true; });
      break;
    case 1: {  // close together in the order of the cells
      const std::int64_t from = rng.uniform(0, kCells - 1);
      add_checkers(instance, rng, n, [&](int cell) { return from <= cell && cell < from + 2 * n; });
      break;
    }
    default: {  // on a lattice, which makes long chains
      const std::int64_t every = rng.uniform(2, 4);
      add_checkers(instance, rng, n, [&](int cell) { return cell % every == 0; });
      break;
    }
  }
  std::string out;
  encode_instance(instance, out);
  return out;
}

}  // namespace puzzled::chinese_checkers
