// Where the thread that serves metrics meets the reactor: it asks for the figures of this moment
// and waits; nothing else is shared.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "daemon/net/metrics.h"

namespace puzzled {

class MetricsRequest {
 public:
  // `wake` makes the reactor look at asked() soon; any thread.
  explicit MetricsRequest(std::function<void()> wake) : wake_(std::move(wake)) {}

  // What the reactor answers from now on. Nothing: not within `timeout`, or there is no reactor any
  // more.
  std::optional<Metrics> ask(std::chrono::milliseconds timeout);

  // ---- For the reactor's thread.
  [[nodiscard]] bool asked() const { return asked_; }
  void answer(Metrics metrics);
  // Nobody answers from now on; who waits gets nothing.
  void close();

 private:
  std::function<void()> wake_;
  std::atomic<bool> asked_{false};
  std::mutex mutex_;
  std::condition_variable answered_;
  std::optional<Metrics> answer_;
  std::uint64_t answers_ = 0;
  bool closed_ = false;
};

}  // namespace puzzled
