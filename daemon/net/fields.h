// Checks of single fields that both codecs share.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/broker/types.h"
#include "proto/base/printable.h"

namespace puzzled::codec {

inline constexpr std::size_t kReasonBytesMax = 1'000;    // reasons and messages people read
inline constexpr std::size_t kRoutingNameBytesMax = 64;  // puzzle and solver names
inline constexpr std::size_t kVersionBytesMax = 100;
// Numbers above this are not exact in JSON and near the end of SQLite's integers.
inline constexpr std::uint64_t kNumberMax = 1ULL << 53U;

using puzzled::is_printable;
// [a-z0-9] and, after the first character, also [-_.]; 1 to kRoutingNameBytesMax bytes.
bool is_routing_name(std::string_view text);
std::optional<Bytes16> bytes16(std::string_view bytes);

}  // namespace puzzled::codec
