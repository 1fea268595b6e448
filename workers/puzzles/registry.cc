#include "workers/puzzles/registry.h"

#include "workers/puzzles/bishops/bishops.h"
#include "workers/puzzles/shuttle/shuttle.h"

namespace puzzled {

const std::vector<const Puzzle*>& all_puzzles() {
  static const std::vector<const Puzzle*> puzzles = {
      &shuttle::puzzle(),
      &bishops::puzzle(),
  };
  return puzzles;
}

}  // namespace puzzled
