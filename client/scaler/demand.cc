#include "client/scaler/demand.h"

#include <algorithm>
#include <functional>

#include "client/calls.h"
#include "workers/puzzles/registry.h"

namespace puzzled::scaler {
namespace {

// "bishops/staircase@2 with gpu=a100"
std::string describe(const Wants::Lane& lane) {
  std::string text = lane.offer;
  if (!lane.version.empty()) text += "@" + lane.version;
  if (!lane.require.empty()) text += " with " + puzzled::describe(lane.require);
  return text;
}

bool is_served(const Wants::Lane& lane, const Offers& offers, const Labels& labels) {
  const auto offer = offers.find(lane.offer);
  if (offer == offers.end()) return false;
  if (!lane.version.empty() && !offer->second.contains(lane.version)) return false;
  return std::ranges::all_of(
      lane.require, [&](const Label& label) { return std::ranges::count(labels, label) > 0; });
}

}  // namespace

Wants::Wants(const proto::Demand& demand, const Offers& offers, const Labels& labels) {
  for (const proto::LaneDemand& from : demand.lanes()) {
    if (from.slots_wanted() == 0) continue;
    Lane lane{from.puzzle() + "/" + from.solver(), from.solver_version(),
              client::labels_of(from.require()), from.slots_wanted()};
    if (is_served(lane, offers, labels)) {
      slots_ += lane.slots;
      left_.push_back(std::move(lane));
    } else {
      unserved_.insert(describe(lane));
    }
  }
  // What the fewest workers can do comes first.
  std::ranges::stable_sort(left_, std::greater(), [](const Lane& lane) {
    return lane.require.size() + (lane.version.empty() ? 0 : 1);
  });
}

std::uint32_t Wants::take(const proto::WorkerRow& row) {
  Offers offers;
  add_offers(row, offers);
  const Labels labels = client::labels_of(row.labels());
  std::uint64_t free = row.slots();
  for (Lane& lane : left_) {
    if (free == 0) break;
    if (lane.slots == 0 || !is_served(lane, offers, labels)) continue;
    const std::uint64_t taken = std::min(free, lane.slots);
    lane.slots -= taken;
    free -= taken;
  }
  return static_cast<std::uint32_t>(row.slots() - free);
}

Worker worker_of(const proto::WorkerRow& row, const Engine& engine) {
  return {.name = row.name(),
          .allocation = engine.allocation_of(row.name()).value_or(""),
          .slots = row.slots(),
          .leases = row.leases(),
          .draining = row.draining()};
}

void add_offers(const proto::WorkerRow& row, Offers& offers) {
  for (int i = 0; i < row.solvers_size(); ++i) {
    std::set<std::string>& versions = offers[row.solvers(i)];
    if (i < row.solver_versions_size()) versions.insert(row.solver_versions(i));
  }
}

Offers offers_of_this_release() {
  Offers offers;
  for (const Puzzle* puzzle : all_puzzles()) {
    for (const Solver& solver : puzzle->solvers) {
      offers[std::string(puzzle->name) + "/" + std::string(solver.name)].emplace(solver.version);
    }
  }
  return offers;
}

}  // namespace puzzled::scaler
