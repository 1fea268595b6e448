// The product's puzzles with one solver added, linked instead of workers/puzzles/registry.cc.
#pragma once

namespace puzzled::bench {

// Solves a chinese-checkers board kSlowdown times over: about what the published breadth-first
// program takes for one (50 us on the machine on which the goals were set).
inline constexpr const char* kSlowSolver = "slow";
inline constexpr int kSlowdown = 8;

}  // namespace puzzled::bench
