#include "workers/puzzles/draughts/draughts.h"

namespace puzzled::draughts {

std::string generate(Rng& rng, int size) {
  // Fewer pieces on small boards; above a third of enemies there is little left to jump to.
  const std::int64_t own = rng.uniform(0, 2 + std::int64_t{size} * 28 / 100);
  const std::int64_t enemies = rng.uniform(0, 2 + std::int64_t{size} * 33 / 100);
  const std::int64_t kings = rng.uniform(0, 4) * 25;
  const bool all_squares = rng.chance(1, 2);
  // Enemies on every other square of every other row: the longest chains.
  const bool is_lattice = rng.chance(1, 8);
  Instance instance;
  for (int square = 0; square < kSquares; ++square) {
    const int row = square / kSide;
    const int column = square % kSide;
    if (!all_squares && (row + column) % 2 == 0) continue;
    const bool on_lattice = is_lattice && row % 2 == 1 && column % 2 == 0;
    Piece& piece = instance.squares[static_cast<std::size_t>(square)];
    const bool is_king = rng.chance(kings, 100);
    const std::int64_t draw = rng.uniform(1, 100);
    if (on_lattice ? draw <= 2 * enemies : draw <= enemies) {
      piece = is_king ? Piece::kEnemyKing : Piece::kEnemyMan;
    } else if (draw > 100 - own) {
      piece = is_king ? Piece::kKing : Piece::kMan;
    }
  }
  std::string out;
  encode_instance(instance, out);
  return out;
}

}  // namespace puzzled::draughts
