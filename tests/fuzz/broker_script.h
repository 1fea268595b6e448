// The format of the broker target's scripts: one byte that says who does what, and a part (see
// target.h) with the serialised message. Bytes below 128 commit at once.
#pragma once

#include <cstdint>

namespace puzzled::fuzz {

enum class Op : std::uint8_t { kClient, kWorker, kPause, kGone, kCommit };
inline constexpr std::uint8_t kOps = 5;
inline constexpr std::uint8_t kPeers = 3;
inline constexpr std::uint64_t kFirstClient = 1;  // peers' ids
inline constexpr std::uint64_t kFirstWorker = 101;
inline constexpr std::uint64_t kConnectionStep = 1'000;

constexpr std::uint8_t op_byte(Op op, std::uint8_t peer) {
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(op) * kPeers + peer);
}
// A pause for each peer number: within the liveness, over it, over a lease and an upload.
constexpr std::int64_t pause_ms(std::uint64_t peer) {
  return peer == 0 ? 500 : peer == 1 ? 5'000 : 700'000;
}

}  // namespace puzzled::fuzz
