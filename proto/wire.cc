#include "proto/wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <bit>
#include <cstring>
#include <string>

#include "proto/base/assert.h"
#include "proto/case_view.h"
#include "proto/client.pb.h"
#include "proto/raw_fields.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace puzzled::wire {
namespace {

constexpr char kTag[4] = {'P', 'Z', 'L', 'D'};
// Field 1, length-delimited: the only field of CaseList.
constexpr std::uint8_t kCasesTag = 0x0a;

void put_u32(char* out, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) out[i] = static_cast<char>((value >> (8 * i)) & 0xffU);
}
std::uint32_t get_u32(const char* in) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i)
    value |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(in[i])) << (8 * i);
  return value;
}

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

CodedInputStream stream_of(std::string_view bytes) {
  return CodedInputStream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                          static_cast<int>(bytes.size()));
}

// Calls `visit` with the content of each field with a length; false: over kFieldsMax. Bytes that
// are no message end the walk: the parser stops there too, or they are a text that it keeps.
template <class Visit>
bool walk(std::string_view message, std::size_t& fields, Visit visit) {
  CodedInputStream in = stream_of(message);
  while (const std::uint32_t tag = read_tag(in)) {
    if (++fields > kFieldsMax) return false;
    const auto type = WireFormatLite::GetTagWireType(tag);
    // The parser keeps what is in a group of which it knows nothing, field by field.
    if (type == WireFormatLite::WIRETYPE_START_GROUP ||
        type == WireFormatLite::WIRETYPE_END_GROUP) {
      continue;
    }
    if (type != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!skip_field(in, tag)) return true;
      continue;
    }
    std::uint32_t length = 0;
    if (!read_length(in, length)) return true;
    const std::string_view rest = message.substr(static_cast<std::size_t>(in.CurrentPosition()));
    if (!visit(rest.substr(0, length))) return false;
    if (length > rest.size() || !in.Skip(static_cast<int>(length))) return true;
  }
  return true;
}

// Without it a small frame could take gigabytes.
bool has_few_fields(std::string_view envelope) {
  std::size_t fields = 0;
  return walk(envelope, fields, [&](std::string_view message) {
    return walk(message, fields, [](std::string_view) { return true; });
  });
}

bool works_with(Version theirs) {
  const int apart = int{theirs.minor} - int{kMinor};
  return theirs.major == kMajor && apart <= kMinorsApartMax && -apart <= kMinorsApartMax;
}

}  // namespace

std::string_view describe(DecodeError error) {
  switch (error) {
    case DecodeError::kNone:
      return "the message is well-formed";
    case DecodeError::kTooShort:
      return "the message is shorter than a header";
    case DecodeError::kNotOurs:
      return "the message is not of the puzzled protocol";
    case DecodeError::kWrongRole:
      return "the message is for the other endpoint (clients and workers have one each)";
    case DecodeError::kOtherVersion:
      return "the message is of another protocol version";
    case DecodeError::kWrongLength:
      return "the message is cut off or has extra bytes";
    case DecodeError::kTooLarge:
      return "the message is over the size limit";
    case DecodeError::kTooManyFields:
      return "the message has too many fields";
    case DecodeError::kMalformed:
      return "the message cannot be decoded";
  }
  return "the message cannot be decoded";
}

std::optional<Version> version_of(std::string_view frame) {
  if (frame.size() < kHeaderBytes || std::memcmp(frame.data(), kTag, sizeof kTag) != 0) {
    return std::nullopt;
  }
  return Version{static_cast<std::uint8_t>(frame[5]), static_cast<std::uint8_t>(frame[6])};
}

std::string describe_skew(std::string_view frame, std::string_view peer, std::string_view self) {
  const Version theirs = version_of(frame).value_or(Version{});
  const auto name = [](Version v) {
    return std::to_string(v.major) + "." + std::to_string(v.minor);
  };
  const std::string apart = theirs.major != kMajor ? "different major versions do not work together"
                                                   : "minor versions may be " +
                                                         std::to_string(kMinorsApartMax) + " apart";
  return std::string(peer) + " speaks protocol version " + name(theirs) + " and " +
         std::string(self) + " version " + name(kVersion) + "; " + apart + ": upgrade " +
         std::string(theirs < kVersion ? peer : self);
}

std::string encode(Role sender, const google::protobuf::MessageLite& envelope) {
  const std::size_t length = envelope.ByteSizeLong();
  ASSERT(length <= kMessageBytesMax);
  std::string frame(kHeaderBytes + length, '\0');
  std::memcpy(frame.data(), kTag, sizeof kTag);
  frame[4] = static_cast<char>(sender);
  frame[5] = static_cast<char>(kMajor);
  frame[6] = static_cast<char>(kMinor);
  put_u32(frame.data() + 8, static_cast<std::uint32_t>(length));
  envelope.SerializeWithCachedSizesToArray(
      reinterpret_cast<std::uint8_t*>(frame.data() + kHeaderBytes));
  return frame;
}

DecodeError decode(std::string_view frame, Role sender, std::size_t bytes_max,
                   google::protobuf::MessageLite& envelope) {
  if (frame.size() < kHeaderBytes) return DecodeError::kTooShort;
  if (std::memcmp(frame.data(), kTag, sizeof kTag) != 0) return DecodeError::kNotOurs;
  if (frame[4] != static_cast<char>(sender)) return DecodeError::kWrongRole;
  if (!works_with(*version_of(frame))) return DecodeError::kOtherVersion;
  if (frame.size() > bytes_max) return DecodeError::kTooLarge;
  const std::string_view body = frame.substr(kHeaderBytes);
  if (get_u32(frame.data() + 8) != body.size()) return DecodeError::kWrongLength;
  if (!has_few_fields(body)) return DecodeError::kTooManyFields;
  if (!envelope.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return DecodeError::kMalformed;
  }
  return DecodeError::kNone;
}

std::optional<std::vector<std::uint32_t>> split_cases(std::string_view case_list) {
  std::vector<std::uint32_t> offsets;
  CodedInputStream in = stream_of(case_list);
  std::size_t at = 0;
  while (at < case_list.size()) {
    offsets.push_back(static_cast<std::uint32_t>(at));
    std::uint32_t length = 0;
    if (read_tag(in) != kCasesTag || !read_length(in, length)) return std::nullopt;
    at = static_cast<std::size_t>(in.CurrentPosition()) + length;
    if (at > case_list.size() || !in.Skip(static_cast<int>(length))) return std::nullopt;
  }
  offsets.push_back(static_cast<std::uint32_t>(at));
  return offsets;
}

void append_case(std::string_view serialised_case, std::string& case_list) {
  append_field(kCasesTag >> 3U, serialised_case, case_list);
}

std::uint64_t chunk_hash(std::string_view cases, const std::vector<std::string>& files) {
  std::uint64_t seed = files.size();
  for (const std::string& file : files) seed = XXH3_64bits_withSeed(file.data(), file.size(), seed);
  return XXH3_64bits_withSeed(cases.data(), cases.size(), seed);
}

std::string serialised_file(std::string_view path, std::uint64_t first_case,
                            std::uint64_t case_count) {
  proto::File file;
  file.set_path(std::string(path));
  file.set_first_case(first_case);
  file.set_case_count(case_count);
  return file.SerializeAsString();
}

}  // namespace puzzled::wire
