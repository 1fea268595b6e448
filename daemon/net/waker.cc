#include "daemon/net/waker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace puzzled {

Waker::Waker() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Waker::~Waker() { ::close(fd_); }

void Waker::wake() const {
  const std::uint64_t one = 1;
  // A full counter (EAGAIN) is as good as a wake-up.
  [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
}

void Waker::clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(fd_, &count, sizeof count);
}

}  // namespace puzzled
