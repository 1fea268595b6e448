#include "daemon/net/router.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace puzzled {
namespace {

constexpr std::uint64_t kMessageCostBytes = 256;  // of a queued message, besides its frame

// Routing ids that ZeroMQ hands out are five bytes that start with zero; a peer cannot choose one
// that starts so. Only these are unique to a connection.
bool is_assigned(const zmq::message_t& routing_id) {
  return routing_id.size() == 5 && *routing_id.data<char>() == '\0';
}

// What an interrupted call means to us is the same as "not now".
bool is_interrupted(const zmq::error_t& error) { return error.num() == EINTR; }

// A message that owns `frame` without copying it.
zmq::message_t own(std::string frame) {
  auto owned = std::make_unique<std::string>(std::move(frame));
  zmq::message_t message(
      owned->data(), owned->size(),
      [](void*, void* hint) { delete static_cast<std::string*>(hint); }, owned.get());
  static_cast<void>(owned.release());
  return message;
}

constexpr int kKeepaliveIdleS = 30;
constexpr int kKeepaliveIntervalS = 10;
constexpr int kKeepaliveProbes = 3;
constexpr int kUnacknowledgedMs = 60'000;

}  // namespace

Router::Router(zmq::context_t& context, const NetOptions& options, std::uint64_t& last_peer)
    : options_(options), last_peer_(last_peer), socket_(context, zmq::socket_type::router) {
  const int messages = static_cast<int>(options.socket_messages_max);
  socket_.set(zmq::sockopt::router_mandatory, true);
  socket_.set(zmq::sockopt::sndhwm, messages);
  socket_.set(zmq::sockopt::rcvhwm, messages);
  socket_.set(zmq::sockopt::linger, static_cast<int>(options.linger_ms));
  // The codec refuses what is over the daemon's own limit with a reply; over the protocol's limit
  // the connection is cut.
  socket_.set(zmq::sockopt::maxmsgsize,
              static_cast<std::int64_t>(wire::kMessageBytesMax + wire::kHeaderBytes));
  socket_.set(zmq::sockopt::backlog, 1'024);
  socket_.set(zmq::sockopt::handshake_ivl, 10'000);
  // Dead TCP peers, and those that let nothing through, are found by the kernel within a minute;
  // the liveness of workers has heartbeats of its own. Not by ZeroMQ's heartbeats: it looks for a
  // timer among those of all connections, which with ten thousand of them costs more than
  // everything else.
  socket_.set(zmq::sockopt::tcp_keepalive, 1);
  socket_.set(zmq::sockopt::tcp_keepalive_idle, kKeepaliveIdleS);
  socket_.set(zmq::sockopt::tcp_keepalive_intvl, kKeepaliveIntervalS);
  socket_.set(zmq::sockopt::tcp_keepalive_cnt, kKeepaliveProbes);
  socket_.set(zmq::sockopt::tcp_maxrt, kUnacknowledgedMs);
  socket_.set(zmq::sockopt::ipv6, true);
}

// ZeroMQ hands the user id that ZAP gave a connection with each of its messages.
void Router::learn_key(Peer& peer, zmq::message_t& frame) {
  const char* key = ::zmq_msg_gets(frame.handle(), "User-Id");
  if (key == nullptr || *key == '\0') return;
  peer.key = key;
  peer.over_limit = ++connections_[peer.key] > options_.key_connections_max;
}

Router::Received Router::receive(std::int64_t steady_ms, PeerId& peer, zmq::message_t& frame) {
  zmq::message_t routing_id;
  try {
    if (!socket_.recv(routing_id, zmq::recv_flags::dontwait)) return Received::kNothing;
  } catch (const zmq::error_t& error) {
    if (is_interrupted(error)) return Received::kNothing;
    throw;
  }
  int frames = 0;
  for (bool more = routing_id.more(); more; ++frames) {
    // The parts of one message arrive together, so this waits for nothing.
    if (!socket_.recv(frame)) break;
    more = frame.more();
  }
  if (!is_assigned(routing_id)) return Received::kIgnored;
  now_ms_ = steady_ms;
  std::string id = routing_id.to_string();
  const auto known = by_routing_id_.find(id);
  if (known != by_routing_id_.end()) {
    peer = known->second;
  } else if (peers_.size() >= options_.connections_max) {
    refused_ = std::move(id);
    return Received::kTooMany;
  } else {
    peer = {++last_peer_};
    by_routing_id_.emplace(id, peer);
    Peer& added = peers_[peer];
    added.routing_id = std::move(id);
    learn_key(added, frame);
  }
  peers_[peer].last_heard_ms = steady_ms;
  if (frames == 1) return Received::kMessage;
  frame.rebuild();
  return Received::kBad;
}

Router::Sent Router::try_send(const std::string& to, zmq::message_t& frame) {
  try {
    zmq::message_t routing_id(to.data(), to.size());
    constexpr auto kFlags = zmq::send_flags::dontwait;
    if (!socket_.send(routing_id, kFlags | zmq::send_flags::sndmore)) return Sent::kFull;
    if (!socket_.send(frame, kFlags)) return Sent::kFull;
    return Sent::kYes;
  } catch (const zmq::error_t& error) {
    if (error.num() == EHOSTUNREACH) return Sent::kGone;
    if (is_interrupted(error)) return Sent::kFull;
    throw;
  }
}

void Router::answer_refused(std::string frame) {
  zmq::message_t message = own(std::move(frame));
  static_cast<void>(try_send(refused_, message));
}

bool Router::send(PeerId to, std::string frame, Urgency urgency) {
  Peer* peer = find(to);
  if (peer == nullptr) return false;
  zmq::message_t message = own(std::move(frame));
  if (peer->unsent.empty()) {
    const Sent sent = try_send(peer->routing_id, message);
    if (sent == Sent::kYes) return true;
    if (sent == Sent::kGone) {
      forget(to);
      return false;
    }
    peer->last_taken_ms = now_ms_;
  }
  const std::uint64_t bytes = message.size() + kMessageCostBytes;
  if (peer->unsent_bytes + bytes > options_.peer_queue_bytes_max) {
    spdlog::warn("a peer is cut off: {} bytes wait for it to read them", peer->unsent_bytes);
    forget(to);
    return false;
  }
  peer->unsent_bytes += bytes;
  unsent_bytes_ += bytes;
  urgency == Urgency::kFirst ? peer->unsent.push_front(std::move(message))
                             : peer->unsent.push_back(std::move(message));
  waiting_.insert(to);
  if (unsent_bytes_ > options_.endpoint_queue_bytes_max) cut_off_the_slowest();
  return true;
}

void Router::cut_off_the_slowest() {
  const PeerId slowest = *std::ranges::max_element(
      waiting_, {}, [&](PeerId id) { return peers_.at(id).unsent_bytes; });
  spdlog::warn("a peer is cut off: {} of the {} bytes that wait for slow readers are its",
               peers_.at(slowest).unsent_bytes, unsent_bytes_);
  forget(slowest);
  cut_off_.push_back(slowest);
}

void Router::retry(std::int64_t steady_ms, std::vector<PeerId>& gone) {
  now_ms_ = steady_ms;
  gone.insert(gone.end(), cut_off_.begin(), cut_off_.end());
  cut_off_.clear();
  const std::vector<PeerId> waiting(waiting_.begin(), waiting_.end());
  for (const PeerId id : waiting) send_unsent(steady_ms, id, gone);
}

void Router::send_unsent(std::int64_t steady_ms, PeerId id, std::vector<PeerId>& gone) {
  Peer& peer = peers_.at(id);
  Sent sent = Sent::kYes;
  while (!peer.unsent.empty()) {
    const std::uint64_t bytes = peer.unsent.front().size() + kMessageCostBytes;
    sent = try_send(peer.routing_id, peer.unsent.front());
    if (sent != Sent::kYes) break;
    peer.unsent.pop_front();
    peer.unsent_bytes -= bytes;
    unsent_bytes_ -= bytes;
    peer.last_taken_ms = steady_ms;
  }
  if (peer.unsent.empty()) waiting_.erase(id);
  if (sent == Sent::kGone) {
    forget(id);
    gone.push_back(id);
  }
}

Router::Peer* Router::find(PeerId peer) {
  const auto at = peers_.find(peer);
  return at == peers_.end() ? nullptr : &at->second;
}

void Router::forget(PeerId peer) {
  const auto at = peers_.find(peer);
  if (const auto used = connections_.find(at->second.key);
      used != connections_.end() && --used->second == 0) {
    connections_.erase(used);
  }
  by_routing_id_.erase(at->second.routing_id);
  waiting_.erase(peer);
  unsent_bytes_ -= at->second.unsent_bytes;
  peers_.erase(at);
}

std::vector<PeerId> Router::peers_by_key(
    const std::function<bool(const std::string&)>& is_unwelcome) const {
  std::vector<PeerId> found;
  for (const auto& [id, peer] : peers_) {
    if (is_unwelcome(peer.key)) found.push_back(id);
  }
  return found;
}

void Router::forget_idle(std::int64_t steady_ms, std::int64_t idle_ms, std::vector<PeerId>& gone) {
  const std::size_t first = gone.size();
  for (const auto& [id, peer] : peers_) {
    const bool is_silent = steady_ms - peer.last_heard_ms >= idle_ms && peer.open_requests.empty();
    const bool is_deaf = !peer.unsent.empty() && steady_ms - peer.last_taken_ms >= idle_ms;
    if (is_deaf)
      spdlog::warn("a peer is cut off: it takes none of its {} bytes", peer.unsent_bytes);
    if (is_silent || is_deaf) gone.push_back(id);
  }
  for (std::size_t i = first; i < gone.size(); ++i) forget(gone[i]);
}

}  // namespace puzzled
