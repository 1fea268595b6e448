#include "tests/bench/bench_registry.h"

#include "workers/puzzles/bishops/bishops.h"
#include "workers/puzzles/chinese_checkers/chinese_checkers.h"
#include "workers/puzzles/duel/duel.h"
#include "workers/puzzles/registry.h"

namespace puzzled {
namespace {

template <const Puzzle& (*kOf)(), int kTimes>
void solve_slowly(std::string_view instance, std::string& answer) {
  for (int i = 0; i < kTimes; ++i) kOf().solvers.front().solve(instance, answer);
}

Puzzle with_solver(Puzzle puzzle, const Solver& solver) {
  puzzle.solvers.push_back(solver);
  return puzzle;
}

}  // namespace

const std::vector<const Puzzle*>& all_puzzles() {
  static const Puzzle checkers = with_solver(
      chinese_checkers::puzzle(), {bench::kSlowSolver, "1", "every board several times",
                                   solve_slowly<chinese_checkers::puzzle, bench::kSlowdown>});
  static const Puzzle games =
      with_solver(duel::puzzle(), {bench::kSlowSolver, "1", "every game many times",
                                   solve_slowly<duel::puzzle, bench::kDuelSlowdown>});
  static const std::vector<const Puzzle*> puzzles = {&checkers, &bishops::puzzle(), &games};
  return puzzles;
}

}  // namespace puzzled
