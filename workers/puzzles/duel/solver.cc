// The `sweep` solver: the front token from cell n down to cell 2, and for each of its cells the
// worth of every local state, computed from those of the four cells after it. README.md derives
// the states and the rule that ends the local part of a game.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "workers/puzzles/duel/duel.h"

namespace puzzled::duel {
namespace {

// What is left of a game besides the front token's cell: whose turn it is, how far behind the rear
// token is, and which cells between the tokens are taken. Cells behind the rear token are out of
// reach, cells in front of the front token are free.
struct State {
  bool front_moves = false;
  int gap = 1;
  unsigned taken = 0;  // bit i: the cell i + 1 after the rear token; gap - 1 bits.

  constexpr bool operator==(const State&) const = default;
};
constexpr State kStart{false, 1, 0};

// Whether the front token walks off with all cells before it while the rear one takes the free
// cells between them, one by one.
constexpr bool is_split(const State& s) {
  const bool behind_front_taken = s.gap >= 2 && ((s.taken >> (s.gap - 2)) & 1U) != 0;
  return s.front_moves && (s.gap >= 6 || (s.gap >= 3 && behind_front_taken));
}

// Whether the cell `jump` after the token to move is taken.
constexpr bool is_blocked(const State& s, int jump) {
  if (s.front_moves) return false;
  return jump == s.gap || (jump < s.gap && ((s.taken >> (jump - 1)) & 1U) != 0);
}

// REQUIRES: !is_blocked(s, jump).
constexpr State after(const State& s, int jump) {
  if (s.front_moves) return {false, s.gap + jump, s.taken | (1U << (s.gap - 1))};
  if (jump < s.gap) return {true, s.gap - jump, s.taken >> jump};
  return {false, jump - s.gap, 0};  // past the front token, which becomes the rear one.
}

struct States {
  std::array<State, 128> all{};
  std::size_t count = 0;

  constexpr void add(const State& s) {
    if (is_split(s)) return;
    for (std::size_t i = 0; i < count; ++i) {
      if (all[i] == s) return;
    }
    all[count++] = s;
  }
};

constexpr States explore() {
  States states;
  states.add(kStart);
  for (std::size_t i = 0; i < states.count; ++i) {
    for (int jump = 1; jump <= kJumpMax; ++jump) {
      const State s = states.all[i];
      if (!is_blocked(s, jump)) states.add(after(s, jump));
    }
  }
  return states;
}
constexpr States kStates = explore();
static_assert(kStates.count == 58);

constexpr std::size_t count_states(bool front_moves) {
  return static_cast<std::size_t>(
      std::count_if(kStates.all.begin(), kStates.all.begin() + kStates.count,
                    [&](const State& s) { return s.front_moves == front_moves; }));
}

// The states of one side by growing gap.
template <bool kFrontMoves>
constexpr auto select_states() {
  std::array<State, count_states(kFrontMoves)> selected{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < kStates.count; ++i) {
    if (kStates.all[i].front_moves == kFrontMoves) selected[count++] = kStates.all[i];
  }
  std::ranges::sort(selected, {}, [](const State& s) { return std::pair(s.gap, s.taken); });
  return selected;
}
constexpr auto kFrontStates = select_states<true>();
constexpr auto kRearStates = select_states<false>();
constexpr int kGapMax = kRearStates.back().gap;

// As a constant, which does not compile for a state that is not in the list. (clang 14 refuses
// consteval with the constants of a generic lambda.)
template <std::size_t kSize>
constexpr std::size_t index_of(const std::array<State, kSize>& states, const State& s) {
  std::size_t i = 0;
  while (!(states[i] == s)) ++i;
  return i;
}

// Calls `visit` with the constants 0, 1, … kCount - 1.
template <std::size_t kCount, typename Visit>
[[gnu::always_inline]] inline void unroll(Visit visit) {
  [&]<std::size_t... kI>(std::index_sequence<kI...>) __attribute__((always_inline)) {
    (visit(std::integral_constant<std::size_t, kI>{}), ...);
  }
  (std::make_index_sequence<kCount>{});
}

// What each state with the rear token to move is worth to it, for one cell of the front token.
using Column = std::array<std::int64_t, kRearStates.size()>;
constexpr std::int64_t kNoMove = std::numeric_limits<std::int64_t>::min();

// All that a cell x of the front token needs to know.
struct Place {
  const std::uint64_t* values;  // values[j] is that of cell x + j, for j from 1 - kGapMax.
  std::int64_t right;           // sum of all values after x.
  std::array<const Column*, kJumpMax + 1> columns;  // [j] of cell x + j; not [0].

  [[nodiscard]] std::int64_t value(int offset) const {
    return static_cast<std::int64_t>(values[offset]);
  }
};

// Sum of the free cells between the tokens; before[j] is the sum of the j cells before the front.
template <State kState>
std::int64_t free_sum(const Place& place, const std::array<std::int64_t, kGapMax>& before) {
  std::int64_t sum = before[kState.gap - 1];
  unroll<kState.gap - 1>([&](auto i) {
    if constexpr (((kState.taken >> i) & 1U) != 0) {
      sum -= place.value(static_cast<int>(i) + 1 - kState.gap);
    }
  });
  return sum;
}

// Fills in the column of a cell x with kAhead cells after it (4 stands for four and more).
template <int kAhead>
void fill_column(const Place& place, Column& column) {
  std::array<std::int64_t, kGapMax> before{};
  for (int j = 1; j < kGapMax; ++j) before[j] = before[j - 1] + place.value(-j);

  std::array<std::int64_t, kFrontStates.size()> front;
  if constexpr (kAhead > 0) {
    unroll<kFrontStates.size()>([&](auto i) {
      front[i] = kNoMove;
      unroll<kAhead>([&](auto k) {
        constexpr int kJump = static_cast<int>(k) + 1;
        constexpr std::size_t kNext = index_of(kRearStates, after(kFrontStates[i], kJump));
        front[i] = std::max(front[i], place.value(kJump) - (*place.columns[kJump])[kNext]);
      });
    });
  }
  unroll<kRearStates.size()>([&](auto i) {
    constexpr State kState = kRearStates[i];
    std::int64_t best = kNoMove;
    unroll<kJumpMax>([&](auto k) {
      constexpr int kJump = static_cast<int>(k) + 1;
      constexpr int kLanding = kJump - kState.gap;  // from the front token's cell
      if constexpr (kLanding <= kAhead && !is_blocked(kState, kJump)) {
        constexpr State kNext = after(kState, kJump);
        std::int64_t next = 0;
        if constexpr (kLanding > 0) {
          constexpr std::size_t kIndex = index_of(kRearStates, kNext);
          next = (*place.columns[kLanding])[kIndex];
        } else if constexpr (is_split(kNext)) {
          next = place.right - free_sum<kNext>(place, before);
        } else {
          constexpr std::size_t kIndex = index_of(kFrontStates, kNext);
          next = front[kIndex];
        }
        best = std::max(best, place.value(kLanding) - next);
      }
    });
    if constexpr (kAhead == 0) {
      // The front token cannot move any more. Neither moves: the game is over; else the front
      // player skips, and states of smaller gaps come first.
      if (best == kNoMove) best = 0;
      unroll<kFrontStates.size()>([&](auto f) {
        constexpr State kFront = kFrontStates[f];
        if constexpr (kFront.gap == kState.gap && kFront.taken == kState.taken) front[f] = -best;
      });
    }
    column[i] = best;
  });
}

void fill_column(int ahead, const Place& place, Column& column) {
  switch (ahead) {
    case 0:
      return fill_column<0>(place, column);
    case 1:
      return fill_column<1>(place, column);
    case 2:
      return fill_column<2>(place, column);
    case 3:
      return fill_column<3>(place, column);
    default:
      return fill_column<4>(place, column);
  }
}

}  // namespace

Answer solve_sweep(const Instance& instance) {
  const std::int64_t n = instance.cells();
  // Cells before the first value, and as many worthless ones before cell 1 as a column looks at.
  constexpr std::int64_t kHead = kGapMax + 3;
  constexpr std::int64_t kOrigin = kGapMax;
  std::array<std::uint64_t, kOrigin + kHead + kJumpMax + 1> head{};
  for (std::int64_t cell = 3; cell <= std::min(n, kHead + kJumpMax); ++cell) {
    head[kOrigin + cell] = static_cast<std::uint64_t>(instance.value(cell));
  }

  std::array<Column, 8> ring;  // the column of cell x is at x modulo 8.
  Place place{nullptr, 0, {}};
  for (std::int64_t x = n; x >= 2; --x) {
    place.values = x < kHead ? head.data() + kOrigin + x : instance.values.data() + (x - 3);
    for (int j = 1; j <= kJumpMax; ++j) place.columns[j] = &ring[(x + j) & 7];
    fill_column(static_cast<int>(std::min<std::int64_t>(n - x, kJumpMax)), place, ring[x & 7]);
    place.right += place.value(0);
  }
  constexpr std::size_t kFirst = index_of(kRearStates, kStart);
  return {ring[2][kFirst]};
}

}  // namespace puzzled::duel
