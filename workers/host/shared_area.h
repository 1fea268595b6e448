// The memory file that a slot shares with its solver process: a header, an output area for
// results and an input area for cases. The host fills the input and the header while the child
// waits on its socket; from then on they meet in the header's atomics only, so that a case costs
// no system call.
//
// The socket carries one byte a message:
//   host -> child   kRun        solve positions [next, limit) of the dispatch
//                   kGoOn       the output area has been emptied
//   child -> host   kFinished   the cursor has reached its limit
//                   kFull       the next result does not fit: waiting for kGoOn
// End of file on either side: the other one is gone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "proto/wire.h"

namespace puzzled::host {

inline constexpr char kRun = 'r';
inline constexpr char kGoOn = 'g';
inline constexpr char kFinished = 'f';
inline constexpr char kFull = 'o';

// The child's descriptors; everything else is closed when it starts.
inline constexpr int kChildMemoryFd = 3;
inline constexpr int kChildSocketFd = 4;

inline constexpr std::uint32_t kNoPosition = UINT32_MAX;

enum class ChildOutcome : std::uint32_t { kNone = 0, kMemoryLimit = 1 };

struct SharedHeader {
  static constexpr std::size_t kNameBytesMax = 64;

  // Written by the host while the child waits.
  std::uint64_t dispatch_no;  // another number: another dispatch is in the input area
  std::uint64_t cases_bytes;
  std::uint64_t time_limit_us;
  std::uint64_t memory_limit_bytes;
  std::uint64_t answer_bytes_max;
  std::uint64_t keys_wanted;   // 0: no
  char puzzle[kNameBytesMax];  // ends with a zero
  char solver[kNameBytesMax];

  // limit << 32 | next. The child claims `next` by raising it, the host trims by lowering `limit`.
  alignas(64) std::atomic<std::uint64_t> cursor;
  // The case being solved; the times belong to `start_position` only if that is `next - 1` of a
  // cursor read after them (see Slot::sample()).
  std::atomic<std::uint32_t> start_position;
  std::atomic<std::int64_t> start_mono_ns;
  std::atomic<std::int64_t> start_cpu_ns;
  // results << 32 | bytes of output in use. Results count from the start of the run, in order of
  // positions; the bytes restart from 0 when the host has emptied the area.
  std::atomic<std::uint64_t> output;
  std::atomic<std::int64_t> run_mono_ns;     // when the run began
  std::atomic<std::int64_t> finish_mono_ns;  // when the last case ended
  std::atomic<ChildOutcome> outcome;         // why the child ended itself
  std::atomic<std::uint64_t> peak_bytes;     // of the case being solved, kept by budget
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

constexpr std::uint64_t pack(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32U | low;
}
constexpr std::uint32_t high_of(std::uint64_t packed) {
  return static_cast<std::uint32_t>(packed >> 32U);
}
constexpr std::uint32_t low_of(std::uint64_t packed) { return static_cast<std::uint32_t>(packed); }

inline constexpr std::size_t kHeaderArea = 4096;
static_assert(sizeof(SharedHeader) <= kHeaderArea);
// One result of the largest answer fits, with its message and field headers.
inline constexpr std::size_t kOutputArea = wire::kAnswerBytesMax + (1U << 20U);
// More than this is handed over in several parts.
inline constexpr std::size_t kOutputSoft = 2U << 20U;
inline constexpr std::size_t kInputArea = wire::kMessageBytesMax;

// Offsets in the file. The child maps the input area read-only.
inline constexpr std::size_t kOutputAt = kHeaderArea;
inline constexpr std::size_t kInputAt = kOutputAt + kOutputArea;
inline constexpr std::size_t kAreaBytes = kInputAt + kInputArea;

}  // namespace puzzled::host
