#include "client/file_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "client/failure.h"
#include "client/interrupt.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace puzzled::client {
namespace {

// Below, a copy is as fast as a mapping and immune to the file being cut off.
constexpr std::uint64_t kMapBytesMin = 1U << 20U;

[[noreturn]] void throw_unreadable(std::string_view name, int error) {
  throw Failure(kExitInvalid, fmt::format("cannot read {}: {}", name, std::strerror(error)));
}

std::int64_t modified_ns(const struct stat& info) {
  return info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec;
}

int open_nameless_file() {
  const char* set = std::getenv("TMPDIR");
  const std::string folder = set != nullptr && *set != '\0' ? set : "/tmp";
  int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  // Not every file system can do that.
  std::string name = folder + "/puzzlectl-XXXXXX";
  fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) {
    throw Failure(
        kExitOutput,
        fmt::format("cannot make a temporary file in {}: {}", folder, std::strerror(errno)),
        "set TMPDIR to a folder with room");
  }
  ::unlink(name.c_str());
  return fd;
}

void write_all(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      throw Failure(kExitOutput,
                    fmt::format("cannot write a temporary file: {}", std::strerror(errno)),
                    "set TMPDIR to a folder with room");
    }
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

extern "C" void on_map_fault(int) {
  constexpr std::string_view kMessage =
      "puzzlectl: error: an input file was cut off while it was being read; try again\n";
  const ssize_t ignored = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  static_cast<void>(ignored);
  ::_exit(kExitInvalid);
}

}  // namespace

Spool::Spool(int fd, std::string_view name) : fd_(open_nameless_file()) {
  std::vector<char> buffer(1U << 16U);
  for (;;) {
    throw_if_interrupted();
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_unreadable(name, errno);
    write_all(fd_, buffer.data(), static_cast<std::size_t>(got));
  }
}

Spool::~Spool() { ::close(fd_); }

FileText::FileText(const std::string& path) {
  // A pipe without a writer must not hang here; regular files do not care.
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) throw_unreadable(path, errno);
  try {
    read(path);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

FileText::FileText(const Spool& spool, std::string_view name) : fd_(spool.fd()), own_fd_(false) {
  read(name);
}

FileText::~FileText() {
  if (map_ != nullptr) ::munmap(map_, stamp_.size);
  if (own_fd_) ::close(fd_);
}

void FileText::read(std::string_view name) {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) throw_unreadable(name, errno);
  if (S_ISDIR(info.st_mode)) throw_unreadable(name, EISDIR);
  if (!S_ISREG(info.st_mode)) {
    throw Failure(kExitInvalid,
                  fmt::format("cannot read {}: it is no regular file any more", name));
  }
  stamp_.size = static_cast<std::uint64_t>(info.st_size);
  stamp_.modified_ns = modified_ns(info);
  if (stamp_.size >= kMapBytesMin) {
    void* map = ::mmap(nullptr, stamp_.size, PROT_READ, MAP_PRIVATE, fd_, 0);
    if (map == MAP_FAILED) throw_unreadable(name, errno);
    map_ = map;
    ::madvise(map, stamp_.size, MADV_SEQUENTIAL);
    text_ = {static_cast<const char*>(map), stamp_.size};
  } else {
    copy_.resize(stamp_.size);
    std::size_t have = 0;
    while (have < copy_.size()) {
      const ssize_t got =
          ::pread(fd_, copy_.data() + have, copy_.size() - have, static_cast<off_t>(have));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw_unreadable(name, errno);
      if (got == 0) break;
      have += static_cast<std::size_t>(got);
    }
    copy_.resize(have);
    text_ = copy_;
  }
  stamp_.hash = XXH3_64bits(text_.data(), text_.size());
}

bool FileText::unchanged() const {
  struct stat info {};
  return ::fstat(fd_, &info) == 0 && static_cast<std::uint64_t>(info.st_size) == stamp_.size &&
         modified_ns(info) == stamp_.modified_ns;
}

void install_map_fault_handler() {
  struct sigaction action {};
  action.sa_handler = on_map_fault;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace puzzled::client
