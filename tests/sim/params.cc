#include "tests/sim/params.h"

#include <algorithm>

namespace puzzled::sim {
namespace {

void draw_broker(Random& random, Params& p) {
  BrokerOptions& b = p.broker;
  random.draw(b.heartbeat_interval_ms, 5, 1'000);
  b.liveness_ms = b.heartbeat_interval_ms * static_cast<std::uint32_t>(random.from_to(2, 4));
  random.draw(b.dispatch_target_us, 1'000, 100'000);
  random.draw(b.dispatch_cases_first, 1, 16);
  random.draw(b.dispatch_cases_max, 1, 64);
  random.draw(b.dispatch_bytes_max, 20, 4'000);
  b.attempts_max = static_cast<std::uint32_t>(random.from_to(2, 3));
  random.draw(b.lease_margin_ms, 10, 2'000);
  random.draw(b.window_bytes_max, 1'000, 1'000'000);
  random.draw(b.job_window_bytes_max, 500, 500'000);
  random.draw(b.unacknowledged_chunks_max, 1, 16);
  random.draw(b.upload_expiry_ms, 4'000, 60'000);
  random.draw(b.undurable_results_bytes_max, 100, 1'000'000);
  if (random.one_in(4)) random.draw(b.worker_leases_max, 1, 4);
  // Not a draw of its own, so that seeds stay what they were.
  if (b.heartbeat_interval_ms % 3 == 0) b.step_work_max = 1 + b.heartbeat_interval_ms % 8;
}

void draw_session(Random& random, Params& p) {
  host::SessionOptions& s = p.session;
  s.heartbeat_interval_ms = p.broker.heartbeat_interval_ms;
  s.liveness_ms = p.broker.liveness_ms;
  random.draw(s.backoff_first_ms, 1, 100);
  s.backoff_max_ms = s.backoff_first_ms * static_cast<std::uint32_t>(random.from_to(1, 20));
  if (random.one_in(6)) random.draw(s.idle_timeout_ms, 50, 3'000);
  if (random.one_in(6)) random.draw(s.give_up_after_ms, 100, 5'000);
  random.draw(s.stored_wait_ms, 10, 5'000);
  s.resend_intervals = static_cast<std::uint32_t>(random.from_to(1, 4));
  if (random.one_in(4)) random.draw(s.kept_bytes_max, 20, 1'000);
}

std::int64_t maybe_every(Random& random, std::int64_t low, std::int64_t high) {
  return random.percent(60) ? random.scale_from_to(low, high) : 0;
}

}  // namespace

Params Params::draw(Random& random, Random& fleet) {
  Params p;
  p.mixed_fleet = fleet.one_in(2);
  p.control_every_ms = maybe_every(fleet, 50, 3'000);
  p.twins = fleet.percent(60);
  p.broker.answer_cache = p.twins;
  p.broker.answer_cache_cost_us = 0;
  if (fleet.one_in(3)) fleet.draw(p.broker.answer_cache_cost_us, 1, 20'000);
  draw_broker(random, p);
  draw_session(random, p);
  p.workers = random.from_to(1, 5);
  p.slots_max = random.from_to(1, 3);
  random.draw(p.restart_ms, 1, 1'000);
  random.draw(p.work_ms, 1, 100);
  random.draw(p.late_ms, 2, 100);
  // Where no slot hangs, nothing may ever need the deadline of a lease.
  p.hangs = random.one_in(2);
  const std::int64_t margin_ms = p.broker.lease_margin_ms;
  if (!p.hangs) p.broker.lease_margin_ms = 1'000'000'000;
  p.clients = random.from_to(1, 5);
  random.draw(p.jobs_spread_ms, 1, 2'000);
  random.draw(p.cases_max, 1, 200);
  random.draw(p.chunk_cases_max, 1, 20);
  random.draw(p.client_retry_ms, 1, 2'000);
  p.client_depth = random.from_to(1, 18);
  p.poison = random.one_in(2) ? random.from_to(1, 3) : 0;
  p.poison_ms = random.from_to(1, 6) * p.broker.heartbeat_interval_ms;
  p.crashing = random.one_in(2) ? random.from_to(2, 40) : 0;
  random.draw(p.time_limit_ms, 1, 200);
  random.draw(p.delay_ms, 1, 40);
  random.draw(p.reconnect_ms, 1, 200);
  random.draw(p.commit_ms, 1, 100);
  random.draw(p.commit_steps, 1, 200);
  random.draw(p.disk_retry_ms, 1, 200);
  random.draw(p.drain_ms, 1, 1'000);
  random.draw(p.sweep_ms, 1, 1'000);
  // The simulated store answers within the time of some commits, or after the disk was full.
  p.broker.load_wait_ms = 20'000;

  p.crash_every_ms = maybe_every(random, 200, 10'000);
  p.drain_every_ms = maybe_every(random, 500, 20'000);
  p.kill_every_ms = maybe_every(random, 100, 5'000);
  p.terminate_every_ms = maybe_every(random, 200, 5'000);
  p.cut_every_ms = maybe_every(random, 50, 5'000);
  p.partition_every_ms = maybe_every(random, 50, 5'000);
  p.full_every_ms = maybe_every(random, 200, 10'000);
  p.io_error_every_ms = maybe_every(random, 500, 20'000);
  p.slot_fault_every_ms = maybe_every(random, 50, 5'000);
  p.client_every_ms = maybe_every(random, 50, 5'000);
  p.jump_every_ms = maybe_every(random, 500, 20'000);

  // Drawn last, so that the rest of a seed stays what it was.
  if (random.one_in(2)) {
    p.mark_every_ms = random.scale_from_to(20, 1'000);
    p.lie_every_ms = random.one_in(5) ? 0 : random.scale_from_to(50, 1'500);
    p.broker.canary_rate = static_cast<std::uint32_t>(random.scale_from_to(1, 12));
  }
  random.draw(p.admit_ms, 100, 10'000);
  // Not draws of their own, so that seeds stay what they were.
  if (p.admit_ms % 4 == 0) {
    const auto chance = static_cast<std::uint32_t>(p.admit_ms / 4);
    p.broker.canary_jobs_max = 1 + chance % 2;
    p.broker.unproven_runs_max = 1 + chance % 7;
    p.broker.barred_workers_max = 1 + chance % 3;
  }

  // What a case may wait for: the deadline of a lease on a slot that hangs, an upload that is never
  // finished, the deaths that put a case into quarantine, and then the work and its messages.
  const std::int64_t deadline_ms = 10 * p.time_limit_ms + 10'000 + margin_ms;
  const std::int64_t round_ms = p.broker.liveness_ms + p.restart_ms + p.session.backoff_max_ms +
                                p.session.idle_timeout_ms + p.session.stored_wait_ms +
                                10 * p.delay_ms + p.reconnect_ms + p.commit_ms;
  const std::int64_t deaths = p.poison * p.broker.attempts_max + p.workers;
  p.bound_ms = 2 * deadline_ms + 2 * static_cast<std::int64_t>(p.broker.upload_expiry_ms) +
               8 * (deaths + 4) * round_ms + 4 * p.clients * p.cases_max * (p.work_ms + 20) +
               p.jobs_spread_ms + 60'000;
  if (p.twins) p.bound_ms += 4'000;
  // Results may be taken back once more from every worker, and it waits to be let in again.
  if (p.mark_every_ms > 0) p.bound_ms += (p.workers + 1) * (p.bound_ms / 4 + p.admit_ms);
  return p;
}

}  // namespace puzzled::sim
