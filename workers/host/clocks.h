// The two clocks by which cases are judged, in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace puzzled::host {

inline std::int64_t read_clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}
// Shared by all processes of the machine. Costs no system call.
inline std::int64_t monotonic_ns() { return read_clock_ns(CLOCK_MONOTONIC); }
// CPU time of this process. A system call.
inline std::int64_t process_cpu_ns() { return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace puzzled::host
