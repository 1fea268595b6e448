// The threads around the store. The reactor hands work in and is woken when there is something to
// take; nothing else is shared.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "daemon/broker/effect.h"
#include "daemon/broker/event.h"
#include "daemon/store/backup.h"
#include "daemon/store/commit_counts.h"
#include "daemon/store/options.h"
#include "daemon/store/query.h"

namespace puzzled {

class Store;  // daemon/store/store.h: synchronous, all the SQL

// The only writer. First in, first out; everything that is queued when a transaction begins goes
// into that transaction (group commit), at most options.commit_rows_max result rows. While it
// cannot write (no room, a foreign lock, a full write-ahead log) it says so once for each reason,
// and tries again every options.retry_ms.
class StoreThread {
 public:
  struct Work {
    std::uint64_t sequence = 0;  // strictly increasing; reported back when durable
    std::vector<Record> records;
    std::vector<LoadChunk> loads;
    std::vector<CompareChunk> comparisons = {};
    std::vector<LoadCanaries> canary_loads = {};
  };
  // A copy of the database as it is at some moment after the request. REQUIRES: the one before has
  // ended.
  struct StartBackup {
    std::uint64_t ticket = 0;  // comes back with Backups::Ended
    std::string path;
    bool force = false;  // see Backup
  };
  // What has happened since the last take(), in order.
  struct Durable {
    std::uint64_t sequence = 0;  // all work up to here is on disk
  };
  struct Failed {  // I/O error or corruption: the daemon must stop with exit code 74
    std::string text;
  };
  using Report =
      std::variant<Durable, Failed, event::ChunkLoaded, event::ChunkCompared, event::CanariesLoaded,
                   event::IntakePaused, event::IntakeResumed, Backups::Ended>;

  // `wake` is called from the store's thread after a report was added (it must not block).
  StoreThread(std::unique_ptr<Store> store, StoreOptions options, std::function<void()> wake);
  // Commits what is queued (unless it has failed), checkpoints, closes the database.
  ~StoreThread();
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;

  void submit(Work work);
  void back_up(StartBackup start);
  std::vector<Report> take();
  // Bytes of cases and results handed in and not yet durable.
  [[nodiscard]] std::uint64_t queued_bytes() const;
  // Any thread.
  struct Health {
    std::uint64_t log_bytes = 0;      // the write-ahead log
    std::uint64_t reader_age_ms = 0;  // how long a reader has kept it from starting again
    bool slow = false;                // every transaction waits for a while, because of that
    std::uint64_t answer_bytes = 0;   // of answers that can be found again
  };
  [[nodiscard]] Health health() const;
  [[nodiscard]] CommitCounts counts() const;  // any thread

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Answers queries on a thread and a read-only connection of its own. A snapshot is opened after
// the query was submitted, held only for the query, and sees all that was durable before.
class ReadThread {
 public:
  struct Answered {
    std::uint64_t ticket = 0;
    query::Answer answer;
    std::string error;        // not empty: the read failed, `answer` means nothing
    bool is_damaged = false;  // then the daemon must stop with exit code 74; `error` says why
  };
  ReadThread(const std::string& database_path, StoreOptions options, std::function<void()> wake);
  ~ReadThread();
  ReadThread(const ReadThread&) = delete;
  ReadThread& operator=(const ReadThread&) = delete;

  void submit(std::uint64_t ticket, query::Query query);
  std::vector<Answered> take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace puzzled
