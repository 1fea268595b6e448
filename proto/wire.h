// Framing of all messages, and the byte-level view of case lists. Knows protobuf, no sockets.
//
// A message is one ZeroMQ frame: a header of 12 bytes, then a serialised envelope
// (ClientRequest, ClientReply, FromWorker or ToWorker).
//   bytes 0-3   "PZLD"
//   byte  4     role of the sender: 'c' client, 'w' worker, 'b' broker
//   byte  5     protocol major version; another major version is refused
//   byte  6     protocol minor version; it may differ by one, unknown fields of a later one are
//               ignored
//   byte  7     zero
//   bytes 8-11  length of the envelope, little-endian
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/digest.h"

namespace google::protobuf {
class MessageLite;
}

namespace puzzled::wire {

inline constexpr std::uint8_t kMajor = 1;
inline constexpr std::uint8_t kMinor = 1;
// So far apart two minor versions may be: an upgrade goes through all of them, in any order.
inline constexpr std::uint8_t kMinorsApartMax = 1;
inline constexpr std::size_t kHeaderBytes = 12;
// Limits that both sides check. Defaults; the daemon's options can lower them.
inline constexpr std::size_t kMessageBytesMax = 32U << 20U;
inline constexpr std::size_t kCaseBytesMax = 16U << 20U;
inline constexpr std::size_t kAnswerBytesMax = 16U << 20U;
inline constexpr std::uint32_t kChunkCasesMax = 1000;
inline constexpr std::uint32_t kDispatchCasesMax = 4'096;
inline constexpr std::size_t kChunkBytesSoft = 256U << 10U;  // a chunk is closed once it is over.
inline constexpr std::size_t kUnacknowledgedChunksMax = 16;  // per client.
// Of an envelope and the message in it. A field of two bytes can take a hundred once it is parsed.
inline constexpr std::size_t kFieldsMax = 200'000;
inline constexpr std::size_t kNameBytesMax = 200;
inline constexpr std::size_t kPathBytesMax = 4096;

enum class Role : char { kClient = 'c', kWorker = 'w', kBroker = 'b' };

enum class DecodeError {
  kNone,
  kTooShort,       // less than a header
  kNotOurs,        // wrong tag
  kWrongRole,      // e.g. a worker at the clients' endpoint
  kOtherVersion,   // other major version, or a minor one too far away
  kWrongLength,    // the length field does not match the frame
  kTooLarge,       // over the limit
  kTooManyFields,  // more than kFieldsMax
  kMalformed,      // not the protobuf message it should be
};
// One printable sentence for people, e.g. "the message is not of the puzzled protocol".
std::string_view describe(DecodeError error);

struct Version {
  std::uint8_t major = 0;
  std::uint8_t minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};
inline constexpr Version kVersion{kMajor, kMinor};
// Of a frame with our tag; nullopt: it is none.
std::optional<Version> version_of(std::string_view frame);
// For kOtherVersion: both versions, what may differ, and who is to be upgraded. `peer` and `self`
// are e.g. "the worker" and "this daemon".
std::string describe_skew(std::string_view frame, std::string_view peer, std::string_view self);

// The frame for an envelope. REQUIRES: the envelope serialises to at most kMessageBytesMax.
std::string encode(Role sender, const google::protobuf::MessageLite& envelope);

// Parses a frame sent by `sender` into `envelope`. On an error the envelope is unspecified.
DecodeError decode(std::string_view frame, Role sender, std::size_t bytes_max,
                   google::protobuf::MessageLite& envelope);

// Where the cases of a serialised CaseList start: `offsets` has one entry a case plus the total
// length, so that case i is bytes [offsets[i], offsets[i+1]), tag included. nullopt: the bytes are
// not a CaseList, or contain other fields. Does not look inside the cases.
std::optional<std::vector<std::uint32_t>> split_cases(std::string_view case_list);

// Appends one case's serialised `Case` message to a serialised CaseList.
void append_case(std::string_view serialised_case, std::string& case_list);

// XXH3 of a chunk's serialised cases and its file entries (seeded with `files` in order).
// `files` are serialised File messages.
std::uint64_t chunk_hash(std::string_view cases, const std::vector<std::string>& files);
// A serialised File message, as clients send it.
std::string serialised_file(std::string_view path, std::uint64_t first_case,
                            std::uint64_t case_count);
// kEmptyDigest and fold_digest() are in proto/base/digest.h.

}  // namespace puzzled::wire
