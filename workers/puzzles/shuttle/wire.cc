#include <fmt/format.h>

#include <algorithm>

#include "proto/puzzles/shuttle.pb.h"
#include "workers/puzzles/message_io.h"
#include "workers/puzzles/shuttle/shuttle.h"

namespace puzzled::shuttle {
namespace {

// The wire form of Answer.moves, read and written here without a message: an answer can have a
// million moves, and a message would hold them once more.
constexpr char kMovesTag = 0x0a;             // field 1, packed.
constexpr unsigned kOneByte = 0x80;          // varints below take one byte, all positions two.
constexpr std::size_t kHeaderBytesMax = 11;  // tag and length.

// The moves if `bytes` is as encode_answer() writes it; nullopt: ask the message.
std::optional<Moves> decode_packed(std::string_view bytes) {
  if (bytes.empty()) return Moves{};
  if (bytes.front() != kMovesTag) return std::nullopt;
  std::size_t at = 1;
  std::size_t length = 0;
  for (unsigned shift = 0; shift < 32; shift += 7) {
    if (at == bytes.size()) return std::nullopt;
    const auto byte = static_cast<std::uint8_t>(bytes[at++]);
    length |= std::size_t{byte & 0x7fU} << shift;
    if (byte < kOneByte) break;
  }
  if (length != bytes.size() - at) return std::nullopt;
  Moves moves;
  moves.reserve(length);
  while (at < bytes.size()) {
    unsigned position = static_cast<std::uint8_t>(bytes[at++]);
    if (position >= kOneByte) {
      if (at == bytes.size()) return std::nullopt;
      const auto high = static_cast<std::uint8_t>(bytes[at++]);
      if (high >= kOneByte) return std::nullopt;
      position = (position & 0x7fU) | unsigned{high} << 7U;
    }
    if (position < 1 || position > kPositionMax) return std::nullopt;
    moves.push_back(static_cast<std::uint16_t>(position));
  }
  return moves;
}

}  // namespace

Instance decode_instance(std::string_view bytes) {
  auto& message = scratch_message<proto::Instance>();
  decode_message(bytes, message, "instance");
  const Instance instance{message.n()};
  if (auto defect = defect_of(instance)) throw InvalidWire(*defect);
  return instance;
}

void encode_instance(const Instance& instance, std::string& out) {
  auto& message = scratch_message<proto::Instance>();
  message.set_n(instance.n);
  message.SerializeToString(&out);
}

Moves decode_answer(std::string_view bytes) {
  if (auto moves = decode_packed(bytes)) return std::move(*moves);
  proto::Answer message;
  decode_message(bytes, message, "answer");
  Moves moves;
  for (const std::uint32_t position : message.moves()) {
    if (position < 1 || position > kPositionMax) {
      throw InvalidWire(
          fmt::format("found {}, expected a position in 1..{}", position, kPositionMax));
    }
    moves.push_back(static_cast<std::uint16_t>(position));
  }
  return moves;
}

void encode_answer(const Moves& moves, std::string& out) {
  out.clear();
  if (moves.empty()) return;
  std::size_t length = 0;
  for (const std::uint16_t position : moves) length += position < kOneByte ? 1 : 2;
  out.reserve(length + kHeaderBytesMax);
  out.push_back(kMovesTag);
  for (std::size_t rest = length; true; rest >>= 7U) {
    const bool last = rest < kOneByte;
    out.push_back(static_cast<char>(last ? rest : rest | kOneByte));
    if (last) break;
  }
  const std::size_t start = out.size();
  out.resize(start + length);
  char* end = out.data() + start;
  for (const std::uint16_t position : moves) {
    if (position < kOneByte) {
      *end++ = static_cast<char>(position);
    } else {
      *end++ = static_cast<char>(position | kOneByte);
      *end++ = static_cast<char>(position >> 7U);
    }
  }
}

}  // namespace puzzled::shuttle
