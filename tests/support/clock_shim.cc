// Preloaded into a program, moves its wall clock, and only that, by the seconds (a 64-bit number,
// of this machine's order) in the file named by PUZZLED_TEST_CLOCK. The file may change meanwhile.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

std::int64_t offset_s() {
  static const volatile std::int64_t* const offset = [] {
    const char* path = std::getenv("PUZZLED_TEST_CLOCK");
    const int fd = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
    void* memory = fd < 0 ? MAP_FAILED : ::mmap(nullptr, 8, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0) ::close(fd);
    return memory == MAP_FAILED ? nullptr : static_cast<const volatile std::int64_t*>(memory);
  }();
  return offset == nullptr ? 0 : *offset;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  const auto code = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    time->tv_sec += offset_s();
  }
  return code;
}

extern "C" int gettimeofday(timeval* time, void*) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

extern "C" time_t time(time_t* to) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (to != nullptr) *to = now.tv_sec;
  return now.tv_sec;
}
