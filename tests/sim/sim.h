// The one clock of a run, what is due when, and the trace. Whoever finds a rule broken throws
// Violation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/random.h"

namespace puzzled::sim {

// A rule that was broken. `invariant` is its number in ARCHITECTURE.md; 0: another rule.
struct Violation {
  int invariant = 0;
  std::string text;
};

template <class Text>
void require(bool holds, int invariant, Text&& text) {
  if (!holds) throw Violation{invariant, text()};
}

class Sim {
 public:
  // With `lines_max` > 0 the last so many events are kept as text.
  Sim(std::uint64_t seed, std::size_t lines_max)
      : random(seed), fleet(seed ^ 0xf1ee7f1ee7f1ee7fULL), lines_max_(lines_max) {}

  Random random;
  Random fleet;  // what differs between workers, and the operator: a stream of their own
  std::int64_t now_ms = 0;
  std::uint64_t events = 0;
  std::uint64_t hash = 0;  // of all notes: two runs of a seed have the same

  void after(std::int64_t ms, std::function<void()> what) {
    queue_.push_back({now_ms + std::max<std::int64_t>(ms, 0), ++sequence_, std::move(what)});
    std::push_heap(queue_.begin(), queue_.end());
  }
  // Moves the clock to the next event and lets it happen; false: there is none.
  bool run_one() {
    if (queue_.empty()) return false;
    std::pop_heap(queue_.begin(), queue_.end());
    Entry entry = std::move(queue_.back());
    queue_.pop_back();
    now_ms = entry.at_ms;
    ++events;
    entry.what();
    return true;
  }

  // Every note goes into the hash by its numbers; `text` is only called if lines are kept.
  template <class Text>
  void note(std::uint64_t what, std::uint64_t number, Text&& text) {
    fold(static_cast<std::uint64_t>(now_ms));
    fold(what);
    fold(number);
    if (lines_max_ == 0) return;
    lines_.push_back("[" + std::to_string(now_ms) + " ms] " + text());
    if (lines_.size() > lines_max_) lines_.pop_front();
  }
  void fold(std::uint64_t number) {
    hash = (hash ^ number) * 0x9fb21c651e98df25ULL;
    hash ^= hash >> 29U;
  }
  [[nodiscard]] const std::deque<std::string>& lines() const { return lines_; }

 private:
  struct Entry {
    std::int64_t at_ms = 0;
    std::uint64_t sequence = 0;  // what was asked for first happens first
    std::function<void()> what;
    bool operator<(const Entry& other) const {
      return at_ms != other.at_ms ? at_ms > other.at_ms : sequence > other.sequence;
    }
  };

  std::size_t lines_max_;
  std::deque<std::string> lines_;
  std::vector<Entry> queue_;
  std::uint64_t sequence_ = 0;
};

}  // namespace puzzled::sim
