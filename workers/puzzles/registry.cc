#include "workers/puzzles/registry.h"

#if __has_include("workers/puzzles/bishops/bishops.h")
#include "workers/puzzles/bishops/bishops.h"
#endif
#if __has_include("workers/puzzles/chinese_checkers/chinese_checkers.h")
#include "workers/puzzles/chinese_checkers/chinese_checkers.h"
#endif
#if __has_include("workers/puzzles/draughts/draughts.h")
#include "workers/puzzles/draughts/draughts.h"
#endif
#if __has_include("workers/puzzles/duel/duel.h")
#include "workers/puzzles/duel/duel.h"
#endif
#if __has_include("workers/puzzles/shuttle/shuttle.h")
#include "workers/puzzles/shuttle/shuttle.h"
#endif

namespace puzzled {

const std::vector<const Puzzle*>& all_puzzles() {
  static const std::vector<const Puzzle*> puzzles = {
#if __has_include("workers/puzzles/chinese_checkers/chinese_checkers.h")
    &chinese_checkers::puzzle(),
#endif
#if __has_include("workers/puzzles/shuttle/shuttle.h")
    &shuttle::puzzle(),
#endif
#if __has_include("workers/puzzles/duel/duel.h")
    &duel::puzzle(),
#endif
#if __has_include("workers/puzzles/draughts/draughts.h")
    &draughts::puzzle(),
#endif
#if __has_include("workers/puzzles/bishops/bishops.h")
    &bishops::puzzle(),
#endif
  };
  return puzzles;
}

}  // namespace puzzled
