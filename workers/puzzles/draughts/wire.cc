#include <fmt/format.h>

#include <cstring>

#include "proto/puzzles/draughts.pb.h"
#include "workers/puzzles/draughts/draughts.h"
#include "workers/puzzles/message_io.h"

namespace puzzled::draughts {

Instance decode_instance(std::string_view bytes) {
  auto& message = scratch_message<proto::Instance>();
  decode_message(bytes, message, "instance");
  const std::string& squares = message.squares();
  if (auto defect = defect_of(squares)) throw InvalidWire(*defect);
  Instance instance;
  std::memcpy(instance.squares.data(), squares.data(), kSquares);
  return instance;
}

void encode_instance(const Instance& instance, std::string& out) {
  auto& message = scratch_message<proto::Instance>();
  message.set_squares(instance.squares.data(), kSquares);
  message.SerializeToString(&out);
}

void decode_answer(std::string_view bytes, Answer& answer) {
  auto& message = scratch_message<proto::Answer>();
  decode_message(bytes, message, "answer");
  answer.origins.clear();
  answer.origins.reserve(static_cast<std::size_t>(message.origins_size()));
  for (const std::uint32_t origin : message.origins()) {
    if (origin >= kSquares) {
      throw InvalidWire(fmt::format("found square {}, expected 0..{}", origin, kSquares - 1));
    }
    answer.origins.push_back(static_cast<std::uint8_t>(origin));
  }
}

void encode_answer(const Answer& answer, std::string& out) {
  auto& message = scratch_message<proto::Answer>();
  message.mutable_origins()->Assign(answer.origins.begin(), answer.origins.end());
  message.SerializeToString(&out);
}

}  // namespace puzzled::draughts
