#include "proto/base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>

namespace puzzled {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::uint64_t kSecond = 1'000'000;
constexpr std::array<Unit, 7> kDurations{{{"d", 86'400 * kSecond},
                                          {"h", 3'600 * kSecond},
                                          {"m", 60 * kSecond},
                                          {"min", 60 * kSecond},
                                          {"s", kSecond},
                                          {"ms", 1'000},
                                          {"us", 1}}};
constexpr std::array<Unit, 9> kSizes{{{"TiB", 1ULL << 40U},
                                      {"GiB", 1ULL << 30U},
                                      {"MiB", 1ULL << 20U},
                                      {"KiB", 1ULL << 10U},
                                      {"B", 1},
                                      {"kB", 1'000},
                                      {"MB", 1'000'000},
                                      {"GB", 1'000'000'000},
                                      {"TB", 1'000'000'000'000}}};
constexpr std::uint64_t kValueMax = 1ULL << 62U;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// number × factor for "12" or "12.5", exact for whole numbers, rounded otherwise.
std::optional<std::uint64_t> scale(std::string_view number, std::uint64_t factor) {
  std::uint64_t whole = 0;
  std::size_t i = 0;
  for (; i < number.size() && is_digit(number[i]); ++i) {
    whole = whole * 10 + static_cast<std::uint64_t>(number[i] - '0');
    if (whole > kValueMax) return std::nullopt;
  }
  if (i == 0 || whole > kValueMax / factor) return std::nullopt;
  std::uint64_t value = whole * factor;
  if (i == number.size()) return value;
  if (number[i] != '.' || ++i == number.size()) return std::nullopt;
  double fraction = 0;
  double place = 0.1;
  for (; i < number.size(); ++i, place /= 10) {
    if (!is_digit(number[i])) return std::nullopt;
    fraction += place * (number[i] - '0');
  }
  value += static_cast<std::uint64_t>(std::llround(fraction * static_cast<double>(factor)));
  if (value > kValueMax) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse(std::string_view text, std::span<const Unit> units) {
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
  const std::string_view name = text.substr(end);
  for (const Unit& unit : units) {
    if (unit.name == name) return scale(text.substr(0, end), unit.factor);
  }
  return std::nullopt;
}

// Three digits: 9.81, 15.2, 812.
std::string three_digits(double value, std::string_view unit) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}{}", value, decimals, unit);
}

}  // namespace

std::optional<std::uint64_t> parse_duration_us(std::string_view text) {
  if (text == "0") return 0;
  return parse(text, kDurations);
}

std::string format_duration_us(std::uint64_t us) {
  if (us == 0) return "0s";
  for (const Unit& unit : kDurations) {
    if (us % unit.factor == 0) return fmt::format("{}{}", us / unit.factor, unit.name);
  }
  return fmt::format("{}us", us);
}

std::string approximate_duration_us(std::uint64_t us) {
  if (us < 1'000) return fmt::format("{}us", us);
  if (us < kSecond) return three_digits(static_cast<double>(us) / 1e3, "ms");
  const std::uint64_t s = us / kSecond;
  if (s < 60) return three_digits(static_cast<double>(us) / 1e6, "s");
  if (s < 3'600) return fmt::format("{}m {}s", s / 60, s % 60);
  if (s < 86'400) return fmt::format("{}h {}m", s / 3'600, s % 3'600 / 60);
  return fmt::format("{}d {}h", s / 86'400, s % 86'400 / 3'600);
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) {
    return scale(text, 1);
  }
  return parse(text, kSizes);
}

std::string format_size(std::uint64_t bytes) {
  if (bytes == 0) return "0B";
  for (const Unit& unit : kSizes) {
    if (bytes % unit.factor == 0) return fmt::format("{}{}", bytes / unit.factor, unit.name);
  }
  return fmt::format("{}B", bytes);
}

std::string approximate_size(std::uint64_t bytes) {
  if (bytes < 1'024) return fmt::format("{}B", bytes);
  double value = static_cast<double>(bytes);
  constexpr std::array<std::string_view, 4> kNames{"KiB", "MiB", "GiB", "TiB"};
  std::size_t i = 0;
  for (value /= 1'024; value >= 999.5 && i + 1 < kNames.size(); ++i) value /= 1'024;
  return three_digits(value, kNames[i]);
}

}  // namespace puzzled
