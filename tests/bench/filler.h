// Fills a store as the daemon would have, faster.
#pragma once

#include <cstdint>
#include <memory>

#include "daemon/store/store.h"
#include "tests/bench/daemon.h"

namespace puzzled::bench {

// Cases from one wrong answer, or one crash, to the next in graded jobs. The others are accepted.
inline constexpr std::uint64_t kSparseEvery = 10'007;
inline constexpr std::uint64_t kRareEvery = 333'333;

// Writes to the database of Daemon(folder, ...), which must not run.
class Filler {
 public:
  explicit Filler(const Folder& folder);
  // A sealed job of bishops queries that take about a microsecond each; `graded`: with results.
  // REQUIRES: `cases` is a multiple of wire::kChunkCasesMax, jobs are numbered from 1.
  void add_job(JobId job, std::uint64_t cases, bool graded);

 private:
  static record::InsertResults grade(const record::InsertChunk& chunk);

  std::unique_ptr<Store> store_;
  ChunkCasesPtr cases_;
};

}  // namespace puzzled::bench
