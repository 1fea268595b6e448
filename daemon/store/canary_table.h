// The store's part in canaries: which jobs are marked, what is known of their cases, what no good
// canary has proven, what is taken back, who is barred.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/broker/effect.h"
#include "daemon/broker/event.h"
#include "daemon/store/progress.h"
#include "daemon/store/sqlite.h"

namespace puzzled {

// Of a chunk, spread over it: enough for all workers, and few to read.
inline constexpr std::size_t kCanariesOfChunkMax = 64;
// Cases with a longer answer are no canaries.
inline constexpr std::uint64_t kCanaryAnswerBytesMax = 1U << 20U;

class CanaryTable {
 public:
  explicit CanaryTable(sqlite::Connection& connection);

  // In the open transaction. All throw sqlite::Error.
  void insert(const record::MarkCanary& record);
  void insert(const record::ForgetStretch& record);
  // Returns the solver versions (solver_versions.id) of the results that were taken back, one each.
  std::vector<std::int64_t> insert(const record::ReviseResults& record, Progress& progress);
  void insert(const record::ReopenJob& record);
  void insert(const record::BarWorker& record);
  void insert(const record::AdmitWorker& record);
  // Notes results that are not proven. REQUIRES: record.stretch > 0.
  void note(const record::InsertResults& record);

  // Of the cases of the chunk whose results say something of the case, not of the machine.
  std::vector<KnownResult> known_of(JobId job, const Progress::Chunk& chunk);

  // For Store::recover(). Throws also if what a run names is not there.
  void recover(Recovery& recovery);

 private:
  sqlite::Statement mark_;
  sqlite::Statement note_;
  sqlite::Statement forget_stretch_;
  sqlite::Statement forget_run_;
  sqlite::Statement version_;
  sqlite::Statement delete_result_;
  sqlite::Statement count_revised_;
  sqlite::Statement reopen_;
  sqlite::Statement bar_;
  sqlite::Statement admit_;
  sqlite::Statement result_;
  sqlite::Statement answer_;
  sqlite::Statement runs_;
  sqlite::Statement barred_;
};

}  // namespace puzzled
