#include "workers/puzzles/registry.h"

#include "workers/puzzles/bishops/bishops.h"
#include "workers/puzzles/chinese_checkers/chinese_checkers.h"
#include "workers/puzzles/draughts/draughts.h"
#include "workers/puzzles/duel/duel.h"
#include "workers/puzzles/shuttle/shuttle.h"

namespace puzzled {

const std::vector<const Puzzle*>& all_puzzles() {
  static const std::vector<const Puzzle*> puzzles = {
      &chinese_checkers::puzzle(), &shuttle::puzzle(), &duel::puzzle(),
      &draughts::puzzle(),         &bishops::puzzle(),
  };
  return puzzles;
}

}  // namespace puzzled
