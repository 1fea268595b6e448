#include "proto/case_view.h"

#include <cstddef>

namespace puzzled::wire {
namespace {

enum WireType : std::uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// As protobuf's parser takes them: values have up to ten bytes, tags and lengths five.
constexpr unsigned kValueBits = 64;
constexpr unsigned kTagBits = 32;

bool take_varint(std::string_view& in, std::uint64_t& value, unsigned bits) {
  value = 0;
  for (unsigned shift = 0; shift < bits && !in.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(in.front());
    in.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool take_bytes(std::string_view& in, std::string_view& value) {
  std::uint64_t length = 0;
  if (!take_varint(in, length, kTagBits) || length > in.size()) return false;
  value = in.substr(0, length);
  in.remove_prefix(length);
  return true;
}

bool skip(std::string_view& in, std::uint64_t wire_type) {
  std::uint64_t number = 0;
  std::string_view bytes;
  switch (wire_type) {
    case kVarint:
      return take_varint(in, number, kValueBits);
    case kBytes:
      return take_bytes(in, bytes);
    case kFixed64:
    case kFixed32: {
      const std::size_t size = wire_type == kFixed64 ? 8 : 4;
      if (in.size() < size) return false;
      in.remove_prefix(size);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

std::optional<CaseView> parse_case(std::string_view in) {
  CaseView view;
  while (!in.empty()) {
    std::uint64_t tag = 0;
    if (!take_varint(in, tag, kTagBits) || tag >> kTagBits != 0) return std::nullopt;
    const std::uint64_t field = tag >> 3U;
    if (field == 0) return std::nullopt;  // no field has it
    std::string_view bytes;
    const bool known = (tag & 7U) == kBytes && field <= 4;
    if (known ? !take_bytes(in, bytes) : !skip(in, tag & 7U)) return std::nullopt;
    if (!known) continue;
    switch (field) {
      case 1:
        view.instance = bytes;
        break;
      case 2:  // of a oneof the last one counts
        view.expected = bytes;
        view.expected_error.reset();
        break;
      case 3:
        view.expected_error = bytes;
        view.expected.reset();
        break;
      default:
        view.invalid = bytes;
        break;
    }
  }
  return view;
}

void write_case(const CaseView& view, std::string& out) {
  out.clear();
  if (!view.instance.empty()) append_field(1, view.instance, out);
  if (view.expected) append_field(2, *view.expected, out);
  if (view.expected_error) append_field(3, *view.expected_error, out);
  if (!view.invalid.empty()) append_field(4, view.invalid, out);
}

void append_field(unsigned field, std::string_view bytes, std::string& out) {
  out.push_back(static_cast<char>(field << 3U | kBytes));
  std::size_t length = bytes.size();
  for (; length >= 0x80; length >>= 7U) out.push_back(static_cast<char>(length | 0x80U));
  out.push_back(static_cast<char>(length));
  out.append(bytes);
}

std::string_view CaseWalker::take() {
  std::uint64_t tag = 0;
  std::string_view bytes;
  if (!take_varint(rest_, tag, kTagBits) || !take_bytes(rest_, bytes)) rest_ = {};
  ++next_;
  return bytes;
}

std::string_view CaseWalker::at(std::uint32_t position) {
  while (next_ < position) take();
  return take();
}

}  // namespace puzzled::wire
