// Which refused messages the log hears of: a flood of them must not become a flood of lines.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/broker/types.h"

namespace puzzled {

class RefusalLog {
 public:
  enum class Kind : std::uint8_t { kClient, kWorker, kNamedItself };

  // Of each kind one line in `interval_ms` at most.
  explicit RefusalLog(std::uint32_t interval_ms) : interval_ms_(interval_ms) {}

  // A message was refused for `why`. The line to write; empty: it is counted for a later one.
  std::string note(std::int64_t steady_ms, Kind kind, std::string_view why);
  // The lines that are due about those that were only counted.
  std::vector<std::string> due(std::int64_t steady_ms);
  // How many there were.
  [[nodiscard]] std::uint64_t total(Kind kind) const {
    return totals_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] std::int64_t next_deadline() const;  // steady; kNever: nothing was only counted

 private:
  struct Counted {
    std::int64_t quiet_until_ms = INT64_MIN;
    std::uint64_t count = 0;
    std::string last_why;
  };
  std::uint32_t interval_ms_;
  std::array<Counted, 3> counted_;         // by kind
  std::array<std::uint64_t, 3> totals_{};  // likewise
};

}  // namespace puzzled
