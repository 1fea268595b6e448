// The two workloads of the end-to-end bench, the same bytes on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workers/puzzles/puzzle.h"

namespace puzzled::bench {

// A test set as the text of several files: the client gets them joined, the in-process loop file by
// file.
struct Workload {
  const Puzzle* puzzle = nullptr;
  std::uint64_t cases = 0;
  std::vector<std::string> files;
};
// W1: chinese-checkers boards with 1 to 121 checkers, uniform.
Workload boards(std::uint64_t count);
// W2: bishops with n of 1 to 8 and k of 0 to n * n, uniform.
Workload bishops_queries(std::uint64_t count);

// All cases in one file of the puzzle's format.
std::string joined(const Workload& workload);

struct LoopTimes {
  double wall_s = 0;
  double cpu_s = 0;         // of all threads
  double solver_cpu_s = 0;  // the part of it in Solver::solve, with its decoding and encoding
};
// The limit of the machine: `threads` threads parse, solve and format, no queue and no store.
LoopTimes run_in_process(const Workload& workload, const Solver& solver, int threads);
// CPU time of the solver alone, on instances that are parsed already.
double solver_cpu_s(const Workload& workload, const Solver& solver);

}  // namespace puzzled::bench
