#include <fmt/format.h>

#include <algorithm>

#include "workers/puzzles/shuttle/shuttle.h"

namespace puzzled::shuttle {
namespace {

// Why the claimed moves do not swap the marbles; nothing if they do.
std::optional<std::string> fault_in(const Moves& moves, std::uint32_t n) {
  std::string board = std::string(n, 'W') + '.' + std::string(n, 'B');
  std::size_t hole = n;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const std::size_t from = moves[i] - 1;
    const std::size_t distance = from < hole ? hole - from : from - hole;
    const bool legal =
        from < board.size() &&
        (distance == 1 || (distance == 2 && board[(from + hole) / 2] != board[from]));
    if (!legal) {
      return fmt::format("move {} is illegal: nothing at {} can move into the hole at {}", i + 1,
                         moves[i], hole + 1);
    }
    std::swap(board[from], board[hole]);
    hole = from;
  }
  if (board == std::string(n, 'B') + '.' + std::string(n, 'W')) return std::nullopt;
  return fmt::format("the marbles are not swapped after {} moves", moves.size());
}

}  // namespace

CheckResult check(std::string_view instance, std::string_view claimed, std::string_view right) {
  const std::uint32_t n = decode_instance(instance).n;
  const Moves found = decode_answer(claimed);
  const Moves expected = decode_answer(right);
  if (found == expected) return {true, ""};
  if (auto fault = fault_in(found, n)) return {false, *fault};
  if (found.size() != expected.size()) {
    return {false,
            fmt::format("found {} moves, expected the fewest, {}", found.size(), expected.size())};
  }
  // Two minimal solutions: the claim is the other one.
  const auto at = std::ranges::mismatch(found, expected);
  return {false, fmt::format("the moves are not the lexicographically smallest: move {}: found {}, "
                             "expected {}",
                             at.in1 - found.begin() + 1, *at.in1, *at.in2)};
}

}  // namespace puzzled::shuttle
