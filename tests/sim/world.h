// One run: a daemon, workers, clients, a disk and a network under faults; then, without any, until
// everything has come to its end.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "tests/sim/client.h"
#include "tests/sim/daemon.h"
#include "tests/sim/disk.h"
#include "tests/sim/mutation.h"
#include "tests/sim/network.h"
#include "tests/sim/oracle.h"
#include "tests/sim/params.h"
#include "tests/sim/sim.h"
#include "tests/sim/worker.h"

namespace puzzled::sim {

class World {
 public:
  World(std::uint64_t seed, Mutation mutation, bool sweeps, std::size_t lines_max);

  // `steps` events with faults, then the rest. Throws Violation.
  void run(std::uint64_t steps);

  [[nodiscard]] const Sim& sim() const { return sim_; }
  [[nodiscard]] std::uint64_t cases_done() const;
  [[nodiscard]] std::uint64_t findings() const { return daemon_.findings(); }

 private:
  void begin_faults();
  template <class Fault>
  void every(std::int64_t mean_ms, Fault fault);
  void stop_faults();
  void start_clients();
  void disturb_client();
  void break_line();
  void mark_or_unmark();
  void admit_later();
  void partition();
  void control_workers();
  // An empty name: all workers.
  void control(event::WorkerAction action, const std::string& name);
  [[nodiscard]] LinePtr any_line();
  Worker& any_worker() { return *workers_[sim_.random.below(workers_.size())]; }
  [[nodiscard]] bool all_done() const;
  [[noreturn]] void fail_liveness() const;

  Sim sim_;
  Params params_;
  Network network_;
  Disk disk_;
  Oracle oracle_;
  Daemon daemon_;
  std::deque<Plan> plans_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<bool> abandoned_;  // by client
  std::vector<std::unique_ptr<Worker>> workers_;
  bool faulty_ = true;
};

}  // namespace puzzled::sim
