// All puzzles of this program, as an explicit list.
#pragma once

#include <string_view>
#include <vector>

#include "workers/puzzles/puzzle.h"

namespace puzzled {

// In a fixed order. Test programs link another definition that adds solvers.
const std::vector<const Puzzle*>& all_puzzles();

// nullptr if there is none of that name.
const Puzzle* find_puzzle(std::string_view name);
const Solver* find_solver(const Puzzle& puzzle, std::string_view name);

}  // namespace puzzled
