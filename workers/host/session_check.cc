// Session: the rules about its own tables.
#include <algorithm>

#include "proto/base/assert.h"
#include "workers/host/session.h"

namespace puzzled::host {

void Session::check_invariants() const {
  std::uint64_t kept = 0;
  std::size_t waiting = 0;
  std::size_t on_slots = 0;
  for (const auto& [id, lease] : leases_) {
    if (lease.phase == Phase::kWaiting) {
      ++waiting;
      ASSERT(std::ranges::count(waiting_, id) == 1);
      ASSERT(lease.parts.empty());
    }
    if (lease.phase == Phase::kRunning) {
      ++on_slots;
      ASSERT(slots_[lease.slot].lease == id);
    }
    ASSERT((lease.phase == Phase::kSolved) == (lease.dispatch == nullptr));
    ASSERT(lease.phase != Phase::kSolved || !lease.parts.empty());
    for (const auto& [number, part] : lease.parts) {
      ASSERT(number < lease.next_part);
      kept += part.results->size();
    }
  }
  ASSERT(waiting == waiting_.size());
  ASSERT(on_slots == running());
  ASSERT(kept == kept_bytes_);
  ASSERT(!runs_alone() || running() == 1);
  ASSERT(stopped_ || waiting_.empty() || running() == slots_.size() ||
         !may_start(waiting_.front()));
  ASSERT(stopped_ || !draining_ || waiting_.empty());
  ASSERT(stopped_ || draining_ || waiting_.size() + running() <= capacity());
}

}  // namespace puzzled::host
