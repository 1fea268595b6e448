#include "daemon/net/listen.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "proto/base/fatal.h"
#include "proto/base/paths.h"

namespace puzzled {
namespace {

constexpr int kConfiguration = 2;

// The text in a lock file: the pid of its holder. Written by our own kind, but read with care.
std::string holder_of(int fd) {
  char text[16] = {};
  const ssize_t got = ::pread(fd, text, sizeof text - 1, 0);
  std::string pid;
  for (ssize_t i = 0; i < got && text[i] >= '0' && text[i] <= '9'; ++i) pid += text[i];
  return pid.empty() ? "unknown" : pid;
}

void make_folder(const std::string& path) {
  const std::string folder = folder_of(path);
  struct stat info {};
  const bool exists = ::stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  // A folder of our own making must be private; one that the operator chose is theirs to judge.
  if (exists && folder != default_runtime_folder()) return;
  if (const auto error = ensure_private_folder(folder)) throw Fatal{kConfiguration, *error};
}

void remove_stale(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return;
  if (!S_ISSOCK(info.st_mode)) {
    throw Fatal{kConfiguration,
                fmt::format("{} exists and is not a socket; choose another --endpoint", path)};
  }
  ::unlink(path.c_str());
}

void bind_ipc(zmq::socket_t& socket, const std::string& path) {
  remove_stale(path);
  const mode_t before = ::umask(0177);
  std::string failure;
  try {
    socket.bind("ipc://" + path);
  } catch (const zmq::error_t& error) {
    failure = error.what();
  }
  ::umask(before);
  if (failure.empty() && ::chmod(path.c_str(), 0600) != 0) failure = std::strerror(errno);
  if (!failure.empty()) {
    throw Fatal(kConfiguration, fmt::format("cannot listen at {}: {}", path, failure));
  }
}

}  // namespace

bool is_loopback(const std::string& tcp_endpoint) {
  constexpr std::string_view kScheme = "tcp://";
  const std::size_t colon = tcp_endpoint.rfind(':');
  if (!tcp_endpoint.starts_with(kScheme) || colon < kScheme.size()) return false;
  const std::string host = tcp_endpoint.substr(kScheme.size(), colon - kScheme.size());
  if (host == "localhost" || host == "[::1]") return true;
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos;
}

EndpointLock::EndpointLock(std::string endpoint, bool insecure_tcp)
    : endpoint_(std::move(endpoint)) {
  const auto socket_path = ipc_path(endpoint_);
  if (!socket_path) {
    if (insecure_tcp || is_loopback(endpoint_)) return;
    throw Fatal(kConfiguration,
                fmt::format("{} can be reached from other machines, and connections are neither "
                            "encrypted nor authenticated; use an ipc:// or tcp://127.0.0.1 "
                            "endpoint, or add --insecure-tcp on a network you trust",
                            endpoint_));
  }
  make_folder(*socket_path);
  const std::string path = *socket_path + ".lock";
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd_ < 0) {
    throw Fatal(kConfiguration, fmt::format("cannot create {}: {}", path, std::strerror(errno)));
  }
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    const std::string pid = holder_of(fd_);
    ::close(std::exchange(fd_, -1));
    throw Fatal(kExitRefused, fmt::format("puzzled is already running at {} (pid {}); stop it, or "
                                          "choose another --endpoint",
                                          *socket_path, pid));
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  const bool written = ::ftruncate(fd_, 0) == 0 &&
                       ::pwrite(fd_, pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size());
  static_cast<void>(written);  // the pid is only for people; the lock is what counts
}

EndpointLock::~EndpointLock() {
  // The lock file stays: removing it would let two daemons lock two files of one name.
  if (fd_ >= 0) ::close(fd_);
}

std::string listen(zmq::socket_t& socket, const EndpointLock& lock) {
  if (const auto path = ipc_path(lock.endpoint())) {
    bind_ipc(socket, *path);
    return lock.endpoint();
  }
  try {
    socket.bind(lock.endpoint());
  } catch (const zmq::error_t& error) {
    const int code = error.num() == EADDRINUSE ? kExitRefused : kConfiguration;
    throw Fatal(code, fmt::format("cannot listen at {}: {}", lock.endpoint(), error.what()));
  }
  return socket.get(zmq::sockopt::last_endpoint);
}

}  // namespace puzzled
