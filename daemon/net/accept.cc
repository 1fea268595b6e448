#include "daemon/net/accept.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace puzzled {
namespace {

std::atomic<std::uint64_t> refused{0};

// The system gives the lowest free number, so a high one means that those below are in use.
bool is_one_of_the_last(int fd) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  return static_cast<rlim_t>(fd) + kSpareDescriptors >= limit.rlim_cur;
}

}  // namespace

std::uint64_t refused_connections() { return refused; }

}  // namespace puzzled

// The one of libc is replaced for the whole program.
extern "C" int accept4(int listener, sockaddr* address, socklen_t* length, int flags) {
  const int fd = static_cast<int>(::syscall(SYS_accept4, listener, address, length, flags));
  if (fd < 0 || !puzzled::is_one_of_the_last(fd)) return fd;
  ::close(fd);
  ++puzzled::refused;
  errno = ECONNABORTED;  // as if the peer had gone before it was its turn
  return -1;
}
