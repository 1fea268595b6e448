// Queries that wait for the reader's thread. Clients take turns, few are under way at once, and a
// client that does not read its replies gets no further ones made: so what waits in memory for slow
// clients is bounded, and one that asks much does not hold up others.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "daemon/broker/types.h"
#include "daemon/store/query.h"

namespace puzzled {

class ReadQueue {
 public:
  struct Limits {
    std::uint32_t waiting_max = 0;         // of all clients
    std::uint32_t client_waiting_max = 0;  // of one
    std::uint32_t under_way_max = 0;
  };
  struct Read {
    PeerId peer;
    std::uint64_t request = 0;
    query::Query query;
  };
  struct Started {
    std::uint64_t ticket = 0;
    query::Query query;
  };

  explicit ReadQueue(const Limits& limits) : limits_(limits) {}

  // False: too many are waiting, of all or of this client.
  bool add(Read read);
  // Drops what waits for a client. What is under way is answered to nobody.
  void forget(PeerId peer);
  // The next one to hand to the reader's thread, of a client that `may_read`.
  template <class MayRead>
  std::optional<Started> start(const MayRead& may_read) {
    for (std::size_t left = turns_.size(); left > 0 && has_room(); --left) {
      const PeerId peer = turns_.front();
      turns_.pop_front();
      turns_.push_back(peer);
      if (may_read(peer)) return start_one(peer);
    }
    return std::nullopt;
  }
  // Who asked, and the request's id (the query itself is gone). REQUIRES: started, not yet
  // finished.
  Read finish(std::uint64_t ticket);

  [[nodiscard]] std::size_t waiting() const { return waiting_count_; }

 private:
  [[nodiscard]] bool has_room() const { return under_way_.size() < limits_.under_way_max; }
  Started start_one(PeerId peer);  // REQUIRES: the last of turns_

  const Limits limits_;
  std::deque<PeerId> turns_;  // clients with something waiting
  std::unordered_map<PeerId, std::deque<Read>> waiting_;
  std::size_t waiting_count_ = 0;
  std::unordered_map<std::uint64_t, Read> under_way_;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace puzzled
