#include "daemon/broker/load.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "daemon/broker/core.h"
#include "daemon/broker/jobs.h"
#include "daemon/broker/leases.h"
#include "daemon/broker/sessions.h"
#include "proto/base/assert.h"

namespace puzzled::broker {
namespace {

// Sums stay far below what 64 bits hold, whatever a worker says that a case costs.
constexpr double kWorkMaxUs = 1e18;

std::uint64_t rounded_up(double value) { return static_cast<std::uint64_t>(std::ceil(value)); }

// Expected work of the open cases of a lane.
struct Work {
  double known_us = 0;
  double at_least_us = 0;  // of cases whose cost is not known
};

std::uint64_t slots_for(const LaneDemand& lane, const Work& work, std::uint32_t slot_work_ms) {
  if (lane.open_cases == 0) return 0;
  const double us = std::min(work.known_us + work.at_least_us, kWorkMaxUs);
  return std::clamp<std::uint64_t>(rounded_up(us / (slot_work_ms * 1e3)), 1, lane.open_cases);
}

// A first dispatch that is younger may just be on its way there or back.
constexpr std::int64_t kFirstResultMs = 1'000;

// What a case of a job of which nothing is known costs at least.
double least_case_us(const Core& core, const Job& job) {
  const std::int64_t since_ms = core.leases->oldest_dispatch_ms(job);
  if (since_ms == kNever) return 0;
  const std::int64_t age_ms = core.step.steady_ms() - since_ms;
  return age_ms < kFirstResultMs ? 0 : static_cast<double>(age_ms) * 1e3;
}

}  // namespace

Demand demand_of(const Core& core, std::uint32_t slot_work_ms, std::size_t lanes_max) {
  ASSERT(slot_work_ms > 0);
  const Sessions::Slots slots = core.sessions->slots();
  Demand demand;
  demand.slots = slots.all;
  demand.workers = slots.workers;
  std::map<LaneNo, LaneDemand> lanes;
  for (const auto& [lane, count] : slots.by_lane) {
    if (core.queue.lane(lane).plain == lane) lanes[lane];
  }
  std::map<LaneNo, Work> works;
  for (const auto& [id, job] : std::as_const(*core.jobs).open_jobs()) {
    if (job->open_count() == 0) continue;
    LaneDemand& lane = lanes[job->place.lane];
    lane.open_cases += job->open_count();
    lane.leased_cases += job->leased_count;
    const Cost& cost = cost_of(*job, core.queue);
    Work& work = works[job->place.lane];
    const auto open = static_cast<double>(job->open_count());
    if (cost.known()) {
      work.known_us += open * cost.case_us();
    } else {
      work.at_least_us += open * least_case_us(core, *job);
    }
  }
  for (auto& [no, lane] : lanes) {
    const Lane& of = core.queue.lane(no);
    lane.puzzle = of.puzzle;
    lane.solver = of.solver;
    lane.solver_version = of.required.solver_version;
    lane.require = of.required.labels;
    const auto there = slots.by_lane.find(no);
    if (there != slots.by_lane.end()) lane.slots = there->second;
    if (of.cost.known()) lane.case_us = of.cost.case_us();
    const Work& work = works[no];
    lane.work_us = rounded_up(std::min(work.known_us, kWorkMaxUs));
    if (!core.draining) lane.slots_wanted = slots_for(lane, work, slot_work_ms);
    demand.open_cases += lane.open_cases;
    demand.slots_wanted += lane.slots_wanted;
    demand.lanes.push_back(std::move(lane));
  }
  std::ranges::sort(demand.lanes, [](const LaneDemand& a, const LaneDemand& b) {
    return std::tie(b.slots_wanted, a.puzzle, a.solver, a.solver_version, a.require) <
           std::tie(a.slots_wanted, b.puzzle, b.solver, b.solver_version, b.require);
  });
  demand.is_cut = demand.lanes.size() > lanes_max;
  if (demand.is_cut) demand.lanes.resize(lanes_max);
  return demand;
}

}  // namespace puzzled::broker
