// Checks a database against everything that must hold of it (ARCHITECTURE.md, "Upkeep"), in pages
// of bounded time, each in a snapshot of its own: beside a daemon that goes on writing nothing is
// held up, and what is compared across pages is compared by what only ever grows.
//
// Memory: one chunk and what a page found, whatever the size of the database.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/broker/finding.h"
#include "daemon/store/query.h"
#include "daemon/store/sqlite.h"

namespace puzzled {

struct CheckOptions {
  std::uint32_t page_ms = 20;         // a page ends after this, at the next chunk
  std::uint32_t findings_max = 1000;  // of a page; then it ends
  // SQLite's own integrity check reads the whole file in one snapshot and cannot be cut into pages:
  // it is left out if the file is larger than this.
  std::uint64_t integrity_bytes_max = 16ULL << 20U;
};

class Checker {
 public:
  // The connection only reads; it has no transaction open between pages.
  Checker(sqlite::Connection& connection, const CheckOptions& options);
  ~Checker();
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  // The page after `cursor`: empty for the first, then what the page before gave. Any cursor is
  // safe; one that this program did not make gives findings that mean nothing. Throws
  // sqlite::Error if the file cannot be read.
  query::CheckPage page(const std::vector<std::uint64_t>& cursor);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace puzzled
