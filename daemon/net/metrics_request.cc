#include "daemon/net/metrics_request.h"

#include <utility>

namespace puzzled {

std::optional<Metrics> MetricsRequest::ask(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (closed_) return std::nullopt;
  // An answer that is under way may be older than this question; the next one is not.
  const std::uint64_t before = answers_;
  asked_ = true;
  wake_();
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
