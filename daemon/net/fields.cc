#include "daemon/net/fields.h"

#include <algorithm>

namespace puzzled::codec {
namespace {

// Length of the UTF-8 sequence that starts with `lead`; 0: none does.
std::size_t sequence_bytes(std::uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

bool is_printable_code_point(std::uint32_t code, std::size_t bytes) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  if (code >= 0xd800 && code <= 0xdfff) return false;
  // Line and paragraph separators, and what reorders text (a label could pose as another).
  if (code == 0x2028 || code == 0x2029) return false;
  if ((code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)) return false;
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  return !overlong && code <= 0x10ffff;
}

}  // namespace

bool is_printable(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto lead = static_cast<std::uint8_t>(text[at]);
    const std::size_t bytes = sequence_bytes(lead);
    if (bytes == 0 || at + bytes > text.size()) return false;
    std::uint32_t code = bytes == 1 ? lead : lead & (0xffU >> (bytes + 1));
    for (std::size_t i = 1; i < bytes; ++i) {
      const auto next = static_cast<std::uint8_t>(text[at + i]);
      if ((next & 0xc0U) != 0x80U) return false;
      code = (code << 6U) | (next & 0x3fU);
    }
    if (!is_printable_code_point(code, bytes)) return false;
    at += bytes;
  }
  return true;
}

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
