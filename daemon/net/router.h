// One ROUTER socket and the peers behind it: routing ids become PeerIds, and what cannot be sent
// now waits in a bounded queue per peer. Nothing here blocks.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#include <zmq.hpp>

#include "daemon/broker/types.h"
#include "daemon/net/options.h"

namespace puzzled {

class Router {
 public:
  struct Peer {
    std::string routing_id;
    std::string key;          // public key of its encrypted connection, Z85; empty: not encrypted
    bool over_limit = false;  // its key has too many connections
    std::int64_t last_heard_ms = 0;  // steady
    std::deque<zmq::message_t> unsent;
    std::uint64_t unsent_bytes = 0;  // with what each message costs
    std::int64_t last_taken_ms = 0;  // steady; when it last took something of `unsent`
    // Clients: ids of requests that have no reply yet.
    std::unordered_multiset<std::uint64_t> open_requests;
  };
  enum class Received : std::uint8_t {
    kNothing,  // no message is waiting
    kMessage,
    kBad,      // more than one frame: the sender is not ours; `frame` is empty
    kIgnored,  // the peer chose its own routing id; it gets nothing
    kTooMany,  // a new peer, over the limit: see answer_refused()
  };
  enum class Urgency : std::uint8_t { kUsual, kFirst };  // kFirst: before what is still unsent

  // `last_peer` is shared by all routers of a daemon, so that a PeerId names one connection.
  Router(zmq::context_t& context, const NetOptions& options, std::uint64_t& last_peer);

  [[nodiscard]] zmq::socket_t& socket() { return socket_; }

  Received receive(std::int64_t steady_ms, PeerId& peer, zmq::message_t& frame);

  // To the peer of the last kTooMany, if it takes it.
  void answer_refused(std::string frame);

  // Sends or queues. False: the peer is unknown or gone, or reads too slowly; it is forgotten.
  bool send(PeerId to, std::string frame, Urgency urgency = Urgency::kUsual);
  // Tries again what is queued; appends the peers that turned out to be gone or were cut off (and
  // are forgotten).
  void retry(std::int64_t steady_ms, std::vector<PeerId>& gone);
  [[nodiscard]] bool has_unsent() const { return !waiting_.empty(); }

  [[nodiscard]] Peer* find(PeerId peer);  // nullptr: unknown
  // Peers whose key is one that `is_unwelcome`. To be forgotten with forget().
  [[nodiscard]] std::vector<PeerId> peers_by_key(
      const std::function<bool(const std::string&)>& is_unwelcome) const;
  // REQUIRES: the peer is known. If its connection still lives it becomes a new peer.
  void forget(PeerId peer);
  // Forgets peers that were silent for `idle_ms` and have no open request, or took nothing of what
  // is unsent for as long; appends them.
  void forget_idle(std::int64_t steady_ms, std::int64_t idle_ms, std::vector<PeerId>& gone);
  [[nodiscard]] std::size_t peer_count() const { return peers_.size(); }
  [[nodiscard]] std::uint64_t unsent_bytes() const { return unsent_bytes_; }

 private:
  enum class Sent : std::uint8_t { kYes, kFull, kGone };

  Sent try_send(const std::string& routing_id, zmq::message_t& frame);
  void send_unsent(std::int64_t steady_ms, PeerId id, std::vector<PeerId>& gone);
  void cut_off_the_slowest();
  void learn_key(Peer& peer, zmq::message_t& frame);

  NetOptions options_;
  std::uint64_t& last_peer_;
  zmq::socket_t socket_;
  std::unordered_map<PeerId, Peer> peers_;
  std::unordered_map<std::string, PeerId> by_routing_id_;
  std::unordered_map<std::string, std::uint32_t> connections_;  // of each key
  std::unordered_set<PeerId> waiting_;                          // peers with something unsent
  std::uint64_t unsent_bytes_ = 0;                              // of all of them
  std::vector<PeerId> cut_off_;                                 // to be told by the next retry()
  std::string refused_;                                         // routing id of the last kTooMany
  std::int64_t now_ms_ = 0;  // steady; of the last receive() or retry()
};

}  // namespace puzzled
