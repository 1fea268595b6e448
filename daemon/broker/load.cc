#include "daemon/broker/load.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "daemon/broker/core.h"
#include "daemon/broker/jobs.h"
#include "daemon/broker/sessions.h"
#include "proto/base/assert.h"

namespace puzzled::broker {
namespace {

// Sums stay far below what 64 bits hold, whatever a worker says that a case costs.
constexpr double kWorkMaxUs = 1e18;

std::uint64_t rounded_up(double value) { return static_cast<std::uint64_t>(std::ceil(value)); }

std::uint64_t slots_for(const LaneDemand& lane, const BrokerOptions& options,
                        std::uint32_t slot_work_ms) {
  const double pieces = lane.work_us > 0
                            ? static_cast<double>(lane.work_us) / (slot_work_ms * 1e3)
                            : static_cast<double>(lane.open_cases) / options.dispatch_cases_first;
  return std::min(lane.open_cases, rounded_up(pieces));
}

}  // namespace

Demand demand_of(const Core& core, std::uint32_t slot_work_ms, std::size_t lanes_max) {
  ASSERT(slot_work_ms > 0);
  const Sessions::Slots slots = core.sessions->slots();
  Demand demand;
  demand.slots = slots.all;
  demand.workers = slots.workers;
  std::map<LaneNo, LaneDemand> lanes;
  for (const auto& [lane, count] : slots.by_lane) lanes[lane].slots = count;
  std::map<LaneNo, double> work_us;
  for (const auto& [id, job] : std::as_const(*core.jobs).open_jobs()) {
    if (job->open_count() == 0) continue;
    LaneDemand& lane = lanes[job->place.lane];
    lane.open_cases += job->open_count();
    lane.leased_cases += job->leased_count;
    // As dispatches are measured: what is known of the job itself comes first.
    const Cost& cost = job->cost.known() ? job->cost : core.queue.lane(job->place.lane).cost;
    if (cost.known()) {
      work_us[job->place.lane] += static_cast<double>(job->open_count()) * cost.case_us();
    }
  }
  for (auto& [no, lane] : lanes) {
    const Lane& of = core.queue.lane(no);
    lane.puzzle = of.puzzle;
    lane.solver = of.solver;
    if (of.cost.known()) lane.case_us = of.cost.case_us();
    if (const auto work = work_us.find(no); work != work_us.end()) {
      lane.work_us = rounded_up(std::min(work->second, kWorkMaxUs));
    }
    if (!core.draining) lane.slots_wanted = slots_for(lane, core.options, slot_work_ms);
    demand.open_cases += lane.open_cases;
    demand.slots_wanted += lane.slots_wanted;
    demand.lanes.push_back(std::move(lane));
  }
  std::ranges::sort(demand.lanes, [](const LaneDemand& a, const LaneDemand& b) {
    return std::tie(b.slots_wanted, a.puzzle, a.solver) <
           std::tie(a.slots_wanted, b.puzzle, b.solver);
  });
  demand.is_cut = demand.lanes.size() > lanes_max;
  if (demand.is_cut) demand.lanes.resize(lanes_max);
  return demand;
}

}  // namespace puzzled::broker
