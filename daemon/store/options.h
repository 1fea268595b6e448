// Limits and intervals of the store, units in the names.
#pragma once

#include <cstdint>

namespace puzzled {

struct StoreOptions {
  std::uint32_t commit_rows_max = 20'000;         // result rows in one transaction
  std::uint64_t commit_bytes_max = 16ULL << 20U;  // case and answer bytes in one transaction
  // A job was just opened: its chunks are waited for so long, so that a small job is one commit.
  std::uint32_t upload_linger_us = 500;
  std::uint64_t checkpoint_wal_bytes = 16ULL << 20U;
  // Of the write-ahead log while a foreign reader keeps it from starting again: writing becomes
  // slow at three quarters of it, and stops before it is exceeded.
  std::uint64_t wal_bytes_max = 64ULL << 20U;
  std::uint64_t cache_bytes = 32ULL << 20U;  // page cache of each connection
  std::uint32_t lock_wait_ms = 10'000;  // at the start: a foreign process holds the database lock
  // Of answers that can be found again; over it the oldest go. 0: none are kept.
  std::uint64_t answer_cache_bytes_max = 256ULL << 20U;
  std::uint32_t retry_ms = 500;  // between tries to write: disk full, lock held, log full
  std::uint64_t page_bytes_max = 4ULL << 20U;  // of one page of query results
  std::uint32_t check_step_ms = 20;            // of a check of the whole store, done in steps
  std::uint32_t snapshot_ms_max = 50;          // that a page of query results holds its snapshot
};

}  // namespace puzzled
