#include "daemon/net/reactor.h"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "daemon/net/accept.h"
#include "daemon/net/clock.h"
#include "daemon/net/permission.h"
#include "proto/base/assert.h"
#include "proto/base/printable.h"
#include "proto/base/service_manager.h"

namespace puzzled {
namespace {

using message::ErrorCode;

constexpr std::int64_t kSweepMs = 10'000;
// So often workers are read before clients get their turn, while workers have something to say.
constexpr std::uint32_t kWorkerRoundsMax = 8;
// The store's queue may be over its limit for so long before clients are told.
constexpr std::int64_t kQueueOverMs = 1'000;

std::string_view view(const zmq::message_t& frame) { return {frame.data<char>(), frame.size()}; }

// The first ones, and how many there are beyond them: a request may name a thousand.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  const std::size_t shown = std::min(names.size(), kShown);
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, " "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

}  // namespace

Reactor::Reactor(zmq::context_t& context, NetOptions options, Parts parts, codec::DaemonFacts facts)
    : options_(options),
      parts_(parts),
      facts_(std::move(facts)),
      upkeep_(options.upkeep_interval_ms, steady_ms(), parts.store, parts.reads),
      clients_(context, options, last_peer_),
      workers_(context, options, last_peer_),
      refusals_(options.refusals_log_ms),
      alive_ms_(service_manager::watchdog_interval_ms() > 0 ? steady_ms() : kNever),
      sweep_ms_(steady_ms()),
      reads_({.waiting_max = options.reads_max,
              .client_waiting_max = options.client_reads_max,
              .under_way_max = options.reads_under_way_max}) {
  if (parts_.access == nullptr) return;
  if (options_.authorized_keys_poll_ms > 0) keys_ms_ = steady_ms();
  parts_.access->open(context);
  client_events_ = SocketEvents(context, clients_.socket());
  worker_events_ = SocketEvents(context, workers_.socket());
}

Reactor::~Reactor() {
  if (parts_.access != nullptr) parts_.access->close();
}

int Reactor::run() {
  while (phase_ != Phase::kEnded) {
    wait();
    read_signals();
    read_handshakes();
    // Workers first: their heartbeats must not wait behind a flood of clients.
    const bool workers_wait = read_workers();
    read_store();
    read_answers();
    if (!workers_wait || ++worker_rounds_ >= kWorkerRoundsMax) {
      worker_rounds_ = 0;
      read_clients();
    }
    keep_time();
    carry_out();
    answer_metrics();
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
  std::int64_t next = std::min({parts_.broker.next_deadline(), sweep_ms_, upkeep_.next_deadline(),
                                refusals_.next_deadline(), alive_ms_, keys_ms_});
  if (local_workers_ != nullptr) next = std::min(next, local_workers_->next_deadline());
  if (phase_ == Phase::kDraining) next = std::min(next, drain_deadline_ms_);
  if (queue_over_since_ != 0 && queue_pause_.empty()) {
    next = std::min(next, queue_over_since_ + kQueueOverMs);
  }
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
  if (parts_.access != nullptr) {
    for (void* handle :
         {parts_.access->handle(), client_events_.handle(), worker_events_.handle()}) {
      items.push_back({handle, 0, ZMQ_POLLIN, 0});
    }
  }
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
  if (const auto sweep = upkeep_.step(at, durable_step_)) step(*sweep);
  watch_store_queue(at);
  poll_access(at);
  for (const std::string& line : refusals_.due(at)) spdlog::warn("{}", line);
  if (at >= alive_ms_) {
    service_manager::alive();
    alive_ms_ = at + service_manager::watchdog_interval_ms();
  }
  if (at < sweep_ms_) return;
  sweep_ms_ = at + std::min<std::int64_t>(kSweepMs, options_.client_idle_ms);
  if (over_limit_messages_ > told_over_limit_messages_) {
    spdlog::warn("{} messages of new connections were refused: there are {} already",
                 over_limit_messages_ - told_over_limit_messages_, options_.connections_max);
    told_over_limit_messages_ = over_limit_messages_;
  }
  std::vector<PeerId> gone;
  clients_.forget_idle(at, options_.client_idle_ms, gone);
  for (const PeerId peer : std::exchange(gone, {})) client_gone(peer);
  workers_.forget_idle(at, options_.client_idle_ms, gone);
  for (const PeerId peer : gone) step(event::WorkerGone{peer});
  if (const std::uint64_t refused = refused_connections(); refused > told_refused_) {
    spdlog::warn("refused {} connections: all file descriptors are used; raise 'ulimit -n'",
                 refused - told_refused_);
    told_refused_ = refused;
  }
}

// A short excess only means that clients wait for a moment. A disk that stays behind is a reason
// that they must be told, so then they are read again, and refused.
void Reactor::watch_store_queue(std::int64_t at) {
  const std::uint64_t bytes = parts_.store.queued_bytes();
  const std::uint64_t limit = options_.store_queue_bytes_max;
  if (bytes > limit && queue_over_since_ == 0) queue_over_since_ = at;
  if (queue_pause_.empty() ? bytes <= limit : bytes <= limit / 2) {
    queue_over_since_ = 0;
    if (!std::exchange(queue_pause_, {}).empty()) spdlog::info("the disk has caught up");
  } else if (queue_pause_.empty() && at - queue_over_since_ >= kQueueOverMs) {
    queue_pause_ = fmt::format("the disk is slow: {} MiB wait to be written to the database {}",
                               bytes >> 20U, facts_.database);
    spdlog::warn("intake is paused: {}", queue_pause_);
  }
  update_intake();
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
    } else if (signal.ssi_signo == SIGHUP) {
      reload_access(Access::Reload::kAlways);
    } else if (phase_ == Phase::kRunning) {
      start_drain();
    } else {
      spdlog::warn("stopping at once: asked a second time");
      phase_ = Phase::kEnded;
    }
  }
}

bool Reactor::read_workers() {
  const std::int64_t at = steady_ms();
  PeerId peer;
  zmq::message_t frame;
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < options_.burst_messages_max && bytes < options_.burst_bytes_max;
       ++i, bytes += frame.size()) {
    const Router::Received received = workers_.receive(at, peer, frame);
    if (received == Router::Received::kNothing) return false;
    if (received == Router::Received::kIgnored) {
      log_refusal(RefusalLog::Kind::kNamedItself, "they must leave their routing id to ZeroMQ");
      continue;
    }
    if (received == Router::Received::kTooMany) {
      ++over_limit_messages_;  // it tries again by itself
      continue;
    }
    ErrorCode code{};
    if (std::string why = refusal_of(*workers_.find(peer), Role::kWork, code); !why.empty()) {
      to_send_.push_back({peer, WorkerMessage(message::Refused{std::move(why)})});
      step(event::WorkerGoodbye{.peer = peer, .reason = kMayNotWork});
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
  return true;
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
    if (received == Router::Received::kTooMany) {
      ++over_limit_messages_;
      clients_.answer_refused(codec::encode(ClientMessage(message::Error{
          0, ErrorCode::kUnavailable, "the daemon has as many connections as it allows"})));
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
  if (const std::optional<Role> role = role_for(input)) {
    ErrorCode code{};
    std::string why = refusal_of(*clients_.find(peer), *role, code);
    if (!why.empty()) input = message::Error{codec::request_of(input), code, std::move(why)};
  }
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
  if (const auto* control = std::get_if<event::ControlWorkers>(&event)) {
    spdlog::info("the operator asks: {} {}", event::name_of(control->action),
                 control->all ? "all workers" : printable_line(some_of(control->patterns)));
  }
  step(std::move(event));
}

void Reactor::handle(PeerId peer, codec::Query query) {
  if (!reads_.add({peer, query.request, std::move(query.query)})) {
    handle(peer, message::Error{query.request, ErrorCode::kUnavailable,
                                "too many queries are waiting; try again in a moment"});
    return;
  }
  clients_.find(peer)->open_requests.insert(query.request);
}

void Reactor::handle(PeerId peer, const codec::ListWorkers& list) {
  clients_.find(peer)->open_requests.insert(list.request);
  reply(peer, list.request,
        codec::encode(list.request, parts_.broker.workers(now(), list.after, list.rows)));
}

void Reactor::handle(PeerId peer, const codec::GetVersion& version) {
  clients_.find(peer)->open_requests.insert(version.request);
  reply(peer, version.request, codec::encode(version.request, facts(), load()));
}

void Reactor::handle(PeerId peer, const codec::GetDemand& get) {
  clients_.find(peer)->open_requests.insert(get.request);
  reply(peer, get.request, codec::encode(get.request, parts_.broker.demand(get.slot_work_ms)));
}

void Reactor::start_reads() {
  const auto may_read = [&](PeerId peer) {
    const Router::Peer* client = clients_.find(peer);
    return client == nullptr || client->unsent_bytes <= options_.unread_bytes_max;
  };
  while (auto read = reads_.start(may_read)) {
    parts_.reads.submit(read->ticket, std::move(read->query));
  }
}

// Sweeps the next jobs, as the sweeper itself does from time to time.
void Reactor::handle(PeerId peer, const codec::CheckBroker& check) {
  clients_.find(peer)->open_requests.insert(check.request);
  step(event::Sweep{.after = check.after, .durable_steps = durable_step_});
  query::CheckPage page;
  page.findings = upkeep_.found();
  const JobId last = upkeep_.swept();
  parts_.broker.find_stuck(check.after, last.value > 0 ? last : JobId{UINT64_MAX}, page.findings);
  if (last.value > 0) page.cursor = {last.value};
  reply(peer, check.request,
        codec::encode(check.request, query::Answer{std::move(page)},
                      [](JobId) { return JobView{}; }));
}

void Reactor::handle(PeerId peer, const codec::Backup& backup) {
  clients_.find(peer)->open_requests.insert(backup.request);
  if (const auto known = upkeep_.start(peer, backup)) send_reply(*known);
}

void Reactor::send_reply(const Upkeep::Reply& of_backup) {
  if (of_backup.error.empty()) {
    reply(of_backup.peer, of_backup.request,
          codec::encode_backup_done(of_backup.request, of_backup.bytes));
  } else {
    to_send_.push_back(
        {of_backup.peer, ClientMessage(message::Error{
                             of_backup.request, ErrorCode::kInvalidArgument, of_backup.error})});
  }
}

void Reactor::handle(const Backups::Ended& ended) {
  for (const Upkeep::Reply& one : upkeep_.on_ended(ended)) send_reply(one);
}

void Reactor::read_answers() {
  for (ReadThread::Answered& answered : parts_.reads.take()) {
    if (answered.ticket == Upkeep::kTicket) {
      upkeep_.on_answer(answered);
      continue;
    }
    const ReadQueue::Read read = reads_.finish(answered.ticket);
    if (answered.is_damaged) return handle(StoreThread::Failed{answered.error});
    if (answered.error.empty()) {
      reply(read.peer, read.request, codec::encode(read.request, answered.answer, [&](JobId job) {
              return parts_.broker.job_view(job);
            }));
      continue;
    }
    spdlog::warn("a query failed: {}", answered.error);
    to_send_.push_back({read.peer, ClientMessage(message::Error{
                                       read.request, ErrorCode::kUnavailable,
                                       "the store cannot be read now: " + answered.error})});
  }
}

}  // namespace puzzled
