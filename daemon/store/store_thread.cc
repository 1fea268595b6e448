#include "daemon/store/store_thread.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <thread>
#include <utility>

#include "daemon/store/store.h"
#include "proto/base/mailbox.h"

namespace puzzled {
namespace {

constexpr std::uint64_t kRecordBytes = 128;  // what a record or a row costs besides its texts

struct Size {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
};

Size size_of(const Record& record) {
  if (const auto* results = std::get_if<record::InsertResults>(&record)) {
    const std::uint64_t body = results->results.body ? results->results.body->size() : 0;
    return {results->rows.size(), kRecordBytes * (1 + results->rows.size()) + body};
  }
  if (const auto* chunk = std::get_if<record::InsertChunk>(&record)) {
    std::uint64_t bytes = kRecordBytes + (chunk->cases ? chunk->cases->bytes.size() : 0);
    for (const FileEntry& file : chunk->files) bytes += kRecordBytes + file.path.size();
    return {chunk->files.size(), bytes};
  }
  return {1, kRecordBytes};
}

bool begins_upload(const Record& record) {
  return std::holds_alternative<record::InsertJob>(record);
}
bool continues_upload(const Record& record) {
  return begins_upload(record) || std::holds_alternative<record::InsertChunk>(record);
}

}  // namespace

struct StoreThread::Impl {
  struct Queued {
    Work work;
    Size size;
  };
  enum class Outcome { kDone, kPaused, kFailed };

  Impl(std::unique_ptr<Store> opened, const StoreOptions& limits,
       std::function<void()> wake_reactor)
      : store(std::move(opened)),
        options(limits),
        wake(std::move(wake_reactor)),
        thread([this] { run(); }) {}

  void run();
  void take_in(std::vector<Queued> letters);
  void await_uploads();
  std::size_t batch_size() const;
  Outcome write_batch(std::size_t count);
  void try_batch(std::size_t count, std::vector<Report>& reports);
  void pause(const std::string& reason);
  Outcome fail(const sqlite::Error& error);
  void report(Report report) {
    reports.put(std::move(report));
    wake();
  }

  std::unique_ptr<Store> store;
  const StoreOptions options;
  std::function<void()> wake;
  Mailbox<Queued> inbox;
  Mailbox<Report> reports;
  std::atomic<std::uint64_t> queued_bytes{0};
  std::deque<Queued> queue;  // of the store's thread only
  bool paused = false;
  std::thread thread;  // last: it uses all of the above
};

void StoreThread::Impl::run() {
  for (;;) {
    // With work left, only look; else sleep until there is some.
    take_in(queue.empty() ? inbox.wait() : inbox.take());
    await_uploads();
    if (queue.empty()) {
      if (inbox.closed()) return;
      continue;
    }
    switch (write_batch(batch_size())) {
      case Outcome::kDone:
        break;
      case Outcome::kPaused:
        // At the end there is no second try: what was not acknowledged may be lost.
        if (!inbox.sleep_unless_closed(std::chrono::milliseconds(options.retry_ms))) return;
        break;
      case Outcome::kFailed:
        return;
    }
  }
}

void StoreThread::Impl::take_in(std::vector<Queued> letters) {
  for (Queued& letter : letters) queue.push_back(std::move(letter));
}

// A client that opens a job sends its chunks and the seal right behind. If there is nothing else to
// write, a commit for each would only delay the last of them.
void StoreThread::Impl::await_uploads() {
  const auto all_of_queue = [this](auto predicate) {
    return std::ranges::all_of(queue, [&](const Queued& queued) {
      return std::ranges::all_of(queued.work.records, predicate);
    });
  };
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::microseconds(options.upload_linger_us);
  while (!queue.empty() && !queue.front().work.records.empty() &&
         begins_upload(queue.front().work.records.front()) && all_of_queue(continues_upload)) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - Clock::now());
    if (left.count() <= 0 || inbox.closed()) return;
    take_in(inbox.wait_for(left));
  }
}

// How much of the queue goes into the next transaction: at least one step, whatever its size.
std::size_t StoreThread::Impl::batch_size() const {
  Size sum;
  std::size_t count = 0;
  for (const Queued& queued : queue) {
    sum.rows += queued.size.rows;
    sum.bytes += queued.size.bytes;
    if (count > 0 && (sum.rows > options.commit_rows_max || sum.bytes > options.commit_bytes_max)) {
      break;
    }
    ++count;
  }
  return count;
}

StoreThread::Impl::Outcome StoreThread::Impl::write_batch(std::size_t count) {
  std::vector<Report> done;
  try {
    try_batch(count, done);
  } catch (const sqlite::Error& error) {
    store->rollback();
    if (error.disk_full()) {
      pause(fmt::format("no room for the database {}: {}", store->path(), error.what()));
      return Outcome::kPaused;
    }
    if (error.busy()) {
      pause(fmt::format("another process holds the lock of the database {}", store->path()));
      return Outcome::kPaused;
    }
    return fail(error);
  }
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += queue[i].size.bytes;
  queued_bytes -= bytes;
  const Durable durable{queue[count - 1].work.sequence};
  queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(count));
  report(durable);
  for (Report& loaded : done) report(std::move(loaded));
  if (std::exchange(paused, false)) {
    spdlog::info("the database {} can be written again: intake resumes", store->path());
    report(event::IntakeResumed{});
  }
  try {
    store->checkpoint_if_due();
  } catch (const sqlite::Error& error) {
    // The log keeps what could not be moved, so a full disk is felt, and said, at a commit.
    if (!error.disk_full()) return fail(error);
    spdlog::warn("checkpoint of {}: {}", store->path(), error.what());
  }
  return Outcome::kDone;
}

// One transaction; loads see what the steps before them recorded, and are told after the commit.
void StoreThread::Impl::try_batch(std::size_t count, std::vector<Report>& loaded) {
  bool writes = false;
  for (std::size_t i = 0; i < count; ++i) writes = writes || !queue[i].work.records.empty();
  if (writes) store->begin();
  for (std::size_t i = 0; i < count; ++i) {
    for (const Record& record : queue[i].work.records) store->apply(record);
    for (const LoadChunk& load : queue[i].work.loads) loaded.push_back(store->load_chunk(load));
  }
  if (writes) store->commit();
}

void StoreThread::Impl::pause(const std::string& reason) {
  if (std::exchange(paused, true)) return;
  spdlog::warn("intake is paused: {}", reason);
  report(event::IntakePaused{reason});
}

StoreThread::Impl::Outcome StoreThread::Impl::fail(const sqlite::Error& error) {
  const std::string text = store->failure(error).what();
  spdlog::critical("{}", text);
  report(Failed{text});
  return Outcome::kFailed;
}

StoreThread::StoreThread(std::unique_ptr<Store> store, StoreOptions options,
                         std::function<void()> wake)
    : impl_(std::make_unique<Impl>(std::move(store), options, std::move(wake))) {}

StoreThread::~StoreThread() {
  impl_->inbox.close();
  impl_->thread.join();
}

void StoreThread::submit(Work work) {
  Size sum;
  for (const Record& record : work.records) {
    const Size size = size_of(record);
    sum.rows += size.rows;
    sum.bytes += size.bytes;
  }
  impl_->queued_bytes += sum.bytes;
  impl_->inbox.put({std::move(work), sum});
}

std::vector<StoreThread::Report> StoreThread::take() { return impl_->reports.take(); }

std::uint64_t StoreThread::queued_bytes() const { return impl_->queued_bytes; }

}  // namespace puzzled
