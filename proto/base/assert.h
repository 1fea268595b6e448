// ASSERT: for our own mistakes only, always on. What a peer, a file or a disk does wrong is a value
// or a coded reply, never an assertion.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace puzzled {

[[noreturn]] inline void assert_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr,
               "internal error: %s:%d: assertion failed: %s\n"
               "This is a bug in puzzled. Nothing that was acknowledged is lost.\n",
               file, line, condition);
  std::abort();
}

}  // namespace puzzled

#define ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::puzzled::assert_failed(#condition, __FILE__, __LINE__))
