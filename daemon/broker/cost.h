// What a case costs, learned from results: how many cases make a dispatch of the wanted length.
#pragma once

#include <algorithm>
#include <cstdint>

namespace puzzled::broker {

// A running mean of solver time a case. One for each puzzle and solver, one for each job.
class Cost {
 public:
  // `busy_us` is what a worker says it spent on `cases` cases.
  void learn(std::uint64_t cases, std::uint64_t busy_us);
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] double case_us() const { return case_us_; }

 private:
  bool known_ = false;
  double case_us_ = 0;
};

// How many cases make up a dispatch.
struct DispatchSize {
  std::uint32_t target_us = 0;
  std::uint32_t cases_first = 0;  // while nothing is known
  std::uint32_t cases_max = 0;

  // `remaining` cases are left of the job and `free_leases` leases could take them now: near the
  // end of the work every one gets a share, but no share smaller than a worthwhile piece of work.
  [[nodiscard]] std::uint32_t cases(const Cost& cost, std::uint64_t remaining,
                                    std::uint64_t free_leases) const;
};

}  // namespace puzzled::broker
