// The network between one daemon and all others. A connection keeps the order of its messages; when
// it breaks, all in flight is lost, and the socket connects again by itself, as another peer.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <variant>

#include "daemon/broker/effect.h"
#include "daemon/broker/event.h"
#include "tests/sim/params.h"
#include "tests/sim/sim.h"

namespace puzzled::sim {

using FromDaemon = std::variant<ClientMessage, WorkerMessage>;

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual void connected() = 0;  // once for each socket
  virtual void receive(const FromDaemon& message) = 0;
};

struct Line {  // one socket
  template <class What>
  using Pipe = std::deque<std::pair<std::int64_t, What>>;  // when it arrives

  Endpoint* end = nullptr;  // nullptr: closed; what was sent may still arrive
  PeerId peer;              // 0: not connected
  bool was_connected = false;
  bool connecting = false;
  std::deque<Event> outbox;  // waits for a connection
  Pipe<Event> up;
  Pipe<FromDaemon> down;
  std::int64_t blocked_until_ms = 0;
  bool drops_up = false;  // while blocked; else messages wait
  bool drops_down = false;
};
using LinePtr = std::shared_ptr<Line>;

class Network {
 public:
  Network(Sim& sim, const Params& params) : sim_(sim), params_(params) {}

  // ---- The daemon's side.
  void bind(std::function<void(Event)> to_daemon);
  void unbind();                                    // all connections break
  bool send(PeerId to, const FromDaemon& message);  // false: the peer is gone

  // ---- The others' side.
  LinePtr open(Endpoint& end);
  void close(const LinePtr& line, bool lingers);
  void send(const LinePtr& line, Event event);

  // ---- Faults.
  void cut(const LinePtr& line);
  void block(const LinePtr& line, std::int64_t ms, bool drops_up, bool drops_down);
  // From now on nothing is blocked, and messages arrive before anybody can lose patience.
  void heal() { faulty_ = false; }

 private:
  [[nodiscard]] bool blocked(const Line& line) const {
    return faulty_ && sim_.now_ms < line.blocked_until_ms;
  }
  [[nodiscard]] std::int64_t delay_ms();
  void connect_later(const LinePtr& line);
  void connect(const LinePtr& line);
  void push_up(const LinePtr& line, Event event);
  void pump_up(const LinePtr& line);
  void pump_down(const LinePtr& line);
  void pump_later(const LinePtr& line, std::int64_t at_ms, void (Network::*pump)(const LinePtr&));
  template <class What>
  std::int64_t arrival(const Line::Pipe<What>& pipe);

  Sim& sim_;
  const Params& params_;
  std::function<void(Event)> to_daemon_;
  std::uint64_t last_peer_ = 0;
  std::unordered_map<PeerId, LinePtr> by_peer_;
  bool faulty_ = true;
};

}  // namespace puzzled::sim
