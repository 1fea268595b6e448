// Names that users type: finding what they mean, or saying what they may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/base/verdict.h"
#include "workers/puzzles/puzzle.h"

namespace puzzled::client {

// "did you mean "X"?" for the closest of `names`; empty if none is close.
std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& names);

// Throw Failure(2) with a suggestion if there is none of that name.
const Puzzle& require_puzzle(std::string_view name);
// An empty name stands for the puzzle's default solver.
const Solver& require_solver(const Puzzle& puzzle, std::string_view name);
Verdict require_verdict(std::string_view name);

// A list with commas, e.g. "wa,tle". Throws Failure(2).
std::vector<Verdict> parse_verdicts(std::string_view list);

}  // namespace puzzled::client
