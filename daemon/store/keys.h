// How several numbers share one 64-bit key, so that a table is one b-tree that grows at its end.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/broker/types.h"
#include "proto/base/assert.h"

namespace puzzled::keys {

inline constexpr std::uint64_t kJobMax = (1ULL << 24U) - 1;   // 24 bits
inline constexpr std::uint64_t kCaseMax = (1ULL << 32U) - 1;  // 32 bits
// 7 bits. A later grading of the same case gets a row of its own beside the first.
inline constexpr std::uint64_t kFirstGeneration = 1;
inline constexpr std::uint64_t kGenerationMax = 127;

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
constexpr std::int64_t result(JobId job, std::uint64_t case_no,
                              std::uint64_t generation = kFirstGeneration) {
  return static_cast<std::int64_t>(job.value << 39U | generation << 32U | case_no);
}
// Of the newest result of each case: these two are not kept for every generation.
constexpr std::int64_t progress(JobId job, std::uint64_t chunk_no) {
  return static_cast<std::int64_t>(job.value << 39U | kFirstGeneration << 32U | chunk_no);
}
constexpr std::int64_t totals(JobId job) {
  return static_cast<std::int64_t>(job.value << 7U | kFirstGeneration);
}

// Of a case in its chunk, by the column `generations` of the chunk's progress.
// REQUIRES: that is empty (all are in the first), or has a byte for the position.
inline std::uint64_t generation_at(const std::string& generations, std::uint64_t position) {
  if (generations.empty()) return kFirstGeneration;
  ASSERT(position < generations.size());
  return static_cast<std::uint8_t>(generations[position]);
}

}  // namespace puzzled::keys
