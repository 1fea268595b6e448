// The broker: which case runs where, and what has been promised to whom. A pure state machine:
// no sockets, no clock, no threads, no SQL, no protobuf; ARCHITECTURE.md lists its invariants.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/broker/effect.h"
#include "daemon/broker/event.h"
#include "daemon/broker/load.h"
#include "daemon/broker/options.h"

namespace puzzled {

// What `status` and `workers` add to the store's facts.
struct JobView {
  std::uint64_t leased = 0;
  std::string waiting_for;  // why nothing of it runs now; empty while something does
};
struct WorkerView {
  std::string name;
  std::string host;
  std::uint32_t pid = 0;
  std::uint32_t slots = 0;
  std::uint32_t leases = 0;
  std::int64_t connected_ms = 0;  // Unix time
  std::int64_t last_seen_ms = 0;  // Unix time
  bool draining = false;
  std::uint64_t cases_done = 0;  // since it connected
  std::string version;
  std::vector<std::string> solvers;               // "puzzle/solver"
  std::vector<std::string> solver_versions = {};  // of them, in their order
  WorkerState state = WorkerState::kWorking;
  Labels labels = {};
  std::uint64_t canaries_passed = 0;  // since it connected
};

struct WorkersPage {
  std::vector<WorkerView> workers;  // ascending worker numbers
  bool more = false;
  WorkerNo next_after;              // of the last one; 0: there is none
  std::vector<Barred> barred = {};  // on the first page: those who failed a canary, oldest first
};

class Broker {
 public:
  Broker(BrokerOptions options, Recovery recovery);
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  // Handles one event; appends to `effects`. REQUIRES: now does not go back.
  void step(const Now& now, Event event, Effects& effects);
  // Steady time at which a Tick is wanted; kNever if none. A step does a bounded amount of work: if
  // it left some, this is the time of that step, and what else came in is best stepped in between.
  [[nodiscard]] std::int64_t next_deadline() const;

  [[nodiscard]] JobView job_view(JobId job) const;
  // Adds the open jobs after `after`, up to `last`, that nobody can solve now.
  void find_stuck(JobId after, JobId last, std::vector<Finding>& findings) const;
  // Workers with larger numbers than `after`: at most `rows`, and fewer if they take much room.
  [[nodiscard]] WorkersPage workers(const Now& now, WorkerNo after, std::uint32_t rows) const;
  // How much work is open, and how many slots it wants; see load.h.
  [[nodiscard]] Demand demand(std::uint32_t slot_work_ms,
                              std::size_t lanes_max = kDemandLanesMax) const;
  [[nodiscard]] std::string intake_paused() const;  // empty: it is not
  [[nodiscard]] std::uint64_t leases() const;       // open ones, for draining
  [[nodiscard]] std::size_t worker_count() const;
  [[nodiscard]] std::size_t open_job_count() const;
  [[nodiscard]] std::size_t barred_count() const;  // workers that failed a canary

  // Aborts if an invariant does not hold. For tests and the simulator.
  void check_invariants() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace puzzled
