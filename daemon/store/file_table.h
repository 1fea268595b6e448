// The files of a job, as readers see them: which file a case is from, and so its label.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/broker/types.h"
#include "daemon/store/sqlite.h"

namespace puzzled {

class FileTable {
 public:
  explicit FileTable(sqlite::Connection& connection);

  // From here on about this job, as the open snapshot sees it.
  void start(JobId job, std::uint64_t file_count);
  // The file that the case is from; case_count is 0 if there is none. Valid until the next call.
  // Costs one lookup for the next file in order, else one for each halving of the file numbers.
  const FileEntry& find(std::uint64_t case_no);
  // "path#index". REQUIRES: as find().
  std::string label(std::uint64_t case_no);
  // Lookups since start(), to bound the work of a page.
  [[nodiscard]] std::uint64_t lookups() const { return lookups_; }

 private:
  bool read(std::uint64_t file_no);
  [[nodiscard]] bool covers(std::uint64_t case_no) const;

  sqlite::Statement read_;
  JobId job_;
  std::uint64_t file_count_ = 0;
  std::uint64_t file_no_ = 0;  // of `file_`; 0: none
  FileEntry file_;
  std::uint64_t lookups_ = 0;
};

}  // namespace puzzled
