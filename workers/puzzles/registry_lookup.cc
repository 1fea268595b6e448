// Apart from registry.cc, so that a test program can link its own all_puzzles().
#include "workers/puzzles/registry.h"

namespace puzzled {

const Puzzle* find_puzzle(std::string_view name) {
  for (const Puzzle* puzzle : all_puzzles()) {
    if (puzzle->name == name) return puzzle;
  }
  return nullptr;
}

const Solver* find_solver(const Puzzle& puzzle, std::string_view name) {
  for (const Solver& solver : puzzle.solvers) {
    if (solver.name == name) return &solver;
  }
  return nullptr;
}

}  // namespace puzzled
