// The queue between two threads: many may put, one takes all that is there at once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace puzzled {

// First in, first out. Unbounded: whoever puts bounds what is outstanding.
template <class T>
class Mailbox {
 public:
  void put(T letter) {
    {
      const std::lock_guard lock(mutex_);
      letters_.push_back(std::move(letter));
    }
    arrived_.notify_one();
  }

  // No more waiting: wait() returns at once from now on. What was put can still be taken.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    arrived_.notify_all();
  }
  [[nodiscard]] bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

  // All that is there now, maybe nothing.
  std::vector<T> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(letters_, {});
  }

  // Blocks until there is a letter or the box is closed, then as take().
  std::vector<T> wait() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return closed_ || !letters_.empty(); });
    return std::exchange(letters_, {});
  }

  // The same, but for `time` at most.
  std::vector<T> wait_for(std::chrono::microseconds time) {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, time, [this] { return closed_ || !letters_.empty(); });
    return std::exchange(letters_, {});
  }

  // Blocks for `time` whatever arrives; false: the box was closed before.
  bool sleep_unless_closed(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return !arrived_.wait_for(lock, time, [this] { return closed_; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<T> letters_;
  bool closed_ = false;
};

}  // namespace puzzled
