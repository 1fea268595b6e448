// How long a page of query results may hold its snapshot.
#pragma once

#include <chrono>
#include <cstdint>

namespace puzzled {

// A snapshot keeps the write-ahead log from starting again, so a page ends when its time is over,
// however few rows it has. Whoever asks goes on from there with a new one.
class PageClock {
 public:
  explicit PageClock(std::uint32_t ms_max) : time_(ms_max) {}

  void start() { end_ = Clock::now() + time_; }
  [[nodiscard]] bool is_over() const { return Clock::now() >= end_; }

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::milliseconds time_;
  Clock::time_point end_;
};

}  // namespace puzzled
