// The store: all that the daemon must not forget, in one SQLite file. Synchronous; one thread at a
// time. Every write and checkpoint goes through this one connection.
//
// Errors: open() and recover() throw Fatal. The rest throw sqlite::Error; whoever runs the
// transaction rolls it back and decides (store_thread.cc).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "daemon/broker/effect.h"
#include "daemon/broker/event.h"
#include "daemon/store/answer_table.h"
#include "daemon/store/canary_table.h"
#include "daemon/store/database_file.h"
#include "daemon/store/file_table.h"
#include "daemon/store/options.h"
#include "daemon/store/progress.h"
#include "daemon/store/result_rows.h"
#include "daemon/store/sqlite.h"
#include "daemon/store/write_ahead_log.h"
#include "proto/base/fatal.h"

namespace puzzled {

class Store {
 public:
  // Creates what is missing (folder 0700, file 0600), takes the lock, brings the schema forward.
  static std::unique_ptr<Store> open(const std::string& path, const StoreOptions& options);
  // Checkpoints as far as possible and closes; never throws.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Raises the boot number, commits it, and reads what the broker starts from. Never reads result
  // rows, so that its time depends on the number of chunks and of unproven runs. To be called once,
  // before the rest.
  Recovery recover();

  // One transaction. REQUIRES: begin, any number of applies, then commit or rollback.
  void begin();
  void apply(const Record& record);
  void commit();             // on return all of it is on disk
  void rollback() noexcept;  // nothing of it has happened

  // These see what the open transaction has applied. Loads check the hash of chunks that lie within
  // one file.
  event::ChunkLoaded load_chunk(const LoadChunk& load);
  event::CanariesLoaded load_canaries(const LoadCanaries& load);
  event::ChunkCompared compare_chunk(const CompareChunk& compare);

  [[nodiscard]] WriteAheadLog& log() { return *log_; }
  // For backups, which copy between the transactions.
  [[nodiscard]] sqlite::Connection& connection() { return connection_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // That can be found again; those that were removed among them count for a while.
  [[nodiscard]] std::uint64_t answer_count() const { return answers_->count(); }

  // What to tell people about an error after which the daemon must stop (exit 74).
  [[nodiscard]] Fatal failure(const sqlite::Error& error) const;

 private:
  Store(const std::string& path, const StoreOptions& options);

  void insert(const record::InsertJob& record);
  void insert(const record::InsertChunk& record);
  void insert(const record::SealJob& record);
  void insert(const record::CancelJob& record);
  void insert(const record::FinishJob& record);
  void insert(const record::InsertWorker& record);
  void insert(const record::InsertResults& record);
  void insert(const record::InsertCached& record);
  void insert(const record::ForgetStretch& record);
  void insert(const record::BarWorker& record);
  void insert(const record::InsertAttempt& record);
  void insert(const record::RetractAttempt& record);
  void insert(const record::ReviseResults& record);
  template <class OfCanaries>
  void insert(const OfCanaries& record) {
    canaries_->insert(record);
  }
  void insert_files(const record::InsertChunk& record);
  // The number of a solver version, new if it was never seen.
  std::int64_t solver_version(const std::string& version);
  // The same, 0 if it was never seen.
  std::int64_t known_version(const std::string& version);

  struct Place {  // of a chunk
    JobId job;
    ChunkNo chunk_no = 0;
    CaseNo first_case;
    std::uint32_t case_count = 0;
  };
  // Throws sqlite::Error if they are not those that were stored.
  ChunkCasesPtr read_cases(const Place& place);
  void check_hash(const Place& place, std::string_view cases);

  struct Statements;

  const std::string path_;
  const StoreOptions options_;
  const DatabaseLock lock_;
  sqlite::Connection connection_;
  std::unique_ptr<Statements> statements_;
  std::unique_ptr<ResultRows> rows_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<FileTable> files_;
  std::unique_ptr<CanaryTable> canaries_;
  std::unique_ptr<AnswerTable> answers_;
  std::unordered_map<std::string, std::int64_t> solver_versions_;  // those seen, as stored
  // Cases of the open transaction, by job and number of the solver version.
  std::map<std::pair<std::uint64_t, std::int64_t>, std::int64_t> version_counts_;
  std::optional<WriteAheadLog> log_;
};

}  // namespace puzzled
