// Reads serialised messages by hand, where parsing would cost an allocation for each case.
// protobuf's CodedInputStream takes tags and lengths of up to ten bytes and drops what does not fit
// into 32 bits; its parser takes five. What is taken here, the parser takes too.
#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <limits>

namespace puzzled::wire {

inline constexpr int kTagBytesMax = 5;  // of a tag and of a length, as in protobuf's parser

// The next tag; 0 at the end, and for what is no tag: ConsumedEntireMessage() tells them apart.
inline std::uint32_t read_tag(google::protobuf::io::CodedInputStream& in) {
  const int at = in.CurrentPosition();
  const std::uint32_t tag = in.ReadTag();
  return in.CurrentPosition() - at <= kTagBytesMax ? tag : 0;
}

// The length of the field that follows; false: none, or over 2 GiB.
inline bool read_length(google::protobuf::io::CodedInputStream& in, std::uint32_t& length) {
  const int at = in.CurrentPosition();
  std::uint64_t value = 0;
  if (!in.ReadVarint64(&value) || in.CurrentPosition() - at > kTagBytesMax ||
      value > std::uint64_t{std::numeric_limits<std::int32_t>::max()}) {
    return false;
  }
  length = static_cast<std::uint32_t>(value);
  return true;
}

// Passes over a field that is not known. False: it is cut off, or a group, which proto3 has not, or
// has the number 0, which no field has.
inline bool skip_field(google::protobuf::io::CodedInputStream& in, std::uint32_t tag) {
  using google::protobuf::internal::WireFormatLite;
  if (WireFormatLite::GetTagFieldNumber(tag) == 0) return false;
  std::uint32_t length = 0;
  switch (WireFormatLite::GetTagWireType(tag)) {
    case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
      return read_length(in, length) && in.Skip(static_cast<int>(length));
    case WireFormatLite::WIRETYPE_START_GROUP:
      return false;
    default:
      return WireFormatLite::SkipField(&in, tag);
  }
}

}  // namespace puzzled::wire
