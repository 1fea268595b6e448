// The digest of a job's chunks: what client, broker and store compare to know that they mean the
// same cases.
#pragma once

#include <bit>
#include <cstdint>

namespace puzzled::wire {

inline constexpr std::uint64_t kEmptyDigest = 0x9e3779b97f4a7c15ULL;

// Digest of a job: folds the chunks' hashes in order; starts at kEmptyDigest.
constexpr std::uint64_t fold_digest(std::uint64_t digest, std::uint64_t chunk_hash) {
  return (std::rotl(digest, 5) ^ chunk_hash) * 0x9fb21c651e98df25ULL;
}

}  // namespace puzzled::wire
