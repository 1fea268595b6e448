// Breadth-first search over all positions of the marbles. Moves can be taken back, so the search
// starts at the goal: then every position knows its distance, and the lexicographically smallest
// of the shortest solutions always takes the smallest move that comes nearer.
#include <deque>
#include <unordered_map>

#include "workers/puzzles/shuttle/shuttle.h"

namespace puzzled::shuttle {
namespace {

constexpr char kWhite = 'W';
constexpr char kBlack = 'B';
constexpr char kHole = '.';

// All boards one move away, in ascending order of the position moved from.
struct Step {
  std::uint16_t from;  // from 1.
  std::string board;
};
std::vector<Step> steps(const std::string& board) {
  std::vector<Step> steps;
  const std::size_t hole = board.find(kHole);
  for (std::size_t from = 0; from < board.size(); ++from) {
    const std::size_t distance = from < hole ? hole - from : from - hole;
    const bool slides = distance == 1;
    const bool jumps = distance == 2 && board[(from + hole) / 2] != board[from];
    if (!slides && !jumps) continue;
    steps.push_back({static_cast<std::uint16_t>(from + 1), board});
    std::swap(steps.back().board[from], steps.back().board[hole]);
  }
  return steps;
}

}  // namespace

void solve_brute_force(std::string_view instance, std::string& answer) {
  const std::uint32_t n = decode_instance(instance).n;
  std::string board = std::string(n, kWhite) + kHole + std::string(n, kBlack);
  const std::string goal(board.rbegin(), board.rend());
  std::unordered_map<std::string, std::uint32_t> distances = {{goal, 0}};
  std::deque<std::string> queue = {goal};
  while (!distances.contains(board)) {
    const std::uint32_t distance = distances.at(queue.front());
    for (Step& step : steps(queue.front())) {
      if (distances.emplace(step.board, distance + 1).second) queue.push_back(step.board);
    }
    queue.pop_front();
  }
  Moves moves;
  for (std::uint32_t left = distances.at(board); left > 0; --left) {
    for (Step& step : steps(board)) {
      const auto found = distances.find(step.board);
      if (found == distances.end() || found->second != left - 1) continue;
      moves.push_back(step.from);
      board = std::move(step.board);
      break;
    }
  }
  encode_answer(moves, answer);
}

}  // namespace puzzled::shuttle
