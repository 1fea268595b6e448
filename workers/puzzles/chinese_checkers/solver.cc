// The `bitboard` solver: breadth-first search over hops, where a hop is two table look-ups in the
// occupancy bits of a line. README.md says why it is right.
#include "workers/puzzles/chinese_checkers/chinese_checkers.h"

namespace puzzled::chinese_checkers {
namespace {

// Skewed coordinates: u grows down to the right, v down to the left, both 0..16; a row is u + v.
// A cell's id is u * 32 + v, so that a step along an axis adds the same number everywhere.
constexpr int kSide = 17;
constexpr int kStride = 32;
constexpr int kAlongU = kStride;
constexpr int kAlongV = 1;
constexpr int kAlongRow = kStride - 1;  // u + 1, v - 1: one cell to the right.
constexpr int kIds = kSide * kStride;
constexpr int kFirstRowSum = 8;  // u + v of the topmost row.

constexpr std::array<std::uint16_t, kCells> make_ids() {
  std::array<std::uint16_t, kCells> ids{};
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kRowLengths[row]; ++column) {
      const int x = 2 * column - (kRowLengths[row] - 1);
      const int u = (row + x) / 2 + 4;  // row + x is always even and at least -8.
      const int v = (row - x) / 2 + 4;
      ids[kRowStarts[row] + column] = static_cast<std::uint16_t>(u * kStride + v);
    }
  }
  return ids;
}
constexpr std::array<std::uint16_t, kCells> kId = make_ids();

// A line's occupancy has the cell of coordinate c at bit kMargin + c, so that shifting by c leaves
// the 12 cells on either side of the cell at fixed places (no line is longer than 13).
constexpr int kMargin = 12;
constexpr unsigned kReach = 12;
constexpr unsigned kReachMask = (1U << kReach) - 1;

// The three lines through every cell. u and v lines are indexed by the coordinate that stays,
// rows by u + v - kFirstRowSum.
struct Lines {
  std::array<std::uint64_t, kSide> along_u{};  // indexed by v, bits by u
  std::array<std::uint64_t, kSide> along_v{};  // indexed by u, bits by v
  std::array<std::uint64_t, kRows> rows{};     // bits by u

  constexpr void flip(unsigned id) {
    const unsigned u = id / kStride;
    const unsigned v = id % kStride;
    along_u[v] ^= std::uint64_t{1} << (kMargin + u);
    along_v[u] ^= std::uint64_t{1} << (kMargin + v);
    rows[u + v - kFirstRowSum] ^= std::uint64_t{1} << (kMargin + u);
  }
};

constexpr Lines make_full_board() {
  Lines lines;
  for (const unsigned id : kId) lines.flip(id);
  return lines;
}
// Only the cells of the board are set.
constexpr Lines kFullBoard = make_full_board();

constexpr Lines invert(Lines lines) {
  for (std::uint64_t& line : lines.along_u) line = ~line;
  for (std::uint64_t& line : lines.along_v) line = ~line;
  for (std::uint64_t& line : lines.rows) line = ~line;
  return lines;
}
// Everything off the board counts as occupied: no hop lands there, and a pivot there would put the
// landing off the board as well.
constexpr Lines kEmptyBoard = invert(kFullBoard);
constexpr Lines kFullEverywhere = [] {
  Lines lines = kEmptyBoard;
  for (const unsigned id : kId) lines.flip(id);
  return lines;
}();

// Distances by the 12 bits ahead of a cell, 0 for none.
struct Distances {
  std::array<std::uint8_t, 1U << kReach> ahead{};   // bit 0 is adjacent.
  std::array<std::uint8_t, 1U << kReach> behind{};  // bit 11 is adjacent.
};

constexpr unsigned reverse_reach(unsigned bits) {
  unsigned reversed = 0;
  for (unsigned i = 0; i < kReach; ++i) reversed |= ((bits >> i) & 1U) << (kReach - 1 - i);
  return reversed;
}

// The cell mirrored in the nearest checker, provided that the cells before the mirrored one are
// free but for that checker and the mirrored one is occupied as `target_occupied` says.
constexpr Distances make_distances(bool target_occupied) {
  Distances distances;
  for (unsigned bits = 1; bits <= kReachMask; ++bits) {
    const auto pivot = static_cast<unsigned>(std::countr_zero(bits)) + 1;
    if (2 * pivot > kReach) continue;
    const unsigned up_to_target = bits & ((1U << (2 * pivot)) - 1);
    const unsigned wanted = (1U << (pivot - 1)) | (target_occupied ? 1U << (2 * pivot - 1) : 0U);
    if (up_to_target != wanted) continue;
    distances.ahead[bits] = static_cast<std::uint8_t>(2 * pivot);
    distances.behind[reverse_reach(bits)] = static_cast<std::uint8_t>(2 * pivot);
  }
  return distances;
}
// Where a hop from a cell lands.
constexpr Distances kHops = make_distances(false);
// From an empty cell: where a checker stands whose first hop lands here. REQUIRES: off the board
// counts as free.
constexpr Distances kStarts = make_distances(true);

// Lists of ids without repetition, one after the other. A mark is the round in which the id was
// last added, so that marks are cleared once a board. No array is of bytes: those may alias the
// counters, which then would not stay in registers.
struct Frontier {
  std::array<std::uint16_t, kIds> marks{};
  std::array<std::uint16_t, kCells + 1> ids;  // one is written past the last.
  std::uint16_t round = 0;
};

// Appends ids to the list of one round.
class Appender {
 public:
  explicit Appender(Frontier& frontier) : frontier_(frontier), round_(++frontier.round) {}
  // Without a branch, as many candidates are repetitions (a direction without a hop gives the cell
  // itself).
  void add(unsigned id) {
    frontier_.ids[size_] = static_cast<std::uint16_t>(id);
    size_ += frontier_.marks[id] != round_ ? 1U : 0U;
    frontier_.marks[id] = round_;
  }
  // Keeps `id` out of the list.
  void exclude(unsigned id) { frontier_.marks[id] = round_; }
  // The cells that `distances` gives in both directions of a line, the bits of which are in
  // `window`, with the cell `id` at kMargin.
  void add_both(const Distances& distances, unsigned id, std::uint64_t window, unsigned step) {
    add(id + distances.ahead[(window >> (kMargin + 1)) & kReachMask] * step);
    add(id - distances.behind[window & kReachMask] * step);
  }
  [[nodiscard]] unsigned size() const { return size_; }
  unsigned operator[](unsigned i) const { return frontier_.ids[i]; }

 private:
  Frontier& frontier_;
  const std::uint16_t round_;
  unsigned size_ = 0;
};

inline void add_hops(Appender& cells, const Lines& lines, unsigned id) {
  const unsigned u = id / kStride;
  const unsigned v = id % kStride;
  cells.add_both(kHops, id, lines.along_u[v] >> u, kAlongU);
  cells.add_both(kHops, id, lines.along_v[u] >> v, kAlongV);
  cells.add_both(kHops, id, lines.rows[u + v - kFirstRowSum] >> u, kAlongRow);
}

inline void add_starts(Appender& cells, const Lines& lines, unsigned id) {
  const unsigned u = id / kStride;
  const unsigned v = id % kStride;
  const unsigned row = u + v - kFirstRowSum;
  cells.add_both(kStarts, id, (lines.along_u[v] & kFullBoard.along_u[v]) >> u, kAlongU);
  cells.add_both(kStarts, id, (lines.along_v[u] & kFullBoard.along_v[u]) >> v, kAlongV);
  cells.add_both(kStarts, id, (lines.rows[row] & kFullBoard.rows[row]) >> u, kAlongRow);
}

// Calls `visit` with the id of every cell of the set.
template <typename Visit>
void for_each_id(std::uint64_t low, std::uint64_t high, Visit visit) {
  for (; low != 0; low &= low - 1) visit(unsigned{kId[std::countr_zero(low)]});
  for (; high != 0; high &= high - 1) visit(unsigned{kId[64 + std::countr_zero(high)]});
}

// Cells that the checker on `start` can reach, its own not counted.
inline unsigned count_reachable(Frontier& frontier, Lines& lines, unsigned start) {
  lines.flip(start);  // the mover is neither pivot nor obstacle.
  Appender cells(frontier);
  cells.add(start);
  for (unsigned i = 0; i < cells.size(); ++i) add_hops(cells, lines, cells[i]);
  lines.flip(start);
  return cells.size() - 1;
}

}  // namespace

Answer solve_bitboard(const Instance& instance) {
  Frontier frontier;
  Answer answer;
  if (2 * instance.size() <= kCells) {
    Lines lines = kEmptyBoard;
    for_each_id(instance.words[0], instance.words[1], [&](unsigned id) { lines.flip(id); });
    for_each_id(instance.words[0], instance.words[1],
                [&](unsigned id) { answer.moves += count_reachable(frontier, lines, id); });
    return answer;
  }
  // On a crowded board few checkers can move: find them from the free cells, which are fewer.
  const std::uint64_t free_low = ~instance.words[0];
  const std::uint64_t free_high = ~instance.words[1] & kLastWordCells;
  Lines lines = kFullEverywhere;
  Frontier starts;
  Appender movers(starts);
  for_each_id(free_low, free_high, [&](unsigned id) {
    lines.flip(id);
    movers.exclude(id);  // where there is no start, the table gives the cell itself.
  });
  for_each_id(free_low, free_high, [&](unsigned id) { add_starts(movers, lines, id); });
  for (unsigned i = 0; i < movers.size(); ++i) {
    answer.moves += count_reachable(frontier, lines, movers[i]);
  }
  return answer;
}

}  // namespace puzzled::chinese_checkers
