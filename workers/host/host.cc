#include "workers/host/host.h"

#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "proto/base/assert.h"
#include "proto/base/paths.h"
#include "proto/base/service_manager.h"
#include "proto/curve.h"
#include "proto/wire.h"
#include "workers/host/clocks.h"

namespace puzzled::host {
namespace {

constexpr int kHighWaterMark = 64;       // frames; more wait in the outbox
constexpr int kGoodbyeLingerMs = 1'000;  // for the last messages
constexpr int kReconnectMs = 50;         // ZeroMQ's own attempts on one socket
constexpr int kReconnectMaxMs = 1'000;
constexpr int kFramesAtOnce = 256;  // read before slots get their turn
constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr wire::Version kLabelsSince{1, 1};

std::int64_t now_ms() { return monotonic_ns() / kNsPerMs; }

const char* name_of(Session::State state) {
  switch (state) {
    case Session::State::kConnecting:
      return "connecting";
    case Session::State::kWorking:
      return "working";
    case Session::State::kDraining:
      return "draining";
    case Session::State::kStopped:
      return "stopped";
  }
  return "?";
}

}  // namespace

Host::Host(const HostOptions& options)
    : options_(options), context_(1), session_(options.session, now_ms()) {
  for (SlotNo i = 0; i < options.session.slots; ++i) {
    slots_.push_back(std::make_unique<Slot>(i, options.slot));
    slots_.back()->warm_up();
  }
}

Host::~Host() { close_socket(0); }

int Host::run() {
  // A worker without its daemon is as it should be: it waits for it.
  service_manager::ready(options_.endpoint);
  if (service_manager::watchdog_interval_ms() > 0) tell_alive();
  tick();
  while (!exit_code_) {
    wait();
    read_signals();
    read_handshakes();
    read_socket();
    serve_slots();
    check_slots();
    if (!exit_code_ && now_ms() >= session_.next_deadline()) tick();
    if (monotonic_ns() >= alive_ns_) tell_alive();
    flush();
  }
  close_socket(kGoodbyeLingerMs);
  return *exit_code_;
}

// ---- Waiting

std::int64_t Host::next_deadline_ns() const {
  const std::int64_t session_ms = session_.next_deadline();
  std::int64_t at = session_ms == Session::kNever ? Slot::kNever : session_ms * kNsPerMs;
  for (const auto& slot : slots_) at = std::min(at, slot->next_check_ns());
  return std::min(at, alive_ns_);
}

void Host::wait() {
  poll_items_.clear();
  poll_items_.push_back({nullptr, options_.signal_fd, ZMQ_POLLIN, 0});
  // A negative descriptor without a socket would be refused: the signals stand in for it.
  const int parent = options_.exit_with_parent_fd;
  poll_items_.push_back({nullptr, parent >= 0 ? parent : options_.signal_fd, ZMQ_POLLIN, 0});
  for (const auto& slot : slots_) {
    if (slot->fd() >= 0) poll_items_.push_back({nullptr, slot->fd(), ZMQ_POLLIN, 0});
  }
  if (socket_) {
    const bool write = connecting_ || !outbox_.empty();
    poll_items_.push_back(
        {socket_.handle(), 0, static_cast<short>(ZMQ_POLLIN | (write ? ZMQ_POLLOUT : 0)), 0});
    poll_items_.push_back({events_.handle(), 0, ZMQ_POLLIN, 0});
  }
  const std::int64_t at = next_deadline_ns();
  long timeout_ms = -1;
  if (at != Slot::kNever) {
    // Rounded up: a deadline is not tried before it is there.
    timeout_ms =
        static_cast<long>(std::max<std::int64_t>(0, at - monotonic_ns() + kNsPerMs - 1) / kNsPerMs);
  }
  while (::zmq_poll(poll_items_.data(), static_cast<int>(poll_items_.size()), timeout_ms) < 0) {
    if (zmq_errno() != EINTR) throw zmq::error_t();
  }
}

void Host::read_signals() {
  // The end of a pipe is reported as an error, not as something to read.
  if (options_.exit_with_parent_fd >= 0 && poll_items_[1].revents != 0) {
    char byte = 0;
    errno = 0;
    if (::read(options_.exit_with_parent_fd, &byte, 1) != 1 && errno != EAGAIN && errno != EINTR) {
      spdlog::info("the daemon that started this worker is gone");
      exit_code_ = 0;
      return;
    }
  }
  if ((poll_items_[0].revents & ZMQ_POLLIN) == 0) return;
  signalfd_siginfo info{};
  if (::read(options_.signal_fd, &info, sizeof info) == sizeof info) {
    spdlog::info("signal {}: finishing what runs", info.ssi_signo);
    step(event::Terminate{});
  }
}

// ---- The broker

void Host::open_socket() {
  close_socket(0);
  socket_ = zmq::socket_t(context_, zmq::socket_type::dealer);
  // Nothing is queued for a broker that is not there; what it misses, the Session repeats.
  socket_.set(zmq::sockopt::immediate, true);
  socket_.set(zmq::sockopt::linger, 0);
  socket_.set(zmq::sockopt::sndhwm, kHighWaterMark);
  socket_.set(zmq::sockopt::rcvhwm, kHighWaterMark);
  socket_.set(zmq::sockopt::maxmsgsize,
              static_cast<std::int64_t>(wire::kMessageBytesMax + wire::kHeaderBytes));
  socket_.set(zmq::sockopt::reconnect_ivl, kReconnectMs);
  socket_.set(zmq::sockopt::reconnect_ivl_max, kReconnectMaxMs);
  events_ = SocketEvents(context_, socket_);
  told_failure_ = false;
  if (options_.keys && !ipc_path(options_.endpoint)) use_curve(socket_, *options_.keys);
  socket_.connect(options_.endpoint);
  connecting_ = true;
}

void Host::close_socket(int linger_ms) {
  outbox_.clear();
  connecting_ = false;
  if (!socket_) return;
  events_.close();
  socket_.set(zmq::sockopt::linger, linger_ms);
  socket_.close();
}

void Host::read_handshakes() {
  while (!exit_code_ && socket_) {
    const auto event = events_.next();
    if (!event) return;
    if (event->kind == SocketEvent::Kind::kKeyRefused) {
      step(event::Refused{
          "the daemon does not know this key; its operator adds the line of the .pub file to the "
          "list of authorized keys"});
    } else if (event->kind == SocketEvent::Kind::kHandshakeFailed && !told_failure_) {
      told_failure_ = true;
      spdlog::warn("no connection comes about with {}: {}; {}", options_.endpoint, event->text,
                   options_.keys ? "is --server-key the daemon's present key?"
                                 : "an encrypted endpoint needs --key and --server-key");
    }
  }
}

void Host::read_socket() {
  if (exit_code_ || !socket_) return;
  if (connecting_ && (socket_.get(zmq::sockopt::events) & ZMQ_POLLOUT) != 0) {
    connecting_ = false;
    step(event::Connected{});
  }
  zmq::message_t frame;
  for (int i = 0; i < kFramesAtOnce && !exit_code_ && socket_; ++i) {
    if (!socket_.recv(frame, zmq::recv_flags::dontwait)) return;
    auto decoded = decode_frame(frame.to_string_view());
    if (const auto* event = std::get_if<Event>(&decoded)) {
      warn_of_old_daemon(*wire::version_of(frame.to_string_view()));
      step(*event);
    } else {
      spdlog::error("a message from the daemon was ignored: {}", std::get<std::string>(decoded));
    }
  }
}

void Host::warn_of_old_daemon(wire::Version daemon) {
  if (options_.identity.labels.empty() || daemon >= kLabelsSince || told_old_daemon_) return;
  told_old_daemon_ = true;
  spdlog::warn("the daemon is too old for --label: it has no jobs that require one");
}

void Host::flush() {
  while (socket_ && !connecting_ && !outbox_.empty()) {
    zmq::const_buffer frame(outbox_.front().data(), outbox_.front().size());
    if (!socket_.send(frame, zmq::send_flags::dontwait)) return;
    outbox_.pop_front();
  }
}

// ---- Slots

void Host::serve_slots() {
  for (const auto& slot : slots_) {
    const auto ready = std::ranges::any_of(poll_items_, [&](const zmq::pollitem_t& item) {
      return item.socket == nullptr && item.fd == slot->fd() && item.revents != 0;
    });
    if (ready) slot->on_readable(slot_events_);
    if (monotonic_ns() >= slot->next_check_ns()) slot->on_check(slot_events_);
    handle_slot_events();
  }
}

void Host::handle_slot_events() {
  // Carrying out what one event leads to may bring more.
  while (!slot_events_.empty() && !exit_code_) {
    const std::vector<Event> events = std::exchange(slot_events_, {});
    for (const Event& event : events) step(event);
  }
  slot_events_.clear();
}

void Host::check_slots() {
  for (const auto& slot : slots_) {
    if (exit_code_ || slot->fatal().empty()) continue;
    spdlog::critical("{}", slot->fatal());
    exit_code_ = kExitBug;
  }
}

// ---- The session

void Host::tick() {
  for (const auto& slot : slots_) {
    if (!slot->idle()) step(slot->progress());
  }
  step(event::Tick{});
}

void Host::tell_alive() {
  service_manager::alive();
  alive_ns_ = monotonic_ns() + service_manager::watchdog_interval_ms() * kNsPerMs;
}

void Host::step(const Event& event) {
  if (exit_code_) return;
  Effects effects;
  session_.step(now_ms(), event, effects);
  carry_out(effects);
  if (session_.state() != state_ && !exit_code_) {
    state_ = session_.state();
    spdlog::info("{} ({})", name_of(state_), options_.endpoint);
    if (state_ == Session::State::kDraining) service_manager::stopping();
  }
}

void Host::carry_out(Effects& effects) {
  if (effects.close) {
    spdlog::warn("no answer from the daemon at {}, trying again", options_.endpoint);
    close_socket(0);
  }
  if (effects.open) open_socket();
  for (const Message& message : effects.messages) {
    outbox_.push_back(encode_message(options_.identity, message));
  }
  for (const Command& command : effects.commands) {
    std::visit([this](const auto& c) { carry_out(c); }, command);
  }
  if (effects.exit) {
    flush();
    const bool well = effects.exit->code == 0;
    spdlog::log(well ? spdlog::level::info : spdlog::level::err, "ending: {}", effects.exit->text);
    exit_code_ = effects.exit->code;
    return;
  }
  flush();
}

void Host::carry_out(const command::Start& c) { slots_[c.slot]->start(c.dispatch, slot_events_); }
void Host::carry_out(const command::Trim& c) { slots_[c.slot]->trim(slot_events_); }
void Host::carry_out(const command::Abort& c) { slots_[c.slot]->abort(slot_events_); }
void Host::carry_out(const command::Kill& c) { slots_[c.slot]->kill(); }

}  // namespace puzzled::host
