// The times that the shells give to the machines.
#pragma once

#include <chrono>
#include <cstdint>

#include "daemon/broker/types.h"

namespace puzzled {

inline std::int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline Now now() {
  return {steady_ms(), std::chrono::duration_cast<std::chrono::milliseconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count()};
}

}  // namespace puzzled
