// Deadlines. Lazy: moving a deadline later costs nothing, the entry is looked at when it is due.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "daemon/broker/types.h"

namespace puzzled::broker {

class Timers {
 public:
  enum class Kind : std::uint8_t { kSession, kUpload };
  struct Entry {
    std::int64_t at_ms = kNever;
    Kind kind = Kind::kSession;
    std::uint64_t id = 0;  // worker number or job
    friend bool operator>(const Entry& a, const Entry& b) {
      if (a.at_ms != b.at_ms) return a.at_ms > b.at_ms;
      if (a.kind != b.kind) return a.kind > b.kind;
      return a.id > b.id;
    }
  };

  // Makes sure that an entry comes up at `at_ms` or before. `armed_ms` is the owner's note of its
  // earliest entry (kNever: none); an entry that comes up at another time is an old one.
  void arm(std::int64_t at_ms, Kind kind, std::uint64_t id, std::int64_t& armed_ms) {
    if (armed_ms <= at_ms) return;
    armed_ms = at_ms;
    entries_.push({at_ms, kind, id});
  }
  [[nodiscard]] std::int64_t next() const {
    return entries_.empty() ? kNever : entries_.top().at_ms;
  }
  // The next entry that is due.
  std::optional<Entry> pop(std::int64_t now_ms) {
    if (next() > now_ms) return std::nullopt;
    const Entry entry = entries_.top();
    entries_.pop();
    return entry;
  }

 private:
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries_;
};

}  // namespace puzzled::broker
