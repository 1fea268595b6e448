#include "daemon/store/file_table.h"

#include <fmt/format.h>

#include "daemon/store/keys.h"

namespace puzzled {

FileTable::FileTable(sqlite::Connection& connection)
    : read_(connection, "SELECT path, first_case, case_count FROM files WHERE id = ?") {}

void FileTable::start(JobId job, std::uint64_t file_count) {
  job_ = job;
  file_count_ = file_count;
  file_no_ = 0;
  file_ = {};
  lookups_ = 0;
}

bool FileTable::read(std::uint64_t file_no) {
  ++lookups_;
  const sqlite::ResetAtEnd reset(read_);
  read_.bind(keys::file(job_, file_no));
  if (!read_.step()) return false;
  file_no_ = file_no;
  file_.path = read_.bytes(0);
  file_.first_case = read_.number(1);
  file_.case_count = read_.number(2);
  return true;
}

bool FileTable::covers(std::uint64_t case_no) const {
  return case_no >= file_.first_case && case_no - file_.first_case < file_.case_count;
}

const FileEntry& FileTable::find(std::uint64_t case_no) {
  if (covers(case_no)) return file_;
  if (file_no_ != 0 && file_no_ < file_count_ && read(file_no_ + 1) && covers(case_no)) {
    return file_;
  }
  // The last file that starts at or before the case; first cases ascend with file numbers.
  std::uint64_t low = 0;
  std::uint64_t high = file_count_;
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (read(middle) && file_.first_case <= case_no) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  if (low == 0 || (low != file_no_ && !read(low)) || !covers(case_no)) {
    file_no_ = 0;
    file_ = {};
  }
  return file_;
}

std::string FileTable::label(std::uint64_t case_no) {
  const FileEntry& file = find(case_no);
  // A job without file entries counts its cases through.
  if (file.case_count == 0) return fmt::format("#{}", case_no);
  return fmt::format("{}#{}", file.path, case_no - file.first_case + 1);
}

}  // namespace puzzled
