#include <fmt/format.h>

#include <algorithm>

#include "proto/puzzles/shuttle.pb.h"
#include "workers/puzzles/message_io.h"
#include "workers/puzzles/shuttle/shuttle.h"

namespace puzzled::shuttle {

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

// Answers can have a million moves: their messages are not kept.
Moves decode_answer(std::string_view bytes) {
  proto::Answer message;
  decode_message(bytes, message, "answer");
  Moves moves(message.moves().begin(), message.moves().end());
  for (const std::uint32_t position : moves) {
    if (position < 1 || position > kPositionMax) {
      throw InvalidWire(
          fmt::format("found {}, expected a position in 1..{}", position, kPositionMax));
    }
  }
  return moves;
}

void encode_answer(const Moves& moves, std::string& out) {
  proto::Answer message;
  message.mutable_moves()->Add(moves.begin(), moves.end());
  message.SerializeToString(&out);
}

}  // namespace puzzled::shuttle
