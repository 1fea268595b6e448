#include "tests/bench/bench_registry.h"

#include "workers/puzzles/bishops/bishops.h"
#include "workers/puzzles/chinese_checkers/chinese_checkers.h"
#include "workers/puzzles/duel/duel.h"
#include "workers/puzzles/registry.h"

namespace puzzled {
namespace {

void solve_slowly(std::string_view instance, std::string& answer) {
  for (int i = 0; i < bench::kSlowdown; ++i) {
    chinese_checkers::puzzle().solvers.front().solve(instance, answer);
  }
}

Puzzle with_slow_solver() {
  Puzzle puzzle = chinese_checkers::puzzle();
  puzzle.solvers.push_back({bench::kSlowSolver, "1", "every board several times", solve_slowly});
  return puzzle;
}

void duel_slowly(std::string_view instance, std::string& answer) {
  for (int i = 0; i < bench::kDuelSlowdown; ++i) {
    duel::puzzle().solvers.front().solve(instance, answer);
  }
}

Puzzle duel_with_slow_solver() {
  Puzzle puzzle = duel::puzzle();
  puzzle.solvers.push_back({bench::kSlowDuelSolver, "1", "every game many times", duel_slowly});
  return puzzle;
}

}  // namespace

const std::vector<const Puzzle*>& all_puzzles() {
  static const Puzzle checkers = with_slow_solver();
  static const Puzzle games = duel_with_slow_solver();
  static const std::vector<const Puzzle*> puzzles = {&checkers, &bishops::puzzle(), &games};
  return puzzles;
}

}  // namespace puzzled
