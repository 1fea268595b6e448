// Runs seeds in processes of their own, so that an assertion in a machine costs one seed only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/mutation.h"

namespace puzzled::sim {

struct Range {  // both included
  std::uint64_t first = 1;
  std::uint64_t last = 1;
};
struct Settings {
  std::uint64_t steps = 0;
  Mutation mutation = Mutation::kNone;
  bool sweeps = true;  // the daemon's sweeper works
};
struct Totals {
  std::uint64_t seeds = 0;
  std::uint64_t events = 0;
  std::uint64_t cases = 0;  // that got a result
  std::uint64_t simulated_ms = 0;
  std::uint64_t findings = 0;         // of the sweeper
  std::uint64_t hash = 0;             // of the hashes of all seeds, in any order
  std::vector<std::uint64_t> failed;  // ascending
};

// Stops soon after `failures_max` seeds have failed.
Totals run_seeds(Range seeds, const Settings& settings, unsigned jobs, std::uint64_t failures_max);

// One seed, in this process. Prints what went wrong, after the last `lines_max` events; 0: clean.
int replay(std::uint64_t seed, const Settings& settings, std::size_t lines_max);
// The same in a process of its own.
int replay_apart(std::uint64_t seed, const Settings& settings, std::size_t lines_max);

}  // namespace puzzled::sim
