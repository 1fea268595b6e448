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
  std::uint64_t cache_bytes = 32ULL << 20U;    // page cache of each connection
  std::uint32_t lock_wait_ms = 10'000;         // a foreign process holds the database lock
  std::uint32_t retry_ms = 500;                // pause between tries while the disk is full
  std::uint64_t page_bytes_max = 4ULL << 20U;  // of one page of query results
};

}  // namespace puzzled
