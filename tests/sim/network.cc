#include "tests/sim/network.h"

#include <algorithm>
#include <vector>

namespace puzzled::sim {

void Network::bind(std::function<void(Event)> to_daemon) {
  to_daemon_ = std::move(to_daemon);
  last_peer_ = 0;  // as in the daemon: peers are numbered from 1 in each boot
}

void Network::unbind() {
  to_daemon_ = nullptr;
  std::vector<LinePtr> lines;
  for (std::uint64_t peer = 1; peer <= last_peer_; ++peer) {
    if (const auto it = by_peer_.find(PeerId{peer}); it != by_peer_.end())
      lines.push_back(it->second);
  }
  for (const LinePtr& line : lines) cut(line);
}

LinePtr Network::open(Endpoint& end) {
  auto line = std::make_shared<Line>();
  line->end = &end;
  connect_later(line);
  return line;
}

void Network::close(const LinePtr& line, bool lingers) {
  if (line == nullptr) return;
  line->end = nullptr;
  line->down.clear();
  line->outbox.clear();
  if (!lingers || line->up.empty()) cut(line);
}

void Network::cut(const LinePtr& line) {
  if (line == nullptr || line->peer == PeerId{}) return;
  by_peer_.erase(line->peer);
  line->peer = PeerId{};
  line->up.clear();
  line->down.clear();
  connect_later(line);
}

void Network::connect_later(const LinePtr& line) {
  if (line->end == nullptr || std::exchange(line->connecting, true)) return;
  const std::int64_t max_ms =
      faulty_ ? params_.reconnect_ms
              : std::min<std::int64_t>(params_.reconnect_ms, params_.broker.liveness_ms / 4);
  sim_.after(sim_.random.from_to(0, max_ms), [this, line] { connect(line); });
}

void Network::connect(const LinePtr& line) {
  line->connecting = false;
  if (line->end == nullptr || line->peer != PeerId{}) return;
  if (!to_daemon_ || blocked(*line)) return connect_later(line);
  line->peer = PeerId{++last_peer_};
  by_peer_[line->peer] = line;
  for (Event& event : std::exchange(line->outbox, {})) push_up(line, std::move(event));
  if (!std::exchange(line->was_connected, true)) line->end->connected();
}

void Network::block(const LinePtr& line, std::int64_t ms, bool drops_up, bool drops_down) {
  if (line == nullptr) return;
  line->blocked_until_ms = sim_.now_ms + ms;
  line->drops_up = drops_up;
  line->drops_down = drops_down;
}

std::int64_t Network::delay_ms() {
  const std::int64_t patience_ms = params_.broker.heartbeat_interval_ms / 4;
  return sim_.random.from_to(0,
                             faulty_ ? params_.delay_ms : std::min(params_.delay_ms, patience_ms));
}

template <class What>
std::int64_t Network::arrival(const Line::Pipe<What>& pipe) {
  const std::int64_t at_ms = sim_.now_ms + delay_ms();
  return pipe.empty() ? at_ms : std::max(at_ms, pipe.back().first);
}

void Network::pump_later(const LinePtr& line, std::int64_t at_ms,
                         void (Network::*pump)(const LinePtr&)) {
  sim_.after(at_ms - sim_.now_ms, [this, line, pump] { (this->*pump)(line); });
}

void Network::send(const LinePtr& line, Event event) {
  if (line->peer == PeerId{}) return line->outbox.push_back(std::move(event));
  push_up(line, std::move(event));
}

void Network::push_up(const LinePtr& line, Event event) {
  if (blocked(*line) && line->drops_up) return;
  line->up.emplace_back(arrival(line->up), std::move(event));
  pump_later(line, line->up.back().first, &Network::pump_up);
}

bool Network::send(PeerId to, const FromDaemon& message) {
  const auto it = by_peer_.find(to);
  if (it == by_peer_.end()) return false;
  const LinePtr line = it->second;
  if (line->end == nullptr || (blocked(*line) && line->drops_down)) return true;
  line->down.emplace_back(arrival(line->down), message);
  pump_later(line, line->down.back().first, &Network::pump_down);
  return true;
}

void Network::pump_up(const LinePtr& line) {
  while (!line->up.empty() && line->up.front().first <= sim_.now_ms) {
    if (blocked(*line)) return pump_later(line, line->blocked_until_ms, &Network::pump_up);
    Event event = std::move(line->up.front().second);
    line->up.pop_front();
    std::visit(
        [&](auto& e) {
          if constexpr (requires { e.peer; }) e.peer = line->peer;
        },
        event);
    if (to_daemon_) to_daemon_(std::move(event));
  }
  if (line->end == nullptr && line->up.empty()) cut(line);
}

void Network::pump_down(const LinePtr& line) {
  while (line->end != nullptr && !line->down.empty() && line->down.front().first <= sim_.now_ms) {
    if (blocked(*line)) return pump_later(line, line->blocked_until_ms, &Network::pump_down);
    const FromDaemon message = std::move(line->down.front().second);
    line->down.pop_front();
    line->end->receive(message);
  }
}

}  // namespace puzzled::sim
