#include "daemon/net/fields.h"

#include <algorithm>

namespace puzzled::codec {

bool is_routing_name(std::string_view text) {
  if (text.empty() || text.size() > kRoutingNameBytesMax) return false;
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return alphanumeric(text[0]) && std::ranges::all_of(text, [&](char c) {
           return alphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

std::optional<Bytes16> bytes16(std::string_view bytes) {
  Bytes16 out;
  if (bytes.size() != out.size()) return std::nullopt;
  std::memcpy(out.data(), bytes.data(), out.size());
  return out;
}

}  // namespace puzzled::codec
