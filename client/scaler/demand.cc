#include "client/scaler/demand.h"

#include "workers/puzzles/registry.h"

namespace puzzled::scaler {

std::uint64_t slots_wanted(const proto::Demand& demand, const Offers& offers, Offers& unserved) {
  std::uint64_t slots = 0;
  for (const proto::LaneDemand& lane : demand.lanes()) {
    if (lane.slots_wanted() == 0) continue;
    std::string name = lane.puzzle() + "/" + lane.solver();
    if (offers.contains(name)) {
      slots += lane.slots_wanted();
    } else {
      unserved.insert(std::move(name));
    }
  }
  return slots;
}

Worker worker_of(const proto::WorkerRow& row, const Engine& engine) {
  return {.name = row.name(),
          .allocation = engine.allocation_of(row.name()).value_or(""),
          .slots = row.slots(),
          .leases = row.leases(),
          .draining = row.draining()};
}

Offers offers_of_this_release() {
  Offers offers;
  for (const Puzzle* puzzle : all_puzzles()) {
    for (const Solver& solver : puzzle->solvers) {
      offers.insert(std::string(puzzle->name) + "/" + std::string(solver.name));
    }
  }
  return offers;
}

}  // namespace puzzled::scaler
