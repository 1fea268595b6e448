#include "tests/sim/world.h"

#include "tests/sim/cases.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace puzzled::sim {
namespace {

// A wrong result that was not taken back.
bool has_lie(const JobRow& job) {
  for (const ChunkRow& chunk : job.chunks) {
    for (std::uint32_t i = 0; i < chunk.done.size(); ++i) {
      if (chunk.done[i] && is_lie(chunk.results[i].back().answer, case_bytes(*chunk.cases, i))) {
        return true;
      }
    }
  }
  return false;
}

constexpr std::uint64_t kLookEvery = 32;  // events, between looks whether all is done

}  // namespace

World::World(std::uint64_t seed, Mutation mutation, bool sweeps, std::size_t lines_max)
    : sim_(seed, lines_max),
      params_(Params::draw(sim_.random, sim_.fleet)),
      network_(sim_, params_),
      disk_(sim_, params_),
      oracle_(sim_, params_, disk_),
      daemon_(sim_, params_, network_, disk_, oracle_, mutation, sweeps) {
  std::int64_t poison = params_.poison;
  for (std::int64_t i = 1; i <= params_.clients; ++i) {
    plans_.push_back(Plan::draw(sim_, params_, static_cast<std::uint32_t>(i), poison));
    // Sometimes two at once submit the same job.
    for (std::uint64_t twins = sim_.random.one_in(5) ? 2 : 1; twins > 0; --twins) {
      clients_.push_back(std::make_unique<Client>(sim_, params_, network_, plans_.back()));
      abandoned_.push_back(false);
    }
  }
  for (std::int64_t i = 1; i <= params_.workers; ++i) {
    workers_.push_back(
        std::make_unique<Worker>(sim_, params_, network_, static_cast<std::uint8_t>(i)));
  }
}

void World::run(std::uint64_t steps) {
  daemon_.start();
  for (const auto& worker : workers_) {
    sim_.after(sim_.random.from_to(0, params_.restart_ms), [&worker] { worker->start(); });
  }
  start_clients();
  begin_faults();
  if (params_.mark_every_ms > 0) admit_later();
  while (sim_.events < steps && sim_.run_one()) {
  }
  stop_faults();
  const std::int64_t until_ms = sim_.now_ms + params_.bound_ms;
  while (sim_.events % kLookEvery != 0 || !all_done()) {
    if (!sim_.run_one() || sim_.now_ms > until_ms) fail_liveness();
  }
  oracle_.check_end();
}

// ---- Faults.

template <class Fault>
void World::every(std::int64_t mean_ms, Fault fault) {
  if (mean_ms == 0) return;
  sim_.after(sim_.random.from_to(0, 2 * mean_ms), [this, mean_ms, fault] {
    if (!faulty_) return;
    fault();
    every(mean_ms, fault);
  });
}

void World::begin_faults() {
  const Params& p = params_;
  every(p.crash_every_ms, [this] { daemon_.crash(); });
  every(p.drain_every_ms, [this] { daemon_.terminate(); });
  every(p.kill_every_ms, [this] { any_worker().kill(); });
  every(p.terminate_every_ms, [this] { any_worker().terminate(); });
  every(p.cut_every_ms, [this] { break_line(); });
  every(p.partition_every_ms, [this] { partition(); });
  every(p.full_every_ms, [this] { disk_.fill(sim_.random.scale_from_to(10, 3'000)); });
  every(p.io_error_every_ms, [this] { disk_.fail_next(); });
  every(p.slot_fault_every_ms, [this] { any_worker().disturb_slot(); });
  every(p.client_every_ms, [this] { disturb_client(); });
  every(p.mark_every_ms, [this] { mark_or_unmark(); });
  every(p.lie_every_ms, [this] { any_worker().begin_lying(); });
  every(p.jump_every_ms, [this] {
    daemon_.jump_wall(sim_.random.from_to(-1, 1) * sim_.random.scale_from_to(1, 10'000'000));
  });
  if (p.control_every_ms > 0) control_workers();
}

void World::control(event::WorkerAction action, const std::string& name) {
  event::ControlWorkers request;
  request.action = action;
  request.all = name.empty();
  if (!request.all) request.patterns = {name};
  daemon_.operate(std::move(request));
}

// The operator. Times and choices come from a stream of their own.
void World::control_workers() {
  sim_.after(sim_.fleet.from_to(0, 2 * params_.control_every_ms), [this] {
    if (!faulty_) return;
    constexpr event::WorkerAction kActions[] = {
        event::WorkerAction::kDrain, event::WorkerAction::kResume, event::WorkerAction::kRemove};
    const std::uint64_t action = sim_.fleet.below(std::size(kActions));
    const std::uint64_t worker = sim_.fleet.below(workers_.size()) + 1;
    const std::string name = sim_.fleet.one_in(8) ? "" : "w" + std::to_string(worker);
    sim_.note(33, action, [&] { return "the operator: " + (name.empty() ? "all" : name); });
    control(kActions[action], name);
    control_workers();
  });
}

void World::stop_faults() {
  sim_.note(30, 0, [] { return "-- no more faults --"; });
  faulty_ = false;
  for (const auto& worker : workers_) worker->stop_lying();
  control(event::WorkerAction::kResume, "");
  network_.heal();
  disk_.heal();
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (!abandoned_[i]) clients_[i]->start();
  }
}

void World::start_clients() {
  for (const auto& client : clients_) {
    // Who comes later may find answers of those before.
    const std::int64_t later_ms =
        params_.twins && sim_.fleet.one_in(2) ? sim_.fleet.scale_from_to(1, 4'000) : 0;
    sim_.after(later_ms + sim_.random.from_to(0, params_.jobs_spread_ms),
               [&client] { client->start(); });
    if (!sim_.random.one_in(6)) continue;
    sim_.after(sim_.random.scale_from_to(10, 4'000), [&client] { client->cancel(); });
  }
}

void World::disturb_client() {
  const std::size_t at = sim_.random.below(clients_.size());
  if (!clients_[at]->up()) return;
  clients_[at]->stop();
  if (sim_.random.one_in(6)) {
    abandoned_[at] = true;
    return;
  }
  sim_.after(sim_.random.from_to(0, params_.restart_ms), [this, at] { clients_[at]->start(); });
}

// The operator, who sees what is stored.
void World::mark_or_unmark() {
  std::vector<std::pair<JobId, bool>> jobs;
  for (const auto& [id, job] : disk_.committed().jobs) {
    if (job.finished || job.canary || sim_.random.one_in(8)) jobs.emplace_back(id, job.canary);
  }
  if (jobs.empty()) return;
  const auto [id, canary] = jobs[sim_.random.below(jobs.size())];
  if (canary && !sim_.random.one_in(3)) return;
  daemon_.operate(event::MarkCanary{.peer = {}, .request = 0, .job = id, .off = canary});
}

void World::admit_later() {
  sim_.after(sim_.random.from_to(0, params_.admit_ms), [this] {
    if (const auto& barred = disk_.committed().barred; !barred.empty()) {
      const std::string name = barred[sim_.random.below(barred.size())].name;
      daemon_.operate(event::AdmitWorker{.peer = {}, .request = 0, .name = name});
    }
    // In the end only what is right may be known, else sound workers fail for ever.
    for (const auto& [id, job] : disk_.committed().jobs) {
      if (faulty_ || !job.canary || !has_lie(job)) continue;
      daemon_.operate(event::MarkCanary{.peer = {}, .request = 0, .job = id, .off = true});
      break;
    }
    admit_later();
  });
}

LinePtr World::any_line() {
  const std::size_t at = sim_.random.below(workers_.size() + clients_.size());
  return at < workers_.size() ? workers_[at]->line() : clients_[at - workers_.size()]->line();
}

void World::break_line() {
  sim_.note(31, 0, [] { return "a connection breaks"; });
  network_.cut(any_line());
}

void World::partition() {
  const std::int64_t ms = sim_.random.scale_from_to(1, 4 * params_.broker.liveness_ms);
  const std::uint64_t drops = sim_.random.below(4);
  const std::size_t lines = sim_.random.one_in(4) ? workers_.size() + clients_.size() : 1;
  sim_.note(32, drops, [&] {
    return std::to_string(lines) + " connections are blocked for " + std::to_string(ms) +
           " ms, and lose " + (drops == 0 ? "nothing" : "messages");
  });
  for (std::size_t i = 0; i < lines; ++i) {
    network_.block(any_line(), ms, (drops & 1U) != 0, (drops & 2U) != 0);
  }
}

// ---- The end.

bool World::all_done() const {
  if (!daemon_.idle()) return false;
  for (const auto& [id, job] : disk_.committed().jobs) {
    if (!job.finished && !job.cancelled) return false;
  }
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (!abandoned_[i] && !clients_[i]->ended()) return false;
  }
  return std::ranges::all_of(workers_, [](const auto& w) { return !w->up() || w->idle(); });
}

void World::fail_liveness() const {
  std::string text = "not all came to its end within " + std::to_string(params_.bound_ms) + " ms:";
  for (const auto& [id, job] : disk_.committed().jobs) {
    if (job.finished || job.cancelled) continue;
    text += " job " + std::to_string(id.value) + (job.sealed ? "" : ", unsealed,") + " has " +
            std::to_string(job.done_count) + " of " + std::to_string(job.case_count) + ";";
  }
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (!abandoned_[i] && !clients_[i]->ended()) text += " client " + std::to_string(i) + " waits;";
  }
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i]->up() && !workers_[i]->idle()) {
      text += " worker " + std::to_string(i + 1) + " holds leases;";
    }
  }
  throw Violation{10, text};
}

std::uint64_t World::cases_done() const {
  std::uint64_t done = 0;
  for (const auto& [id, job] : disk_.committed().jobs) done += job.done_count;
  return done;
}

}  // namespace puzzled::sim
