// What the store's thread has made durable since the daemon's start, as plain numbers.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/broker/effect.h"
#include "proto/base/verdict.h"

namespace puzzled {

// Upper bounds of the histogram of commit times: from an idle fast disk to one that is stuck.
inline constexpr std::array<std::chrono::milliseconds, 11> kCommitBounds = {
    std::chrono::milliseconds{1},     std::chrono::milliseconds{2},
    std::chrono::milliseconds{5},     std::chrono::milliseconds{10},
    std::chrono::milliseconds{20},    std::chrono::milliseconds{50},
    std::chrono::milliseconds{100},   std::chrono::milliseconds{200},
    std::chrono::milliseconds{500},   std::chrono::milliseconds{1'000},
    std::chrono::milliseconds{5'000},
};

struct CommitCounts {
  std::uint64_t jobs = 0;      // opened
  std::uint64_t cases = 0;     // accepted
  std::uint64_t attempts = 0;  // charged to a case
  std::array<std::uint64_t, kVerdictCount> results{};
  std::uint64_t cached = 0;           // of them
  std::uint64_t known_answers = 0;    // of cases that were looked up
  std::uint64_t unknown_answers = 0;  // likewise
  // Transactions by how long they took, from their begin: [i] at most kCommitBounds[i], the last
  // one longer.
  std::array<std::uint64_t, kCommitBounds.size() + 1> commits{};
  std::chrono::microseconds commit_time{0};  // of all of them

  // Of a transaction that was committed.
  void note(const std::vector<Record>& records);
  void note_commit(std::chrono::microseconds took);
};

}  // namespace puzzled
