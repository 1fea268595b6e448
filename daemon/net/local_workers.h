// The worker processes that the daemon runs itself, as the reactor sees them.
#pragma once

#include <cstdint>

namespace puzzled {

class LocalWorkers {
 public:
  virtual ~LocalWorkers() = default;
  // Reaps what has ended and starts what is due; called after SIGCHLD and at the deadline.
  virtual void step(std::int64_t steady_ms) = 0;
  [[nodiscard]] virtual std::int64_t next_deadline() const = 0;  // steady; kNever: none
  virtual void drain() = 0;  // start none any more; those that run are told by the broker
};

}  // namespace puzzled
