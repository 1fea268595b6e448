#include "client/connection.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <zmq.hpp>

#include "client/failure.h"
#include "client/interrupt.h"
#include "proto/base/assert.h"
#include "proto/base/paths.h"
#include "proto/base/units.h"
#include "proto/curve.h"
#include "proto/wire.h"

namespace puzzled::client {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kPingId = 0;  // requests count from 1
// How often the loops look whether they were interrupted between two system calls.
constexpr milliseconds kLookAround{200};
// More than this between two looks is an absence of ours.
constexpr milliseconds kAway{1'000};

}  // namespace

struct Connection::Sockets {
  zmq::context_t context{1};
  zmq::socket_t dealer;
  SocketEvents events;  // of the dealer: says when the connection breaks
};

Connection::Connection(ConnectionOptions options)
    : options_(std::move(options)), sockets_(std::make_unique<Sockets>()) {
  ASSERT(!options_.endpoints.empty());
  for (const std::string& endpoint : options_.endpoints) {
    if (const auto error = endpoint_error(endpoint, false)) {
      throw Failure(kExitInvalid, fmt::format("the endpoint \"{}\": {}", endpoint, *error),
                    "give one like ipc:///run/puzzled/client.sock or tcp://host:7400");
    }
  }
  choose_endpoint();
  open_socket();
  silent_since_ = looked_at_ = Clock::now();
}

Connection::~Connection() = default;

const std::string& Connection::endpoint() const { return options_.endpoints[endpoint_]; }

// The first whose socket exists, beginning with the one in use, so that several take turns.
void Connection::choose_endpoint() {
  const std::size_t count = options_.endpoints.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t candidate = (endpoint_ + i) % count;
    const auto path = ipc_path(options_.endpoints[candidate]);
    if (!path || ::access(path->c_str(), F_OK) == 0) {
      endpoint_ = candidate;
      return;
    }
  }
  endpoint_ = 0;
}

void Connection::open_socket() {
  sockets_->events.close();
  sockets_->dealer.close();
  zmq::socket_t dealer(sockets_->context, zmq::socket_type::dealer);
  dealer.set(zmq::sockopt::linger, 0);
  // Nothing is queued for a daemon that is not there: what could not be sent stays with us.
  dealer.set(zmq::sockopt::immediate, true);
  dealer.set(zmq::sockopt::reconnect_ivl, static_cast<int>(options_.retry_ms));
  dealer.set(zmq::sockopt::maxmsgsize,
             static_cast<std::int64_t>(wire::kMessageBytesMax + wire::kHeaderBytes));
  try {
    sockets_->events = SocketEvents(sockets_->context, dealer);
    if (options_.keys && !ipc_path(endpoint())) use_curve(dealer, *options_.keys);
    dealer.connect(endpoint());
  } catch (const zmq::error_t& error) {
    throw Failure(kExitInvalid,
                  fmt::format("cannot connect to \"{}\": {}", endpoint(), error.what()),
                  "check the endpoint");
  }
  sockets_->dealer = std::move(dealer);
  for (auto& [id, request] : unanswered_) request.sent = false;
  ping_sent_ = false;
  opened_at_ = Clock::now();
}

std::uint64_t Connection::send(proto::ClientRequest& request, bool prompt) {
  if (request.ByteSizeLong() > wire::kMessageBytesMax - wire::kHeaderBytes) {
    throw Failure(kExitInvalid, fmt::format("a message of {} is over the limit of {}",
                                            format_size(request.ByteSizeLong()),
                                            format_size(wire::kMessageBytesMax)));
  }
  if (unanswered_.empty()) silent_since_ = Clock::now();
  const std::uint64_t id = next_id_++;
  request.set_id(id);
  unanswered_.emplace(id, Request{wire::encode(wire::Role::kClient, request), prompt, false, {}});
  send_pending();
  return id;
}

void Connection::forget(std::uint64_t id) { unanswered_.erase(id); }

void Connection::send_pending() {
  for (auto& [id, request] : unanswered_) {
    if (request.sent) continue;
    const auto sent = sockets_->dealer.send(zmq::buffer(request.frame), zmq::send_flags::dontwait);
    if (!sent) return;  // not connected, or full: later, in order.
    request.sent = true;
    request.sent_at = Clock::now();
  }
}

void Connection::send_ping() {
  proto::ClientRequest request;
  request.set_id(kPingId);
  request.mutable_get_version();
  const std::string frame = wire::encode(wire::Role::kClient, request);
  if (sockets_->dealer.send(zmq::buffer(frame), zmq::send_flags::dontwait)) ping_sent_ = true;
}

std::optional<proto::ClientReply> Connection::receive(Clock::time_point until) {
  if (!stash_.empty()) {
    proto::ClientReply reply = std::move(stash_.front());
    stash_.pop_front();
    return reply;
  }
  proto::ClientReply reply;
  for (;;) {
    throw_if_interrupted();
    const Clock::time_point look = unanswered_.empty() ? until : std::min(until, check_silence());
    if (poll_once(look, reply)) return reply;
    if (Clock::now() >= until) return std::nullopt;
  }
}

proto::ClientReply Connection::call(proto::ClientRequest& request) {
  const std::uint64_t id = send(request);
  std::deque<proto::ClientReply> others;
  others.swap(stash_);
  for (;;) {
    std::optional<proto::ClientReply> reply = receive(Clock::time_point::max());
    ASSERT(reply);
    if (reply->id() == id) {
      stash_.insert(stash_.begin(), std::make_move_iterator(others.begin()),
                    std::make_move_iterator(others.end()));
      return std::move(*reply);
    }
    others.push_back(std::move(*reply));
  }
}

bool Connection::poll_once(Clock::time_point until, proto::ClientReply& reply) {
  const bool unsent =
      std::ranges::any_of(unanswered_, [](const auto& entry) { return !entry.second.sent; });
  zmq::pollitem_t items[] = {{sockets_->dealer.handle(), 0,
                              static_cast<short>(ZMQ_POLLIN | (unsent ? ZMQ_POLLOUT : 0)), 0},
                             {sockets_->events.handle(), 0, ZMQ_POLLIN, 0}};
  // At least 1 ms, or the last bit of the wait would spin.
  const auto left = std::clamp(
      std::chrono::ceil<milliseconds>(std::min(until - Clock::now(), Clock::duration(kLookAround))),
      milliseconds(0), kLookAround);
  if (zmq_poll(items, 2, left.count()) < 0 && zmq_errno() != EINTR) throw zmq::error_t();
  // What has arrived is read before what may have broken since.
  if (read_reply(reply)) return true;
  if ((items[1].revents & ZMQ_POLLIN) != 0 && read_events()) {
    lost("the connection to the daemon broke");
    return false;
  }
  if (unsent) send_pending();
  return false;
}

bool Connection::read_reply(proto::ClientReply& reply) {
  zmq::message_t frame;
  while (sockets_->dealer.recv(frame, zmq::recv_flags::dontwait)) {
    const wire::DecodeError error =
        wire::decode(frame.to_string_view(), wire::Role::kBroker,
                     wire::kMessageBytesMax + wire::kHeaderBytes, reply);
    if (error == wire::DecodeError::kOtherVersion) {
      throw Failure(kExitRefused, wire::describe_skew(frame.to_string_view(),
                                                      fmt::format("the daemon at {}", endpoint()),
                                                      "this puzzlectl (" PUZZLED_VERSION ")"));
    }
    if (error != wire::DecodeError::kNone) {
      throw Failure(kExitUnreachable,
                    fmt::format("what answers at {} is no puzzled daemon: {}", endpoint(),
                                wire::describe(error)),
                    "check the endpoint");
    }
    if (told_lost_ && options_.notice) options_.notice("the daemon is back");
    told_lost_ = false;
    ever_heard_ = true;
    daemon_minor_ = wire::version_of(frame.to_string_view())->minor;
    ping_sent_ = false;
    silent_since_ = Clock::now();
    // Id 0 is also how a daemon answers what it could not decode.
    if (reply.id() == kPingId && reply.has_error()) {
      throw Failure(kExitRefused, reply.error().message());
    }
    if (unanswered_.erase(reply.id()) > 0) return true;
  }
  return false;
}

bool Connection::read_events() {
  bool broke = false;
  while (const auto event = sockets_->events.next()) {
    switch (event->kind) {
      case SocketEvent::Kind::kDisconnected:
        broke = true;
        break;
      case SocketEvent::Kind::kKeyRefused:
        throw Failure(
            kExitRefused, fmt::format("the daemon at {} does not know this key", endpoint()),
            "its operator adds the line of your .pub file to the list of authorized keys");
      case SocketEvent::Kind::kHandshakeFailed:
        handshake_failure_ = event->text;
        break;
    }
  }
  // A connection that never came to be carried nothing; ZeroMQ tries again at its own pace.
  const bool carried =
      std::ranges::any_of(unanswered_, [](const auto& entry) { return entry.second.sent; });
  if (broke && !carried) ping_sent_ = false;
  return broke && carried;
}

void Connection::lost(std::string_view why) {
  if (ever_heard_ && !told_lost_ && !unanswered_.empty() && options_.notice) {
    options_.notice(fmt::format("{}; trying again", why));
    told_lost_ = true;
  }
  if (!ever_heard_) endpoint_ = (endpoint_ + 1) % options_.endpoints.size();
  choose_endpoint();
  open_socket();
}

Connection::Clock::time_point Connection::check_silence() {
  const Clock::time_point now = Clock::now();
  // While nobody listened (this program was stopped, or busy) the daemon was not silent.
  const Clock::duration away = now - std::exchange(looked_at_, now);
  if (away > kAway) silent_since_ += away;
  const milliseconds limit{ever_heard_ ? options_.patience_ms : options_.connect_timeout_ms};
  if (now - silent_since_ >= limit) give_up();
  Clock::time_point look = silent_since_ + limit;

  // Other candidates get their turn while this one cannot even be connected to (only then is
  // nothing sent).
  const bool connected =
      std::ranges::any_of(unanswered_, [](const auto& entry) { return entry.second.sent; });
  const bool stay = connected || ever_heard_ || options_.endpoints.size() == 1;
  const milliseconds liveness{stay ? options_.liveness_ms : 3 * options_.retry_ms};
  const Clock::time_point socket_since = std::max(silent_since_, opened_at_);
  if (now - socket_since >= liveness) {
    lost("the daemon does not answer");
    return std::min(look, now + liveness);
  }
  look = std::min(look, socket_since + liveness);

  const milliseconds ping{options_.ping_ms};
  if (!ping_sent_ && now - socket_since >= ping) send_ping();
  if (!ping_sent_) look = std::min(look, std::max(socket_since + ping, now + kLookAround));

  // A daemon that lives but never got (or never answered) a request: it is asked again.
  const milliseconds repeat{options_.repeat_ms};
  for (auto& [id, request] : unanswered_) {
    if (request.prompt && request.sent && now - request.sent_at >= repeat) request.sent = false;
  }
  return look;
}

void Connection::give_up() const {
  if (ever_heard_) {
    throw Failure(kExitUnreachable,
                  fmt::format("the daemon at {} has not answered for {}", endpoint(),
                              approximate_duration_us(options_.patience_ms * 1000ULL)),
                  "is it still running?");
  }
  if (!handshake_failure_.empty()) {
    throw Failure(
        kExitUnreachable,
        fmt::format("no connection comes about with {}: {}", endpoint(), handshake_failure_),
        options_.keys ? "is --server-key the daemon's present key, and is its endpoint "
                        "encrypted?"
                      : "an encrypted endpoint needs --key and --server-key");
  }
  throw Failure(
      kExitUnreachable,
      fmt::format("no daemon answers at {} (waited {})", fmt::join(options_.endpoints, " or "),
                  approximate_duration_us(options_.connect_timeout_ms * 1000ULL)),
      "start one with \"puzzled\", or name its endpoint with --endpoint or PUZZLED_ENDPOINT");
}

}  // namespace puzzled::client
