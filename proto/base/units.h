// Durations and sizes as people write them: "10s", "500ms", "256MiB". One place for all programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace puzzled {

// Microseconds. A decimal number (a fraction is fine: "1.5s") and one of us, ms, s, m (or min), h,
// d, without a blank between; "0" needs no unit. nullopt: anything else, or more than 2^62.
std::optional<std::uint64_t> parse_duration_us(std::string_view text);

// The shortest text that parse_duration_us() reads as exactly `us`, e.g. "10s", "1500ms", "2m".
std::string format_duration_us(std::uint64_t us);
// For people, about three digits: "713us", "15.2ms", "9.81s", "4m 10s", "3h 12m", "2d 4h".
std::string approximate_duration_us(std::uint64_t us);

// Bytes. A decimal number (a fraction is fine) and one of B, KiB, MiB, GiB, TiB (powers of 1024),
// kB, MB, GB, TB (powers of 1000); a plain whole number is bytes. nullopt as above.
std::optional<std::uint64_t> parse_size(std::string_view text);

// The text with the largest binary unit that parse_size() reads as exactly `bytes`: "256MiB".
std::string format_size(std::uint64_t bytes);
// For people, about three digits: "812B", "1.44MiB", "61.3KiB".
std::string approximate_size(std::uint64_t bytes);

}  // namespace puzzled
