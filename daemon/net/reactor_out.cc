// Reactor: what the store reports, what goes out, and the end.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "daemon/net/accept.h"
#include "daemon/net/clock.h"
#include "daemon/net/reactor.h"
#include "proto/base/assert.h"
#include "proto/base/fatal.h"
#include "proto/base/service_manager.h"

namespace puzzled {

// ---- The store's reports.

void Reactor::read_store() {
  for (StoreThread::Report& report : parts_.store.take()) {
    std::visit([&](auto& what) { handle(std::move(what)); }, report);
  }
}

void Reactor::handle(const StoreThread::Durable& durable) {
  const std::uint64_t before = durable_step_;
  while (!submitted_.empty() && submitted_.front().sequence <= durable.sequence) {
    durable_step_ = submitted_.front().step;
    submitted_.pop_front();
  }
  if (durable_step_ == before) return;
  while (!held_.empty() && held_.front().step <= durable_step_) {
    to_send_.push_back(std::move(held_.front().send));
    held_.pop_front();
  }
  step(event::RecordsDurable{durable_step_});
}

void Reactor::handle(const StoreThread::Failed& failed) {
  spdlog::critical("stopping with exit code {}: {}", kExitIo, failed.text);
  exit_code_ = kExitIo;
  phase_ = Phase::kEnded;
}

void Reactor::handle(event::ChunkLoaded loaded) { step(std::move(loaded)); }

void Reactor::handle(event::ChunkCompared compared) { step(compared); }

void Reactor::handle(event::CanariesLoaded loaded) { step(std::move(loaded)); }

void Reactor::handle(event::IntakePaused paused) {
  store_pause_ = std::move(paused.reason);
  update_intake();
}

void Reactor::handle(event::IntakeResumed) {
  store_pause_.clear();
  update_intake();
}

void Reactor::update_intake() {
  const std::string& reason = store_pause_.empty() ? queue_pause_ : store_pause_;
  if (reason == parts_.broker.intake_paused()) return;
  step(reason.empty() ? Event(event::IntakeResumed{}) : Event(event::IntakePaused{reason}));
}

codec::DaemonLoad Reactor::load() const {
  const StoreThread::Health store = parts_.store.health();
  return {.intake_paused = parts_.broker.intake_paused(),
          .is_slow = store.slow,
          .store_queue_bytes = parts_.store.queued_bytes(),
          .log_bytes = store.log_bytes,
          .reader_age_ms = store.reader_age_ms,
          .clients = clients_.peer_count(),
          .unsent_bytes = clients_.unsent_bytes() + workers_.unsent_bytes(),
          .waiting_queries = reads_.waiting(),
          .workers = parts_.broker.worker_count(),
          .open_jobs = parts_.broker.open_job_count(),
          .leases = parts_.broker.leases(),
          .barred_workers = parts_.broker.barred_count()};
}

codec::DaemonFacts Reactor::facts() const {
  codec::DaemonFacts facts = facts_;
  if (parts_.access != nullptr) {
    facts.refused_handshakes = parts_.access->counts().handshakes;
    facts.refused_messages = parts_.access->counts().messages;
  }
  return facts;
}

void Reactor::answer_metrics() {
  if (parts_.metrics == nullptr || !parts_.metrics->asked()) return;
  parts_.metrics->answer({.facts = facts(),
                          .load = load(),
                          .demand = parts_.broker.demand(kSlotWorkMs),
                          .commits = parts_.store.counts(),
                          .answer_bytes = parts_.store.health().answer_bytes,
                          .is_draining = phase_ != Phase::kRunning,
                          .refused_client_messages = refusals_.total(RefusalLog::Kind::kClient),
                          .refused_worker_messages = refusals_.total(RefusalLog::Kind::kWorker),
                          .refused_connections = over_limit_messages_ + refused_connections()});
}

// ---- What goes out.

void Reactor::step(Event event) {
  const bool is_sweep = std::holds_alternative<event::Sweep>(event);
  parts_.broker.step(now(), std::move(event), effects_);
  if (is_sweep) upkeep_.on_sweep(effects_);
  for (const std::string& line : effects_.notices) spdlog::warn("{}", line);
  if (!effects_.records.empty() || !effects_.loads.empty() || !effects_.comparisons.empty() ||
      !effects_.canary_loads.empty()) {
    ++last_sequence_;
    if (!effects_.records.empty()) submitted_.push_back({last_sequence_, effects_.step});
    to_store_.push_back({last_sequence_, std::move(effects_.records), std::move(effects_.loads),
                         std::move(effects_.comparisons), std::move(effects_.canary_loads)});
  }
  for (Send& send : effects_.when_durable) {
    if (effects_.step <= durable_step_) {
      to_send_.push_back(std::move(send));
    } else {
      held_.push_back({effects_.step, std::move(send)});
    }
  }
  std::ranges::move(effects_.now, std::back_inserter(to_send_));
  effects_.clear();
}

void Reactor::carry_out() {
  if (exit_code_ != 0) return;  // the store has failed: promise nothing more
  const std::int64_t at = steady_ms();
  std::vector<PeerId> gone;
  clients_.retry(at, gone);
  for (const PeerId peer : std::exchange(gone, {})) client_gone(peer);
  workers_.retry(at, gone);
  for (const PeerId peer : gone) step(event::WorkerGone{peer});
  // A peer that turns out to be gone is an event of its own, with effects of its own.
  while (!to_store_.empty() || !to_send_.empty()) {
    for (StoreThread::Work& work : std::exchange(to_store_, {})) {
      parts_.store.submit(std::move(work));
    }
    for (const Send& one : std::exchange(to_send_, {})) send(one);
  }
  start_reads();
}

void Reactor::client_gone(PeerId peer) {
  reads_.forget(peer);
  step(event::ClientGone{peer});
}

void Reactor::send(const Send& send) {
  if (const auto* to_client = std::get_if<ClientMessage>(&send.what)) {
    const std::uint64_t request = std::visit([](const auto& m) { return m.request; }, *to_client);
    reply(send.to, request, codec::encode(*to_client));
    return;
  }
  const auto& to_worker = std::get<WorkerMessage>(send.what);
  if (workers_.find(send.to) == nullptr) return;  // its WorkerGone is on record already
  // A sign of life does not wait behind the cases of dispatches.
  const auto urgency = std::holds_alternative<message::Heartbeat>(to_worker)
                           ? Router::Urgency::kFirst
                           : Router::Urgency::kUsual;
  if (!workers_.send(send.to, codec::encode(to_worker), urgency)) step(event::WorkerGone{send.to});
}

void Reactor::reply(PeerId peer, std::uint64_t request, std::string frame) {
  Router::Peer* client = clients_.find(peer);
  if (client == nullptr) return;  // gone, and the broker knows
  const auto open = client->open_requests.find(request);
  ASSERT(open != client->open_requests.end());
  client->open_requests.erase(open);
  if (!clients_.send(peer, std::move(frame))) client_gone(peer);
}

// ---- The end.

void Reactor::start_drain() {
  spdlog::info("draining: waiting for what is being solved ({} leases)", parts_.broker.leases());
  service_manager::stopping();
  phase_ = Phase::kDraining;
  drain_deadline_ms_ = steady_ms() + options_.drain_timeout_ms;
  if (local_workers_ != nullptr) local_workers_->drain();
  step(event::DrainWorkers{});
}

void Reactor::end_if_drained() {
  if (phase_ != Phase::kDraining) return;
  const bool drained = parts_.broker.leases() == 0 && submitted_.empty() && held_.empty() &&
                       to_store_.empty() && to_send_.empty() && !clients_.has_unsent() &&
                       !workers_.has_unsent();
  if (drained) {
    spdlog::info("drained");
    phase_ = Phase::kEnded;
  } else if (steady_ms() >= drain_deadline_ms_) {
    const std::string paused = parts_.broker.intake_paused();
    spdlog::warn("drain timeout: {} leases are still open; their cases run again after a restart{}",
                 parts_.broker.leases(),
                 paused.empty() ? "" : "; what was not acknowledged is not on disk: " + paused);
    phase_ = Phase::kEnded;
  }
}

}  // namespace puzzled
