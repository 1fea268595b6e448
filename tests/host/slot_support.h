// Runs dispatches on a real Slot and collects what comes out, by position.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/worker.pb.h"
#include "workers/host/slot.h"

namespace puzzled::host {

// A bishops case, with the right answer as claim if `claimed`.
struct BishopsCase {
  std::uint32_t n = 1;
  std::uint32_t k = 0;
  bool claimed = false;
};

std::string serialise(const BishopsCase& c);
// `count` cases with n in 1..8 and small k, none of them trouble.
std::vector<BishopsCase> good_cases(std::uint32_t count);
// The instance at which the test solvers misbehave.
inline constexpr BishopsCase kTrouble{8, 13, false};

std::shared_ptr<Dispatch> make_dispatch(const std::string& solver,
                                        const std::vector<BishopsCase>& cases);

// What one lease led to.
struct Outcome {
  std::map<std::uint32_t, proto::CaseResult> results;
  std::vector<Range> returned;
  std::uint32_t parts = 0;
  std::uint32_t late = 0;
  bool finished = false;
};

class SlotRunner {
 public:
  explicit SlotRunner(SlotOptions options = {});

  // Until the slot is free.
  Outcome run(const DispatchPtr& dispatch);
  // One round of waiting for the slot, at most until its next check. `trim_when_late`: as the
  // Session does; on a busy machine any case may be late.
  void turn(Outcome& outcome, bool trim_when_late = false);

  Slot slot;

 private:
  std::vector<Event> events_;
};

// Every case of `cases` has a result; `trouble` has `verdict`, all others SOLVED or ACCEPTED and
// the right answer. Adds test failures.
void expect_only(const Outcome& outcome, const std::vector<BishopsCase>& cases,
                 std::uint32_t trouble, proto::Verdict verdict);

}  // namespace puzzled::host
