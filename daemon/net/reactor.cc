#include "daemon/net/reactor.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "proto/base/assert.h"
#include "proto/base/fatal.h"

namespace puzzled {
namespace {

using message::ErrorCode;

constexpr std::int64_t kSweepMs = 10'000;

std::int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Now now() {
  return {steady_ms(), std::chrono::duration_cast<std::chrono::milliseconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count()};
}

std::string_view view(const zmq::message_t& frame) { return {frame.data<char>(), frame.size()}; }

}  // namespace

Reactor::Reactor(zmq::context_t& context, NetOptions options, Parts parts, codec::DaemonFacts facts)
    : options_(options),
      parts_(parts),
      facts_(std::move(facts)),
      clients_(context, options, last_peer_),
      workers_(context, options, last_peer_),
      refusals_(options.refusals_log_ms),
      sweep_ms_(steady_ms() + kSweepMs) {}

int Reactor::run() {
  while (phase_ != Phase::kEnded) {
    wait();
    read_signals();
    // Workers first: their heartbeats must not wait behind a flood of clients.
    read_workers();
    read_store();
    read_answers();
    read_clients();
    keep_time();
    carry_out();
    end_if_drained();
  }
  return exit_code_;
}

// ---- Waiting.

bool Reactor::clients_may_speak() const {
  // While intake is paused the broker refuses what would grow the queue, and clients may ask why.
  return parts_.store.queued_bytes() <= options_.store_queue_bytes_max ||
         !parts_.broker.intake_paused().empty();
}

std::int64_t Reactor::next_deadline() const {
  std::int64_t next =
      std::min({parts_.broker.next_deadline(), sweep_ms_, refusals_.next_deadline()});
  if (local_workers_ != nullptr) next = std::min(next, local_workers_->next_deadline());
  if (phase_ == Phase::kDraining) next = std::min(next, drain_deadline_ms_);
  return next;
}

void Reactor::wait() {
  const std::int64_t at = steady_ms();
  std::int64_t timeout = std::clamp<std::int64_t>(next_deadline() - at, 0, kSweepMs);
  if (clients_.has_unsent() || workers_.has_unsent()) {
    timeout = std::min<std::int64_t>(timeout, options_.retry_ms);
  }
  // The store wakes us when it has written something, so an unread socket cannot be forgotten.
  std::vector<zmq::pollitem_t> items = {
      {workers_.socket().handle(), 0, ZMQ_POLLIN, 0},
      {nullptr, parts_.waker.fd(), ZMQ_POLLIN, 0},
      {nullptr, parts_.signals, ZMQ_POLLIN, 0},
  };
  if (clients_may_speak()) items.push_back({clients_.socket().handle(), 0, ZMQ_POLLIN, 0});
  try {
    zmq::poll(items, std::chrono::milliseconds(timeout));
  } catch (const zmq::error_t& error) {
    if (error.num() != EINTR) throw;
  }
  // Cleared before the threads' reports are taken: what comes later wakes us again.
  parts_.waker.clear();
}

void Reactor::keep_time() {
  const std::int64_t at = steady_ms();
  if (at >= parts_.broker.next_deadline()) step(event::Tick{});
  if (local_workers_ != nullptr && at >= local_workers_->next_deadline()) local_workers_->step(at);
  for (const std::string& line : refusals_.due(at)) spdlog::warn("{}", line);
  if (at < sweep_ms_) return;
  sweep_ms_ = at + kSweepMs;
  std::vector<PeerId> gone;
  clients_.forget_idle(at, options_.client_idle_ms, gone);
  for (const PeerId peer : std::exchange(gone, {})) step(event::ClientGone{peer});
  workers_.forget_idle(at, options_.client_idle_ms, gone);
  for (const PeerId peer : gone) step(event::WorkerGone{peer});
}

void Reactor::log_refusal(RefusalLog::Kind kind, std::string_view why) {
  const std::string line = refusals_.note(steady_ms(), kind, why);
  if (!line.empty()) spdlog::warn("{}", line);
}

// ---- What comes in.

void Reactor::read_signals() {
  signalfd_siginfo signal{};
  pollfd ready{parts_.signals, POLLIN, 0};
  while (::poll(&ready, 1, 0) == 1 &&
         ::read(parts_.signals, &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
    if (signal.ssi_signo == SIGCHLD) {
      if (local_workers_ != nullptr) local_workers_->step(steady_ms());
    } else if (phase_ == Phase::kRunning) {
      start_drain();
    } else {
      spdlog::warn("stopping at once: asked a second time");
      phase_ = Phase::kEnded;
    }
  }
}

void Reactor::read_workers() {
  const std::int64_t at = steady_ms();
  PeerId peer;
  zmq::message_t frame;
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < options_.burst_messages_max && bytes < options_.burst_bytes_max;
       ++i, bytes += frame.size()) {
    const Router::Received received = workers_.receive(at, peer, frame);
    if (received == Router::Received::kNothing) return;
    if (received == Router::Received::kIgnored) {
      log_refusal(RefusalLog::Kind::kNamedItself, "they must leave their routing id to ZeroMQ");
      continue;
    }
    // A message of several frames was emptied by the router and cannot be decoded either.
    auto input = codec::decode_worker(peer, view(frame), options_.codec);
    if (auto* refused = std::get_if<message::Refused>(&input)) {
      log_refusal(RefusalLog::Kind::kWorker, refused->text);
      to_send_.push_back({peer, WorkerMessage(std::move(*refused))});
      step(event::WorkerGone{peer});
    } else {
      step(std::move(std::get<Event>(input)));
    }
  }
}

void Reactor::read_clients() {
  const std::int64_t at = steady_ms();
  PeerId peer;
  zmq::message_t frame;
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0;
       i < options_.burst_messages_max && bytes < options_.burst_bytes_max && clients_may_speak();
       ++i, bytes += frame.size()) {
    const Router::Received received = clients_.receive(at, peer, frame);
    if (received == Router::Received::kNothing) return;
    if (received == Router::Received::kIgnored) {
      log_refusal(RefusalLog::Kind::kNamedItself, "they must leave their routing id to ZeroMQ");
      continue;
    }
    codec::ClientInput input = codec::decode_client(peer, view(frame), options_.codec);
    // A mistake in a request is told to who made it; who sends no requests may not read replies.
    const auto* error = std::get_if<message::Error>(&input);
    if (error != nullptr && error->request == 0) {
      log_refusal(RefusalLog::Kind::kClient, error->text);
    }
    handle_client(peer, std::move(input));
  }
}

void Reactor::handle_client(PeerId peer, codec::ClientInput input) {
  if (clients_.find(peer)->open_requests.size() >= options_.open_requests_max) {
    const std::uint64_t request = codec::request_of(input);
    input = message::Error{request, ErrorCode::kUnavailable,
                           "too many requests are open on this connection; wait for replies"};
  }
  std::visit([&](auto& what) { handle(peer, std::move(what)); }, input);
}

void Reactor::handle(PeerId peer, const message::Error& error) {
  clients_.find(peer)->open_requests.insert(error.request);
  to_send_.push_back({peer, ClientMessage(error)});
}

void Reactor::handle(PeerId peer, Event event) {
  std::visit(
      [&](const auto& e) {
        if constexpr (requires { e.request; }) clients_.find(peer)->open_requests.insert(e.request);
      },
      event);
  step(std::move(event));
}

void Reactor::handle(PeerId peer, codec::Query query) {
  if (open_reads_.size() >= options_.reads_max) {
    handle(peer, message::Error{query.request, ErrorCode::kUnavailable,
                                "too many queries are waiting; try again in a moment"});
    return;
  }
  clients_.find(peer)->open_requests.insert(query.request);
  open_reads_[++last_ticket_] = {peer, query.request};
  parts_.reads.submit(last_ticket_, std::move(query.query));
}

void Reactor::handle(PeerId peer, const codec::ListWorkers& list) {
  clients_.find(peer)->open_requests.insert(list.request);
  reply(peer, list.request,
        codec::encode(list.request, parts_.broker.workers(now(), list.after, list.rows)));
}

void Reactor::handle(PeerId peer, const codec::GetVersion& version) {
  clients_.find(peer)->open_requests.insert(version.request);
  reply(peer, version.request,
        codec::encode(version.request, facts_, parts_.broker.intake_paused()));
}

void Reactor::read_answers() {
  for (ReadThread::Answered& answered : parts_.reads.take()) {
    const auto at = open_reads_.find(answered.ticket);
    ASSERT(at != open_reads_.end());
    const OpenRead read = at->second;
    open_reads_.erase(at);
    if (!answered.error.empty()) {
      spdlog::error("a query failed: {}", answered.error);
      to_send_.push_back({read.peer, ClientMessage(message::Error{
                                         read.request, ErrorCode::kInternal,
                                         "the store could not be read: " + answered.error})});
      continue;
    }
    reply(read.peer, read.request, codec::encode(read.request, answered.answer, [&](JobId job) {
            return parts_.broker.job_view(job);
          }));
  }
}

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

void Reactor::handle(event::IntakePaused paused) { step(std::move(paused)); }

void Reactor::handle(event::IntakeResumed resumed) { step(resumed); }

// ---- What goes out.

void Reactor::step(Event event) {
  parts_.broker.step(now(), std::move(event), effects_);
  if (!effects_.records.empty() || !effects_.loads.empty() || !effects_.comparisons.empty()) {
    ++last_sequence_;
    if (!effects_.records.empty()) submitted_.push_back({last_sequence_, effects_.step});
    to_store_.push_back({last_sequence_, std::move(effects_.records), std::move(effects_.loads),
                         std::move(effects_.comparisons)});
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
  std::vector<PeerId> gone;
  clients_.retry(gone);
  for (const PeerId peer : std::exchange(gone, {})) step(event::ClientGone{peer});
  workers_.retry(gone);
  for (const PeerId peer : gone) step(event::WorkerGone{peer});
  // A peer that turns out to be gone is an event of its own, with effects of its own.
  while (!to_store_.empty() || !to_send_.empty()) {
    for (StoreThread::Work& work : std::exchange(to_store_, {})) {
      parts_.store.submit(std::move(work));
    }
    for (const Send& one : std::exchange(to_send_, {})) send(one);
  }
}

void Reactor::send(const Send& send) {
  if (const auto* to_client = std::get_if<ClientMessage>(&send.what)) {
    const std::uint64_t request = std::visit([](const auto& m) { return m.request; }, *to_client);
    reply(send.to, request, codec::encode(*to_client));
    return;
  }
  const auto& to_worker = std::get<WorkerMessage>(send.what);
  if (workers_.find(send.to) == nullptr) return;  // its WorkerGone is on record already
  if (!workers_.send(send.to, codec::encode(to_worker))) step(event::WorkerGone{send.to});
}

void Reactor::reply(PeerId peer, std::uint64_t request, std::string frame) {
  Router::Peer* client = clients_.find(peer);
  if (client == nullptr) return;  // gone, and the broker knows
  const auto open = client->open_requests.find(request);
  ASSERT(open != client->open_requests.end());
  client->open_requests.erase(open);
  if (!clients_.send(peer, std::move(frame))) step(event::ClientGone{peer});
}

// ---- The end.

void Reactor::start_drain() {
  spdlog::info("draining: waiting for what is being solved ({} leases)", parts_.broker.leases());
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
    spdlog::warn("drain timeout: {} leases are still open; their cases run again after a restart",
                 parts_.broker.leases());
    phase_ = Phase::kEnded;
  }
}

}  // namespace puzzled
