#include "daemon/store/lock_holders.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace puzzled {
namespace {

// Bytes of the "-shm" file that SQLite's readers lock, one for each mark (walformat.html, 2.3.1).
constexpr std::uint64_t kFirstReadMark = 123;
constexpr std::uint64_t kLastReadMark = 127;

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

// A line is: number: POSIX ADVISORY READ pid major:minor:inode first last
// (major and minor in hexadecimal). Waiting locks have "->" in the second place.
std::vector<std::int64_t> log_readers(std::string_view proc_locks, unsigned device_major,
                                      unsigned device_minor, std::uint64_t inode,
                                      std::int64_t self) {
  const std::string file = fmt::format("{:02x}:{:02x}:{}", device_major, device_minor, inode);
  std::vector<std::int64_t> pids;
  std::istringstream lines{std::string(proc_locks)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, kind, how, mode, of;
    std::int64_t pid = 0;
    std::uint64_t first = 0;
    words >> number >> kind >> how >> mode >> pid >> of >> first;
    if (!words || kind != "POSIX" || of != file || pid == self || pid <= 0) continue;
    if (first >= kFirstReadMark && first <= kLastReadMark) pids.push_back(pid);
  }
  std::ranges::sort(pids);
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

std::string describe_log_readers(const std::string& database_path) {
  struct stat info {};
  // Not opened: closing it would take away the locks that SQLite holds on it in this process.
  if (stat((database_path + "-shm").c_str(), &info) != 0) return "";
  std::string text;
  for (const std::int64_t pid : log_readers(file_text("/proc/locks"), major(info.st_dev),
                                            minor(info.st_dev), info.st_ino, getpid())) {
    std::string name = file_text(fmt::format("/proc/{}/comm", pid));
    name.erase(name.find_last_not_of('\n') + 1);
    std::ranges::replace_if(
        name, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    text += fmt::format("{}process {}{}", text.empty() ? "" : ", ", pid,
                        name.empty() ? "" : " (" + name + ")");
  }
  return text;
}

}  // namespace puzzled
