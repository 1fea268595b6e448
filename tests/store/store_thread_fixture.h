// A store's thread with somebody who takes its reports.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "daemon/store/store.h"
#include "daemon/store/store_thread.h"
#include "tests/store/support.h"

namespace puzzled {

// Waits for reports as the reactor does. The time limit only ends a test that hangs.
class Waiter {
 public:
  void wake() {
    const std::lock_guard lock(mutex_);
    ++wakes_;
    changed_.notify_one();
  }
  template <class Until>
  bool wait(const Until& until) {
    for (;;) {
      if (until()) return true;
      std::unique_lock lock(mutex_);
      if (!changed_.wait_for(lock, std::chrono::seconds(60), [&] { return wakes_ > seen_; })) {
        return false;
      }
      seen_ = wakes_;
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t wakes_ = 0;
  std::uint64_t seen_ = 0;
};

class StoreThreadTest : public ::testing::Test {
 protected:
  void start(const std::string& path, StoreOptions options = {}) {
    options.lock_wait_ms = 10;
    options.retry_ms = 5;
    options.snapshot_ms_max = 5;
    thread_ = std::make_unique<StoreThread>(Store::open(path, options), options,
                                            [this] { waiter_.wake(); });
  }
  void start() { start(path_); }
  template <class T>
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        reports_, [](const auto& report) { return std::holds_alternative<T>(report); }));
  }
  template <class T>
  [[nodiscard]] const T& first() const {
    return std::get<T>(*std::ranges::find_if(
        reports_, [](const auto& report) { return std::holds_alternative<T>(report); }));
  }
  [[nodiscard]] std::uint64_t durable() const {
    std::uint64_t sequence = 0;
    for (const auto& report : reports_) {
      const auto* durable = std::get_if<StoreThread::Durable>(&report);
      if (durable == nullptr) continue;
      EXPECT_GT(durable->sequence, sequence);
      sequence = durable->sequence;
    }
    return sequence;
  }
  template <class Until>
  bool wait(const Until& until) {
    return waiter_.wait([&] {
      for (auto& report : thread_->take()) reports_.push_back(std::move(report));
      return until();
    });
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("puzzled.db");
  Waiter waiter_;
  std::vector<StoreThread::Report> reports_;
  std::unique_ptr<StoreThread> thread_;
};

}  // namespace puzzled
