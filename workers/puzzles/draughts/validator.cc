#include <fmt/format.h>

#include <algorithm>

#include "workers/puzzles/draughts/draughts.h"

namespace puzzled::draughts {

std::optional<std::string> defect_of(std::string_view squares) {
  if (squares.size() != kSquares) {
    return fmt::format("found {} squares, expected {}", squares.size(), kSquares);
  }
  constexpr auto kLast = static_cast<unsigned>(Piece::kEnemyKing);
  const auto wrong = std::ranges::find_if(
      squares, [](char piece) { return static_cast<unsigned char>(piece) > kLast; });
  if (wrong == squares.end()) return std::nullopt;
  return fmt::format("found {} on square {}, expected a piece in 0..{}",
                     static_cast<unsigned char>(*wrong), wrong - squares.begin(), kLast);
}

}  // namespace puzzled::draughts
