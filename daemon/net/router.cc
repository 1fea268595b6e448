#include "daemon/net/router.h"

#include <memory>
#include <utility>

namespace puzzled {
namespace {

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
  // Finds dead TCP peers; the liveness of workers has heartbeats of its own.
  socket_.set(zmq::sockopt::heartbeat_ivl, 10'000);
  socket_.set(zmq::sockopt::heartbeat_timeout, 30'000);
  socket_.set(zmq::sockopt::ipv6, true);
}

PeerId Router::peer_of(const zmq::message_t& routing_id) {
  const auto [at, is_new] = by_routing_id_.try_emplace(routing_id.to_string());
  if (is_new) {
    at->second = {++last_peer_};
    peers_[at->second].routing_id = at->first;
  }
  return at->second;
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
  const std::size_t known = peers_.size();
  int frames = 0;
  for (bool more = routing_id.more(); more; ++frames) {
    // The parts of one message arrive together, so this waits for nothing.
    if (!socket_.recv(frame)) break;
    more = frame.more();
  }
  if (!is_assigned(routing_id)) return Received::kIgnored;
  peer = peer_of(routing_id);
  Peer& sender = peers_[peer];
  sender.last_heard_ms = steady_ms;
  if (peers_.size() > known) learn_key(sender, frame);
  if (frames == 1) return Received::kMessage;
  frame.rebuild();
  return Received::kBad;
}

Router::Sent Router::try_send(const Peer& peer, zmq::message_t& frame) {
  try {
    zmq::message_t routing_id(peer.routing_id.data(), peer.routing_id.size());
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

bool Router::send(PeerId to, std::string frame) {
  Peer* peer = find(to);
  if (peer == nullptr) return false;
  zmq::message_t message = own(std::move(frame));
  if (peer->unsent.empty()) {
    const Sent sent = try_send(*peer, message);
    if (sent == Sent::kYes) return true;
    if (sent == Sent::kGone) {
      forget(to);
      return false;
    }
  }
  if (peer->unsent_bytes + message.size() > options_.peer_queue_bytes_max) {
    forget(to);
    return false;
  }
  peer->unsent_bytes += message.size();
  peer->unsent.push_back(std::move(message));
  waiting_.insert(to);
  return true;
}

void Router::retry(std::vector<PeerId>& gone) {
  const std::vector<PeerId> waiting(waiting_.begin(), waiting_.end());
  for (const PeerId id : waiting) {
    Peer& peer = peers_.at(id);
    Sent sent = Sent::kYes;
    while (!peer.unsent.empty()) {
      const std::size_t bytes = peer.unsent.front().size();
      sent = try_send(peer, peer.unsent.front());
      if (sent != Sent::kYes) break;
      peer.unsent.pop_front();
      peer.unsent_bytes -= bytes;
    }
    if (peer.unsent.empty()) waiting_.erase(id);
    if (sent == Sent::kGone) {
      forget(id);
      gone.push_back(id);
    }
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
    if (steady_ms - peer.last_heard_ms >= idle_ms && peer.open_requests.empty()) gone.push_back(id);
  }
  for (std::size_t i = first; i < gone.size(); ++i) forget(gone[i]);
}

}  // namespace puzzled
