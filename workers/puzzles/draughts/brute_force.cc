// The `brute-force` solver: every operation of every piece is played out on a plain board, straight
// from the rules. Exponential in the number of captures.
#include <algorithm>
#include <utility>

#include "workers/puzzles/draughts/draughts.h"

namespace puzzled::draughts {
namespace {

struct Place {
  int row;
  int column;
};
constexpr std::array<Place, 4> kDirections = {{{-1, -1}, {-1, 1}, {1, -1}, {1, 1}}};

Place step(Place from, Place direction, int steps) {
  return {from.row + steps * direction.row, from.column + steps * direction.column};
}
bool on_board(Place p) { return p.row >= 0 && p.row < kSide && p.column >= 0 && p.column < kSide; }

class Search {
 public:
  explicit Search(const Instance& instance) : board_(instance.squares) {}

  // How many operations capture how many pieces: [captures] of the piece on `origin`, alone.
  std::array<std::int64_t, kSquares + 1> count_operations(Place origin) {
    const Piece piece = std::exchange(at(origin), Piece::kEmpty);  // its origin is vacated.
    counts_ = {};
    counts_[0] = piece == Piece::kMan ? count_steps(origin) : count_slides(origin);
    capture(origin, piece == Piece::kMan ? 1 : kSide, 0);
    at(origin) = piece;
    return counts_;
  }

 private:
  Piece& at(Place p) { return board_[static_cast<std::size_t>(p.row * kSide + p.column)]; }
  bool is_free(Place p) { return on_board(p) && at(p) == Piece::kEmpty; }

  std::int64_t count_steps(Place from) {
    std::int64_t count = 0;
    for (const Place d : kDirections) count += d.row < 0 && is_free(step(from, d, 1)) ? 1 : 0;
    return count;
  }
  std::int64_t count_slides(Place from) {
    std::int64_t count = 0;
    for (const Place d : kDirections) {
      for (int i = 1; is_free(step(from, d, i)); ++i) ++count;
    }
    return count;
  }

  // Plays every next capture of the piece that stands on `from` after `captures` of them. It may
  // stand off at most `distance_max` squares from its victim, and land as far behind it.
  void capture(Place from, int distance_max, int captures) {
    for (const Place d : kDirections) {
      int before = 1;
      while (before < distance_max && is_free(step(from, d, before))) ++before;
      const Place victim = step(from, d, before);
      const std::size_t index = static_cast<std::size_t>(victim.row * kSide + victim.column);
      if (!on_board(victim) || !is_enemy(board_[index]) || captured_[index]) continue;
      captured_[index] = true;  // it stays on the board, and so stays in the way.
      for (int behind = 1; behind <= distance_max; ++behind) {
        const Place landing = step(victim, d, behind);
        if (!is_free(landing)) break;
        ++counts_[static_cast<std::size_t>(captures) + 1];
        capture(landing, distance_max, captures + 1);
      }
      captured_[index] = false;
    }
  }

  std::array<Piece, kSquares> board_;
  std::array<bool, kSquares> captured_{};
  std::array<std::int64_t, kSquares + 1> counts_{};
};

}  // namespace

void solve_brute_force(const Instance& instance, Answer& answer) {
  answer.origins.clear();
  Search search(instance);
  int most = 0;
  for (int square = 0; square < kSquares; ++square) {
    if (!is_own(instance.squares[static_cast<std::size_t>(square)])) continue;
    const auto counts = search.count_operations({square / kSide, square % kSide});
    int captures = kSquares;
    while (captures > 0 && counts[static_cast<std::size_t>(captures)] == 0) --captures;
    if (captures > most) answer.origins.clear();
    most = std::max(most, captures);
    if (captures < most) continue;
    answer.origins.insert(answer.origins.end(),
                          static_cast<std::size_t>(counts[static_cast<std::size_t>(captures)]),
                          static_cast<std::uint8_t>(square));
  }
}

}  // namespace puzzled::draughts
