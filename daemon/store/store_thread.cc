#include "daemon/store/store_thread.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "daemon/store/lock_holders.h"
#include "daemon/store/store.h"
#include "proto/base/mailbox.h"

namespace puzzled {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kRecordBytes = 128;  // what a record or a row costs besides its texts
constexpr std::uint64_t kPageBytes = 4096;   // SQLite's default
// A transaction while the write-ahead log is nearly full.
constexpr std::uint64_t kSlowRowsMax = 1'000;
constexpr std::uint64_t kSlowBytesMax = 256U << 10U;
constexpr milliseconds kHeldLook{
    1'000};  // between tries to move a log that a reader holds, if idle

struct Size {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  std::uint64_t chunks = 0;  // whose progress changes

  void operator+=(const Size& other) {
    rows += other.rows;
    bytes += other.bytes;
    chunks += other.chunks;
  }
  // What it adds to the write-ahead log, rather too much: pages are written whole.
  [[nodiscard]] std::uint64_t log_bytes() const {
    return bytes + bytes / 4 + kPageBytes * (chunks + 16);
  }
};

Size size_of(const Record& record) {
  if (const auto* results = std::get_if<record::InsertResults>(&record)) {
    const std::uint64_t body = results->results.body ? results->results.body->size() : 0;
    Size size{results->rows.size(), kRecordBytes * (1 + results->rows.size()) + body, 0};
    // An answer that is noted, and the one that it takes the place of, lie anywhere in an index:
    // each changes a page of its own, as a chunk does.
    if (results->keeps_answers) size.chunks += 2 * results->rows.size();
    const record::ResultRow* last = nullptr;
    for (const record::ResultRow& row : results->rows) {
      if (last == nullptr || last->chunk_no != row.chunk_no) ++size.chunks;
      last = &row;
    }
    return size;
  }
  if (const auto* cached = std::get_if<record::InsertCached>(&record)) {
    Size size{cached->answers.size(), kRecordBytes * (1 + cached->answers.size()), 1};
    for (const KnownAnswer& known : cached->answers) size.bytes += known.answer_bytes;
    return size;
  }
  if (const auto* revise = std::get_if<record::ReviseResults>(&record)) {
    // Answers that are forgotten lie anywhere in an index.
    return {revise->count, kRecordBytes + revise->count, std::uint64_t{1} + revise->count};
  }
  if (const auto* chunk = std::get_if<record::InsertChunk>(&record)) {
    std::uint64_t bytes =
        kRecordBytes + (chunk->cases ? chunk->cases->bytes.size() : 0) + chunk->keys.size();
    for (const FileEntry& file : chunk->files) bytes += kRecordBytes + file.path.size();
    return {chunk->files.size(), bytes, 1};
  }
  if (const auto* settled = std::get_if<record::ForgetStretch>(&record)) {
    // Its answers lie side by side in the table, and anywhere in the index out of which they go.
    constexpr std::uint64_t kAnswersOfAPage = 20;
    return {1, kRecordBytes,
            1 + (settled->proven ? settled->cases / kAnswersOfAPage : settled->cases)};
  }
  return {1, kRecordBytes, 1};
}

std::uint64_t age_ms(WriteAheadLog::Clock::time_point since) {
  const auto age = std::chrono::duration_cast<milliseconds>(WriteAheadLog::Clock::now() - since);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, age.count()));
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
    std::optional<StartBackup> backup = {};  // then there is no work
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
  [[nodiscard]] bool writes(std::size_t count) const;
  Outcome write_batch();
  void try_batch(std::size_t count, std::vector<Report>& reports);
  void finish_batch(std::size_t count);
  void note_look_ups(const std::vector<Report>& loaded);
  void slow_down();
  Outcome look_after_log();
  void note_health();
  [[nodiscard]] std::string log_is_held() const;
  Outcome pause(const std::string& kind, const std::string& details);
  Outcome pause_or_fail(const sqlite::Error& error);
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
  std::atomic<std::uint64_t> log_bytes{0};
  std::atomic<std::int64_t> held_since{0};  // of WriteAheadLog::Clock; 0: nobody holds the log
  std::atomic<bool> slow{false};
  std::atomic<std::uint64_t> answers{0};
  mutable std::mutex counts_mutex;
  CommitCounts counts;
  std::deque<Queued> queue;  // of the store's thread only
  std::string paused;        // why; empty: it is not
  Backups backups{[this](Backups::Ended ended) { report(std::move(ended)); }};
  std::thread thread;  // last: it uses all of the above
};

void StoreThread::Impl::run() {
  note_health();
  for (;;) {
    // With work left, only look; else sleep until there is some.
    if (!queue.empty() || backups.copying()) {
      take_in(inbox.take());
    } else if (store->log().held_since()) {
      take_in(inbox.wait_for(kHeldLook));
    } else {
      take_in(inbox.wait());
    }
    await_uploads();
    if (backups.copying()) backups.step();
    Outcome outcome = Outcome::kDone;
    if (!queue.empty()) {
      outcome = write_batch();
    } else if (inbox.closed()) {
      return;
    }
    if (outcome == Outcome::kDone) outcome = look_after_log();
    note_health();
    // At the end there is no second try: what was not acknowledged may be lost.
    if (outcome == Outcome::kFailed) return;
    if (outcome == Outcome::kPaused && !inbox.sleep_unless_closed(milliseconds(options.retry_ms))) {
      return;
    }
  }
}

void StoreThread::Impl::take_in(std::vector<Queued> letters) {
  for (Queued& letter : letters) {
    if (const auto& start = letter.backup) {
      backups.start(store->connection(), store->path(), start->ticket, start->path, start->force);
    } else {
      queue.push_back(std::move(letter));
    }
  }
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
  const bool is_slow = store->log().pressure() > 0;
  const std::uint64_t rows_max =
      is_slow ? std::min<std::uint64_t>(options.commit_rows_max, kSlowRowsMax)
              : options.commit_rows_max;
  const std::uint64_t bytes_max =
      is_slow ? std::min(options.commit_bytes_max, kSlowBytesMax) : options.commit_bytes_max;
  const std::uint64_t room = store->log().room();
  Size sum;
  std::size_t count = 0;
  for (const Queued& queued : queue) {
    sum += queued.size;
    if (count > 0 && (sum.rows > rows_max || sum.bytes > bytes_max || sum.log_bytes() > room)) {
      break;
    }
    ++count;
  }
  return count;
}

bool StoreThread::Impl::writes(std::size_t count) const {
  return std::any_of(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(count),
                     [](const Queued& queued) { return !queued.work.records.empty(); });
}

StoreThread::Impl::Outcome StoreThread::Impl::write_batch() {
  std::vector<Report> loaded;
  std::size_t count = 0;
  try {
    if (paused.empty()) slow_down();
    count = batch_size();
    Size sum;
    for (std::size_t i = 0; i < count; ++i) sum += queue[i].size;
    if (writes(count) && sum.log_bytes() > store->log().room() && !store->log().start_again()) {
      return pause("the write-ahead log is full", log_is_held());
    }
    try_batch(count, loaded);
  } catch (const sqlite::Error& error) {
    store->rollback();
    return pause_or_fail(error);
  }
  finish_batch(count);
  note_look_ups(loaded);
  for (Report& one : loaded) report(std::move(one));
  return Outcome::kDone;
}

// The fuller the write-ahead log, the longer each transaction waits.
void StoreThread::Impl::slow_down() {
  const double pressure = store->log().pressure();
  if (pressure == 0 || store->log().start_again()) {
    if (slow.exchange(false)) spdlog::info("the write-ahead log has room again");
    return;
  }
  if (!slow.exchange(true)) spdlog::warn("writing is slowed down: {}", log_is_held());
  note_health();
  // Who wants an end does not wait: then this returns at once.
  static_cast<void>(inbox.sleep_unless_closed(
      milliseconds(static_cast<std::int64_t>(pressure * options.retry_ms))));
}

std::string StoreThread::Impl::log_is_held() const {
  constexpr std::uint64_t kMiB = 1U << 20U;
  const auto since = store->log().held_since();
  const std::string who = describe_log_readers(store->path());
  return fmt::format(
      "a reader of the database {}{} has for {} s kept its write-ahead log ({} of {} MiB) from "
      "starting again: let it end its transaction",
      store->path(), who.empty() ? "" : ", " + who + ",", since ? age_ms(*since) / 1000 : 0,
      store->log().bytes() / kMiB, options.wal_bytes_max / kMiB);
}

void StoreThread::Impl::finish_batch(std::size_t count) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += queue[i].size.bytes;
  queued_bytes -= bytes;
  const Durable durable{queue[count - 1].work.sequence};
  queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(count));
  report(durable);
  if (std::exchange(paused, {}).empty()) return;
  spdlog::info("the database {} can be written again: intake resumes", store->path());
  report(event::IntakeResumed{});
}

void StoreThread::Impl::note_look_ups(const std::vector<Report>& loaded) {
  for (const Report& one : loaded) {
    const auto* chunk = std::get_if<event::ChunkLoaded>(&one);
    if (chunk == nullptr || !chunk->look_up) continue;
    const std::lock_guard lock(counts_mutex);
    counts.known_answers += chunk->known.size();
    if (chunk->more_known) continue;  // the others are asked for again
    counts.unknown_answers += chunk->cases->count() - chunk->done.size() - chunk->known.size();
  }
}

StoreThread::Impl::Outcome StoreThread::Impl::look_after_log() {
  try {
    if (queue.empty() && store->log().held_since()) {
      store->log().start_again();
    } else {
      store->log().checkpoint_if_due();
    }
  } catch (const sqlite::Error& error) {
    // The log keeps what could not be moved, so a full disk is felt, and said, at a commit.
    if (!error.disk_full()) return fail(error);
    spdlog::warn("checkpoint of {}: {}", store->path(), error.what());
  }
  return Outcome::kDone;
}

void StoreThread::Impl::note_health() {
  log_bytes = store->log().bytes();
  answers = store->answer_count();
  const auto since = store->log().held_since();
  held_since = since ? since->time_since_epoch().count() : 0;
}

// One transaction; loads see what the steps before them recorded, and are told after the commit.
void StoreThread::Impl::try_batch(std::size_t count, std::vector<Report>& loaded) {
  const bool has_records = writes(count);
  const auto begun = std::chrono::steady_clock::now();
  if (has_records) store->begin();
  for (std::size_t i = 0; i < count; ++i) {
    for (const Record& record : queue[i].work.records) store->apply(record);
    for (const LoadChunk& load : queue[i].work.loads) loaded.push_back(store->load_chunk(load));
    for (const CompareChunk& compare : queue[i].work.comparisons) {
      loaded.push_back(store->compare_chunk(compare));
    }
    for (const LoadCanaries& load : queue[i].work.canary_loads) {
      loaded.push_back(store->load_canaries(load));
    }
  }
  if (!has_records) return;
  store->commit();
  const auto took = std::chrono::steady_clock::now() - begun;
  const std::lock_guard lock(counts_mutex);
  for (std::size_t i = 0; i < count; ++i) counts.note(queue[i].work.records);
  counts.note_commit(std::chrono::duration_cast<std::chrono::microseconds>(took));
}

// Says so whenever the kind of reason is another one than before.
StoreThread::Impl::Outcome StoreThread::Impl::pause(const std::string& kind,
                                                    const std::string& details) {
  if (std::exchange(paused, kind) == kind) return Outcome::kPaused;
  spdlog::warn("intake is paused: {}", details);
  report(event::IntakePaused{details});
  return Outcome::kPaused;
}

StoreThread::Impl::Outcome StoreThread::Impl::pause_or_fail(const sqlite::Error& error) {
  if (error.disk_full()) {
    return pause("the disk is full",
                 fmt::format("no room for the database {}: {}", store->path(), error.what()));
  }
  if (error.busy()) {
    return pause("the database is locked",
                 fmt::format("another process holds the lock of the database {}", store->path()));
  }
  return fail(error);
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
  for (const Record& record : work.records) sum += size_of(record);
  impl_->queued_bytes += sum.bytes;
  impl_->inbox.put({std::move(work), sum});
}

void StoreThread::back_up(StartBackup start) { impl_->inbox.put({{}, {}, std::move(start)}); }

std::vector<StoreThread::Report> StoreThread::take() { return impl_->reports.take(); }

std::uint64_t StoreThread::queued_bytes() const { return impl_->queued_bytes; }

CommitCounts StoreThread::counts() const {
  const std::lock_guard lock(impl_->counts_mutex);
  return impl_->counts;
}

StoreThread::Health StoreThread::health() const {
  const WriteAheadLog::Clock::time_point since{WriteAheadLog::Clock::duration(impl_->held_since)};
  return {.log_bytes = impl_->log_bytes,
          .reader_age_ms = impl_->held_since == 0 ? 0 : age_ms(since),
          .slow = impl_->slow,
          .answer_bytes = impl_->answers * kAnswerRowBytes};
}

}  // namespace puzzled
