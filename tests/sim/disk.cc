#include "tests/sim/disk.h"

#include <algorithm>
#include <utility>

namespace puzzled::sim {

void Disk::open(std::function<void(Report)> to) {
  to_ = std::move(to);
  ++opened_;
  busy_ = paused_ = false;
}

void Disk::crash() {
  ++opened_;
  queue_.clear();
  busy_ = false;
  submitted_ = committed_;
}

void Disk::flush() {
  if (sim_.now_ms < full_until_ms_) return;
  std::vector<Report> loaded;
  apply(queue_.size(), loaded);
}

void Disk::submit(Work work) {
  for (const Record& record : work.records) submitted_.apply(record);
  queue_.push_back(std::move(work));
  schedule();
}

void Disk::fill(std::int64_t ms) { full_until_ms_ = std::max(full_until_ms_, sim_.now_ms + ms); }

void Disk::schedule() {
  if (busy_ || queue_.empty()) return;
  busy_ = true;
  const std::size_t count = std::min(
      queue_.size(), static_cast<std::size_t>(sim_.random.from_to(1, params_.commit_steps)));
  sim_.after(sim_.random.from_to(0, params_.commit_ms), [this, count, opened = opened_] {
    if (opened == opened_) commit(count);
  });
}

void Disk::commit(std::size_t count) {
  std::vector<Report> loaded;
  if (fail_next_) {
    fail_next_ = false;
    // Nobody knows what an I/O error has left behind: all of the transaction, or nothing.
    if (sim_.random.one_in(2)) apply(count, loaded);
    return report(StoreFailed{});
  }
  if (sim_.now_ms < full_until_ms_) {
    if (!std::exchange(paused_, true)) report(event::IntakePaused{"no room"});
    sim_.after(params_.disk_retry_ms, [this, count, opened = opened_] {
      if (opened == opened_) commit(count);
    });
    return;
  }
  const std::uint64_t sequence = queue_[count - 1].sequence;
  apply(count, loaded);
  report(Committed{sequence});
  for (Report& one : loaded) report(std::move(one));
  if (std::exchange(paused_, false)) report(event::IntakeResumed{});
  busy_ = false;
  schedule();
}

// Loads see the records before them, and are told after the commit.
void Disk::apply(std::size_t count, std::vector<Report>& loaded) {
  for (std::size_t i = 0; i < count; ++i) {
    const Work& work = queue_.front();
    for (const Record& record : work.records) committed_.apply(record);
    for (const LoadChunk& load : work.loads) loaded.emplace_back(committed_.load(load));
    for (const CompareChunk& one : work.comparisons) loaded.emplace_back(committed_.compare(one));
    for (const LoadCanaries& one : work.canary_loads) {
      loaded.emplace_back(committed_.load_canaries(one));
    }
    queue_.pop_front();
  }
  sim_.note(1, count, [&] { return "disk: committed " + std::to_string(count) + " steps"; });
}

void Disk::report(Report what) {
  last_report_ms_ = std::max(last_report_ms_, sim_.now_ms + sim_.random.from_to(0, 2));
  sim_.after(last_report_ms_ - sim_.now_ms,
             [this, opened = opened_, one = std::move(what)]() mutable {
               if (opened == opened_) to_(std::move(one));
             });
}

}  // namespace puzzled::sim
