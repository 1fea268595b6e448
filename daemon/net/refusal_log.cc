#include "daemon/net/refusal_log.h"

#include <fmt/format.h>

#include <algorithm>

namespace puzzled {
namespace {

constexpr std::array<std::string_view, 3> kWhose = {"clients", "workers",
                                                    "connections that name themselves"};

}  // namespace

std::string RefusalLog::note(std::int64_t steady_ms, Kind kind, std::string_view why) {
  ++totals_[static_cast<std::size_t>(kind)];
  Counted& counted = counted_[static_cast<std::size_t>(kind)];
  if (steady_ms < counted.quiet_until_ms || counted.count > 0) {
    ++counted.count;
    counted.last_why = why;
    return {};
  }
  counted.quiet_until_ms = steady_ms + interval_ms_;
  return fmt::format("refused a message of {}: {}", kWhose[static_cast<std::size_t>(kind)], why);
}

std::vector<std::string> RefusalLog::due(std::int64_t steady_ms) {
  std::vector<std::string> lines;
  for (std::size_t kind = 0; kind < counted_.size(); ++kind) {
    Counted& counted = counted_[kind];
    if (counted.count == 0 || steady_ms < counted.quiet_until_ms) continue;
    lines.push_back(fmt::format("refused {} more messages of {}, the last one: {}", counted.count,
                                kWhose[kind], counted.last_why));
    counted = {.quiet_until_ms = steady_ms + interval_ms_, .count = 0, .last_why = {}};
  }
  return lines;
}

std::int64_t RefusalLog::next_deadline() const {
  std::int64_t next = kNever;
  for (const Counted& counted : counted_) {
    if (counted.count > 0) next = std::min(next, counted.quiet_until_ms);
  }
  return next;
}

}  // namespace puzzled
