// How much work is open and how many slots it could keep busy: what a program that starts and ends
// workers has to know, and what a graph of the daemon shows. PURE.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/base/labels.h"

namespace puzzled {

// Of one puzzle and solver, and of what is required of the workers.
struct LaneDemand {
  std::string puzzle;
  std::string solver;
  std::string solver_version = {};  // the only one that may solve it; empty: any
  Labels require = {};
  std::uint64_t open_cases = 0;    // without a result, of all open jobs
  std::uint64_t leased_cases = 0;  // of them: a worker has them
  double case_us = 0;              // learned mean of a case's solver time; 0: not known yet
  std::uint64_t work_us = 0;       // expected solver time of the open cases; 0: not known yet
  std::uint64_t slots_wanted = 0;  // never more than open cases
  std::uint64_t slots = 0;         // of connected workers that can do it and take cases
};

struct Demand {
  // Those with open cases; with slots, if nothing is required. Most wanted slots first, then by
  // name.
  std::vector<LaneDemand> lanes;
  bool is_cut = false;  // there are more lanes; the sums are those of all
  std::uint64_t open_cases = 0;
  std::uint64_t slots_wanted = 0;  // 0 while the daemon shuts down
  std::uint64_t slots = 0;         // of all workers that take cases
  std::uint64_t workers = 0;       // such workers; those that drain are not counted
};

// Work for which one more slot is worth its start: a cluster takes seconds to start a worker.
inline constexpr std::uint32_t kSlotWorkMs = 10'000;
// Lanes in an answer. A few puzzles have a few solvers each, but clients may invent names.
inline constexpr std::size_t kDemandLanesMax = 1'000;

namespace broker {

struct Core;

// A slot is wanted for each `slot_work_ms` of expected work. While nothing is known of a lane, one
// is wanted, to find out: what is cheap is over before many workers are there. If that takes more
// than a second, a case costs at least as long as one has been solved without a result. REQUIRES:
// slot_work_ms > 0.
[[nodiscard]] Demand demand_of(const Core& core, std::uint32_t slot_work_ms, std::size_t lanes_max);

}  // namespace broker
}  // namespace puzzled
