// The words of the scaler: allocations of an engine, workers of a daemon. PURE.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace puzzled::scaler {

// What an engine (Slurm, ...) gave us for one worker, or will.
struct Allocation {
  enum class State : std::uint8_t {
    kPending,  // waits for its turn
    kRunning,
    kHeld,    // the engine will not start it by itself
    kEnding,  // is being cleared away
    kEnded,   // the engine remembers it, no more
  };
  std::string id;  // as the engine names it, e.g. "812_7"
  State state = State::kPending;
  std::string detail;         // the engine's words: why it waits, how it ended; may be empty
  std::int64_t since_ms = 0;  // Unix time of the engine's clock: when it was started, if it runs
  bool ended_well = false;    // kEnded: its worker ended by itself, with success
};

// How an allocation is ended.
enum class How : std::uint8_t {
  kCancel,  // it has not started: it never will
  kDrain,   // its worker finishes what it is solving and ends by itself
  kKill,    // the engine clears it away, whatever its worker does
};

struct Worker {  // one that is connected to the daemon
  std::string name;
  std::string allocation;   // its id; empty: none of ours
  std::uint32_t slots = 0;  // none of ours: only those that take over what ours are wanted for
  std::uint32_t leases = 0;
  bool draining = false;
};

// What one round sees. Without one of its two halves nothing is decided.
struct Observation {
  std::string daemon_trouble;      // why the daemon cannot be asked; empty: it was
  std::uint64_t slots_wanted = 0;  // by work that such workers can do
  std::vector<Worker> workers;
  std::string engine_trouble;  // likewise
  std::vector<Allocation> allocations;
};

}  // namespace puzzled::scaler
