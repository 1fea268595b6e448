// The outcome of one case, as a plain enum for code that must not see protobuf. The numbers are
// those of proto/common.proto (a test compares them) and are stored in the database.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace puzzled {

enum class Verdict : std::uint8_t {
  kSolved = 1,
  kAccepted = 2,
  kWrongAnswer = 3,
  kInvalidInstance = 4,
  kInvalidAnswer = 5,
  kTimeLimit = 6,
  kMemoryLimit = 7,
  kOutputLimit = 8,
  kCrashed = 9,
  kCancelled = 10,
  kInternalError = 11,
};

inline constexpr std::size_t kVerdictCount = 12;  // numbers 0..11; 0 is unused.

// Long names ("TIME_LIMIT") and short ones ("TLE"), indexed by number; "" at 0.
inline constexpr std::array<std::string_view, kVerdictCount> kVerdictNames = {"",
                                                                              "SOLVED",
                                                                              "ACCEPTED",
                                                                              "WRONG_ANSWER",
                                                                              "INVALID_INSTANCE",
                                                                              "INVALID_ANSWER",
                                                                              "TIME_LIMIT",
                                                                              "MEMORY_LIMIT",
                                                                              "OUTPUT_LIMIT",
                                                                              "CRASHED",
                                                                              "CANCELLED",
                                                                              "INTERNAL_ERROR"};
inline constexpr std::array<std::string_view, kVerdictCount> kVerdictShortNames = {
    "", "OK", "AC", "WA", "IV", "PE", "TLE", "MLE", "OLE", "RE", "CA", "JE"};

constexpr std::string_view verdict_name(Verdict v) {
  return kVerdictNames[static_cast<std::size_t>(v)];
}
constexpr std::string_view verdict_short_name(Verdict v) {
  return kVerdictShortNames[static_cast<std::size_t>(v)];
}
constexpr bool is_verdict(std::uint64_t number) { return number >= 1 && number < kVerdictCount; }
// A verdict with which a set of cases still counts as well: SOLVED or ACCEPTED.
constexpr bool is_good(Verdict v) { return v == Verdict::kSolved || v == Verdict::kAccepted; }
// A verdict that says something of the case, so that every worker must find it again. A limit that
// was reached, a crash or a quarantine says as much of the machine.
constexpr bool is_known(Verdict v) {
  return is_good(v) || v == Verdict::kWrongAnswer || v == Verdict::kInvalidInstance ||
         v == Verdict::kInvalidAnswer;
}

// Accepts long and short names in any case, with '-' for '_'. Nothing else.
std::optional<Verdict> parse_verdict(std::string_view text);

}  // namespace puzzled
