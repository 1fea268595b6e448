#include "client/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "client/failure.h"
#include "proto/base/assert.h"

namespace puzzled::client {
namespace {

constexpr std::size_t kBufferBytes = 1U << 16U;
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

[[noreturn]] void throw_unwritable(int exit_code, const std::string& shown, int error) {
  throw Failure(exit_code, fmt::format("cannot write {}: {}", shown, std::strerror(error)));
}

int open_or_create(int parent, const std::string& name, const std::string& shown) {
  if (::mkdirat(parent, name.c_str(), 0777) != 0 && errno != EEXIST) {
    throw_unwritable(kExitInvalid, shown, errno);
  }
  const int fd = ::openat(parent, name.c_str(), kFolderFlags | O_NOFOLLOW);
  if (fd < 0) throw_unwritable(kExitInvalid, shown, errno);
  return fd;
}

}  // namespace

std::optional<std::string> unsafe_path(std::string_view path) {
  if (path.empty()) return "it is empty";
  if (path.front() == '/') return "it is absolute";
  if (path.find('\0') != std::string_view::npos) return "it holds a NUL byte";
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view component = path.substr(at, end - at);
    if (component.empty()) return "it has an empty part";
    if (component == "." || component == "..") {
      return fmt::format("it has the part \"{}\"", component);
    }
    at = end + 1;
  }
  return std::nullopt;
}

OutputFolder::OutputFolder(const std::string& folder) : folder_(folder) {
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    throw_unwritable(kExitInvalid, folder, errno);
  }
  // The folder itself is the user's word: a link to it is followed.
  fd_ = ::open(folder.c_str(), kFolderFlags);
  if (fd_ < 0) throw_unwritable(kExitInvalid, folder, errno);
}

OutputFolder::~OutputFolder() { ::close(fd_); }

bool OutputFolder::exists(std::string_view path) const {
  struct stat info {};
  return ::fstatat(fd_, std::string(path).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

OutputFolder::File::File(const OutputFolder& folder, std::string_view path)
    : shown_(fmt::format("{}/{}", folder.folder_, path)) {
  ASSERT(!unsafe_path(path));
  folder_fd_ = ::fcntl(folder.fd_, F_DUPFD_CLOEXEC, 0);
  try {
    if (folder_fd_ < 0) throw_unwritable(kExitInvalid, shown_, errno);
    for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
         slash = path.find('/')) {
      const int next = open_or_create(folder_fd_, std::string(path.substr(0, slash)), shown_);
      ::close(folder_fd_);
      folder_fd_ = next;
      path.remove_prefix(slash + 1);
    }
    name_ = path;
    // Short, so that a name of the longest length still gets its temporary one.
    temporary_ = fmt::format(".puzzlectl-{}.tmp", ::getpid());
    fd_ = ::openat(folder_fd_, temporary_.c_str(),
                   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd_ < 0) throw_unwritable(kExitInvalid, shown_, errno);
  } catch (...) {
    if (folder_fd_ >= 0) ::close(folder_fd_);
    throw;
  }
}

OutputFolder::File::~File() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlinkat(folder_fd_, temporary_.c_str(), 0);
  ::close(folder_fd_);
}

void OutputFolder::File::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kBufferBytes) write_out();
}

void OutputFolder::File::write_out() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_unwritable(kExitOutput, shown_, errno);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void OutputFolder::File::commit(bool overwrite) {
  write_out();
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0) throw_unwritable(kExitOutput, shown_, errno);
  if (overwrite) {
    if (::renameat(folder_fd_, temporary_.c_str(), folder_fd_, name_.c_str()) != 0) {
      throw_unwritable(kExitInvalid, shown_, errno);
    }
    temporary_.clear();
    return;
  }
  // A link refuses to replace what exists, also what came into being a moment ago. The temporary
  // name goes with this object.
  if (::linkat(folder_fd_, temporary_.c_str(), folder_fd_, name_.c_str(), 0) == 0) return;
  const bool no_links = errno == EPERM || errno == EOPNOTSUPP;  // FAT and the like
  if (no_links && ::renameat2(folder_fd_, temporary_.c_str(), folder_fd_, name_.c_str(),
                              RENAME_NOREPLACE) == 0) {
    temporary_.clear();
    return;
  }
  throw_unwritable(kExitInvalid, shown_, errno);
}

}  // namespace puzzled::client
