// The `brute-force` solver: every checker hops in every way, straight from the rules; what the
// board looks like afterwards is kept in a set. Only cells are visited once a checker, as its paths
// are exponentially many.
#include <set>

#include "workers/puzzles/chinese_checkers/chinese_checkers.h"

namespace puzzled::chinese_checkers {
namespace {

struct Place {
  int row;  // 1..17
  int x;    // as in README.md, -12..12
};
constexpr std::array<Place, 6> kDirections = {
    {{0, 2}, {0, -2}, {1, 1}, {1, -1}, {-1, 1}, {-1, -1}}};

Place step(Place from, Place direction, int steps) {
  return {from.row + steps * direction.row, from.x + steps * direction.x};
}

int length_of(int row) { return kRowLengths[static_cast<std::size_t>(row - 1)]; }

bool on_board(Place p) {
  if (p.row < 1 || p.row > kRows) return false;
  return -(length_of(p.row) - 1) <= p.x && p.x <= length_of(p.row) - 1;
}

class Search {
 public:
  explicit Search(const Instance& instance) {
    int cell = 0;
    for (int row = 1; row <= kRows; ++row) {
      for (int column = 1; column <= length_of(row); ++column) {
        const Place place = {row, -(length_of(row) - 1) + 2 * (column - 1)};
        if (!instance.contains(cell++)) continue;
        at(board_, place) = kChecker;
        checkers_.push_back(place);
      }
    }
  }

  std::size_t count_moves() {
    for (const Place checker : checkers_) {
      at(board_, checker) = kEmpty;
      visited_.assign(board_.size(), kEmpty);
      at(visited_, checker) = kVisited;
      hop_on(checker);
      at(board_, checker) = kChecker;
    }
    return outcomes_.size();
  }

 private:
  static constexpr char kEmpty = '.';
  static constexpr char kChecker = 'o';
  static constexpr char kVisited = 'v';
  static constexpr int kWidth = 25;

  static char& at(std::string& board, Place p) {
    return board[static_cast<std::size_t>((p.row - 1) * kWidth + p.x + kWidth / 2)];
  }

  // Makes all hops from `from` on; the moving checker is not on board_.
  void hop_on(Place from) {
    for (const Place direction : kDirections) {
      for (int distance = 1; on_board(step(from, direction, 2 * distance)); ++distance) {
        const Place landing = step(from, direction, 2 * distance);
        if (!is_hop(from, direction, distance) || at(visited_, landing) == kVisited) continue;
        at(visited_, landing) = kVisited;
        std::string outcome = board_;
        at(outcome, landing) = kChecker;
        outcomes_.insert(outcome);
        hop_on(landing);
      }
    }
  }

  // Whether the cell `distance` away has the only checker up to and on the cell mirrored in it.
  bool is_hop(Place from, Place direction, int distance) {
    for (int i = 1; i <= 2 * distance; ++i) {
      const bool has_checker = at(board_, step(from, direction, i)) == kChecker;
      if (has_checker != (i == distance)) return false;
    }
    return true;
  }

  std::vector<Place> checkers_;
  std::string board_ = std::string(static_cast<std::size_t>(kRows) * kWidth, kEmpty);
  std::string visited_;  // by the moving checker, its start included
  std::set<std::string> outcomes_;
};

}  // namespace

Answer solve_brute_force(const Instance& instance) {
  return {static_cast<std::uint32_t>(Search(instance).count_moves())};
}

}  // namespace puzzled::chinese_checkers
