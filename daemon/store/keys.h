// How several numbers share one 64-bit key, so that a table is one b-tree that grows at its end.
#pragma once

#include <cstdint>

#include "daemon/broker/types.h"

namespace puzzled::keys {

inline constexpr std::uint64_t kJobMax = (1ULL << 24U) - 1;   // 24 bits
inline constexpr std::uint64_t kCaseMax = (1ULL << 32U) - 1;  // 32 bits
// 7 bits. A later grading of the same case gets a row of its own beside the first.
inline constexpr std::uint64_t kGeneration = 1;

constexpr std::int64_t chunk(JobId job, std::uint64_t chunk_no) {
  return static_cast<std::int64_t>(job.value << 32U | chunk_no);
}
constexpr std::int64_t file(JobId job, std::uint64_t file_no) {
  return static_cast<std::int64_t>(job.value << 32U | file_no);
}
// The low half of any key: the number of the chunk, file or case.
constexpr std::uint64_t number(std::int64_t key) {
  return static_cast<std::uint64_t>(key) & 0xffffffffULL;
}
constexpr std::int64_t result(JobId job, std::uint64_t case_no) {
  return static_cast<std::int64_t>(job.value << 39U | kGeneration << 32U | case_no);
}
constexpr std::int64_t progress(JobId job, std::uint64_t chunk_no) {
  return static_cast<std::int64_t>(job.value << 39U | kGeneration << 32U | chunk_no);
}
constexpr std::int64_t totals(JobId job) {
  return static_cast<std::int64_t>(job.value << 7U | kGeneration);
}

}  // namespace puzzled::keys
