// The `brute-force` solver: the rules as they are stated, over full sets of taken cells, with every
// position worked out once. Exponential in n. The positions being worked out are a list of their
// own, as a long game would overflow the call stack.
#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <utility>

#include "workers/puzzles/duel/duel.h"

namespace puzzled::duel {
namespace {

struct Position {
  std::array<std::int64_t, 2> tokens = {1, 2};
  int to_move = 0;           // 0 the first player, 1 the second
  std::string taken_before;  // [cell]: '1' if a token has ever been there; [0] is unused.

  [[nodiscard]] bool can_jump(int player, int jump) const {
    const std::int64_t target = tokens[player] + jump;
    return target < std::ssize(taken_before) &&
           taken_before[static_cast<std::size_t>(target)] == '0';
  }
  [[nodiscard]] bool can_move(int player) const {
    for (int jump = 1; jump <= kJumpMax; ++jump) {
      if (can_jump(player, jump)) return true;
    }
    return false;
  }
  [[nodiscard]] Position after_jump(int jump) const {
    Position next = *this;
    next.tokens[to_move] += jump;
    next.taken_before[static_cast<std::size_t>(next.tokens[to_move])] = '1';
    next.to_move = 1 - to_move;
    return next;
  }
  [[nodiscard]] Position after_skip() const {
    Position next = *this;
    next.to_move = 1 - to_move;
    return next;
  }
  [[nodiscard]] std::string key() const {
    return std::to_string(tokens[0]) + ' ' + std::to_string(tokens[1]) + ' ' +
           std::to_string(to_move) + ' ' + taken_before;
  }
};

class Search {
 public:
  explicit Search(const Instance& instance) : instance_(instance) {}

  // What `root` is worth to its player to move.
  std::int64_t worth(const Position& root) {
    std::vector<Position> open = {root};
    while (!open.empty()) {
      std::optional<Position> missing;
      const std::int64_t value = evaluate(open.back(), missing);
      if (missing) {
        open.push_back(std::move(*missing));
      } else {
        known_[open.back().key()] = value;
        open.pop_back();
      }
    }
    return known_.at(root.key());
  }

 private:
  // The worth of a position if that of all its followers is known; else `missing` is one of those.
  std::int64_t evaluate(const Position& position, std::optional<Position>& missing) const {
    const auto known_worth = [&](Position next) -> std::int64_t {
      const auto found = known_.find(next.key());
      if (found != known_.end()) return found->second;
      missing = std::move(next);
      return 0;
    };
    if (!position.can_move(position.to_move)) {
      const bool over = !position.can_move(1 - position.to_move);
      return over ? 0 : -known_worth(position.after_skip());
    }
    std::int64_t best = std::numeric_limits<std::int64_t>::min();
    for (int jump = 1; jump <= kJumpMax && !missing; ++jump) {
      if (!position.can_jump(position.to_move, jump)) continue;
      const std::int64_t gain = instance_.value(position.tokens[position.to_move] + jump);
      best = std::max(best, gain - known_worth(position.after_jump(jump)));
    }
    return best;
  }

  const Instance& instance_;
  std::unordered_map<std::string, std::int64_t> known_;
};

}  // namespace

Answer solve_brute_force(const Instance& instance) {
  Position start;
  start.taken_before.assign(static_cast<std::size_t>(instance.cells()) + 1, '0');
  start.taken_before[1] = start.taken_before[2] = '1';
  return {Search(instance).worth(start)};
}

}  // namespace puzzled::duel
