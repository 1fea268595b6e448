// Puzzles of the product with a solver added to each, linked instead of
// workers/puzzles/registry.cc.
#pragma once

namespace puzzled::bench {

inline constexpr const char* kSlowSolver = "slow";  // of both puzzles

// Solves a chinese-checkers board kSlowdown times over: about what the published breadth-first
// program takes for one (50 us on the machine on which the goals were set).
inline constexpr int kSlowdown = 8;

// Solves a duel game so often that one of 20 cells costs about as much as one of 4,000: more than
// what makes reuse of answers worth it.
inline constexpr int kDuelSlowdown = 250;

}  // namespace puzzled::bench
