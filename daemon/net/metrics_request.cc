#include "daemon/net/metrics_request.h"

#include <utility>

namespace puzzled {

std::optional<Metrics> MetricsRequest::ask(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (closed_) return std::nullopt;
  const std::uint64_t before = answers_;
  asked_ = true;
  lock.unlock();  // who is woken may answer at once, with locks of its own
  wake_();
  lock.lock();
  answered_.wait_for(lock, timeout, [&] { return closed_ || answers_ > before; });
  return answers_ > before ? answer_ : std::nullopt;
}

void MetricsRequest::answer(Metrics metrics) {
  {
    const std::lock_guard lock(mutex_);
    asked_ = false;
    ++answers_;
    answer_ = std::move(metrics);
  }
  answered_.notify_all();
}

void MetricsRequest::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  answered_.notify_all();
}

}  // namespace puzzled
