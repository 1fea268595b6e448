#include "daemon/broker/sweep.h"

#include "daemon/broker/canaries.h"
#include "daemon/broker/jobs.h"
#include "daemon/broker/leases.h"
#include "daemon/broker/sessions.h"
#include "daemon/broker/window.h"

namespace puzzled::broker {
namespace {

// Of one step: some milliseconds at most.
constexpr std::uint64_t kJobsMax = 256;
constexpr std::uint64_t kCasesMax = 200'000;  // in the windows of these jobs

void sweep_durable(Core& core, std::uint64_t steps) {
  if (steps <= core.window->durable_steps()) return;
  core.step.find({.rule = Rule::kStore,
                  .text = "it was not told that the records of step " + std::to_string(steps) +
                          " are on disk"});
  core.window->set_durable(steps);
  core.leases->set_durable(steps);
}

}  // namespace

void sweep(Core& core, const event::Sweep& sweep) {
  sweep_durable(core, sweep.durable_steps);
  if (sweep.after == JobId{}) {
    core.sessions->repair();
    core.canaries->repair();
  }
  const auto& jobs = core.jobs->open_jobs();
  std::uint64_t cases = 0;
  std::uint64_t looked_at = 0;
  JobId last = sweep.after;
  auto it = jobs.upper_bound(sweep.after);
  while (it != jobs.end() && looked_at < kJobsMax && cases < kCasesMax) {
    Job& job = *it->second;
    ++it;  // the job may end
    last = job.id;
    ++looked_at;
    for (const auto& [chunk_no, chunk] : job.window) cases += chunk->case_count;
    core.window->repair(job, core.leases->leased_cases(job));
    if (core.jobs->finish_if_done(job)) {
      core.step.find({.rule = Rule::kDone, .job = last, .text = "all its cases were done"});
    }
  }
  core.step.set_swept(it == jobs.end() ? JobId{} : last);
}

}  // namespace puzzled::broker
