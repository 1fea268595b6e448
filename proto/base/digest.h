// The digest of a job's chunks: what client, broker and store compare to know that they mean the
// same cases. And of an answer, which broker and store compare.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace puzzled::wire {

inline constexpr std::uint64_t kEmptyDigest = 0x9e3779b97f4a7c15ULL;

// Digest of a job: folds the chunks' hashes in order; starts at kEmptyDigest.
constexpr std::uint64_t fold_digest(std::uint64_t digest, std::uint64_t chunk_hash) {
  return (std::rotl(digest, 5) ^ chunk_hash) * 0x9fb21c651e98df25ULL;
}

// Of any bytes: tells two answers apart, not from an attack. Reads them little-endian.
constexpr std::uint64_t digest_of(std::string_view bytes) {
  std::uint64_t digest = fold_digest(kEmptyDigest, bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    for (std::size_t i = at; i < bytes.size() && i < at + 8; ++i) {
      word |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * (i - at));
    }
    digest = fold_digest(digest, word);
  }
  return digest ^ (digest >> 32U);
}

}  // namespace puzzled::wire
