#include "daemon/net/read_queue.h"

#include <utility>

#include "proto/base/assert.h"

namespace puzzled {

bool ReadQueue::add(Read read) {
  if (waiting_count_ >= limits_.waiting_max) return false;
  const PeerId peer = read.peer;
  std::deque<Read>& queue = waiting_[peer];
  if (queue.size() >= limits_.client_waiting_max) return false;  // so it was not empty
  if (queue.empty()) turns_.push_back(peer);
  queue.push_back(std::move(read));
  ++waiting_count_;
  return true;
}

void ReadQueue::forget(PeerId peer) {
  const auto at = waiting_.find(peer);
  if (at == waiting_.end()) return;
  waiting_count_ -= at->second.size();
  waiting_.erase(at);
  std::erase(turns_, peer);
}

ReadQueue::Started ReadQueue::start_one(PeerId peer) {
  const auto at = waiting_.find(peer);
  Read read = std::move(at->second.front());
  at->second.pop_front();
  --waiting_count_;
  if (at->second.empty()) {
    waiting_.erase(at);
    turns_.pop_back();
  }
  Started started{++last_ticket_, std::exchange(read.query, {})};
  under_way_.emplace(last_ticket_, std::move(read));
  return started;
}

ReadQueue::Read ReadQueue::finish(std::uint64_t ticket) {
  auto node = under_way_.extract(ticket);
  ASSERT(!node.empty());
  return std::move(node.mapped());
}

}  // namespace puzzled
