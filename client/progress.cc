#include "client/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "client/console.h"
#include "proto/base/units.h"

namespace puzzled::client {

void RateMeter::add(std::int64_t now_ms, std::uint64_t done) {
  samples_.push_back({now_ms, done});
  while (samples_.size() > 2 && samples_[1].at_ms < now_ms - kWindowMs) samples_.pop_front();
}

double RateMeter::per_second() const {
  if (samples_.size() < 2) return 0;
  const Sample& first = samples_.front();
  const Sample& last = samples_.back();
  if (last.at_ms <= first.at_ms || last.done <= first.done) return 0;
  return 1000.0 * static_cast<double>(last.done - first.done) /
         static_cast<double>(last.at_ms - first.at_ms);
}

std::string progress_text(const std::string& what, std::uint64_t done, std::uint64_t total,
                          double per_second, int columns) {
  constexpr int kBarWidthMin = 6;
  constexpr int kBarWidthMax = 24;
  constexpr double kYearS = 3e7;  // more than that says nothing
  const double share =
      total == 0 ? 1.0 : static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  std::string text = fmt::format(" {:5.1f}%  {}/{} cases", 100 * share, done, total);
  if (per_second > 0) {
    text += fmt::format("  {}/s", short_number(per_second));
    if (done < total) {
      const double left_s =
          std::max(1.0, std::round(static_cast<double>(total - done) / per_second));
      if (left_s < 60) {
        text += fmt::format("  {:.0f}s left", left_s);
      } else if (left_s < kYearS) {
        text += fmt::format(
            "  {} left", approximate_duration_us(static_cast<std::uint64_t>(left_s) * 1'000'000));
      }
    }
  }
  // Besides: a blank and the two brackets, and the last column, which stays free.
  const int taken = static_cast<int>(display_width(what) + text.size()) + 4;
  const int width = std::clamp(columns - taken, kBarWidthMin, kBarWidthMax);
  return fmt::format("{} {}{}", what, progress_bar(done, total, static_cast<std::size_t>(width)),
                     text);
}

std::string short_number(double value) {
  if (value < 9.95) return fmt::format("{:.1f}", value);
  if (value < 999.5) return fmt::format("{:.0f}", value);
  if (value < 9'950) return fmt::format("{:.1f}k", value / 1e3);
  if (value < 999'500) return fmt::format("{:.0f}k", value / 1e3);
  return fmt::format("{:.1f}M", value / 1e6);
}

}  // namespace puzzled::client
