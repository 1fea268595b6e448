// A check of a database that no daemon uses: a stopped one's, or a backup. Changes nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/store/check.h"
#include "daemon/store/query.h"

namespace puzzled {

// While it lives no daemon can start on the database.
class FileCheck {
 public:
  // Throws Fatal: a daemon runs on it (exit 5); it is missing, unreadable or no database (exit 74).
  explicit FileCheck(const std::string& path);
  ~FileCheck();
  FileCheck(const FileCheck&) = delete;
  FileCheck& operator=(const FileCheck&) = delete;

  // As Checker::page(). Throws Fatal (exit 74) if the file cannot be read any further.
  query::CheckPage page(const std::vector<std::uint64_t>& cursor);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace puzzled
