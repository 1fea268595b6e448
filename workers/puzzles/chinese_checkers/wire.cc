#include "proto/puzzles/chinese_checkers.pb.h"
#include "workers/puzzles/chinese_checkers/chinese_checkers.h"
#include "workers/puzzles/message_io.h"

namespace puzzled::chinese_checkers {

Instance decode_instance(std::string_view bytes) {
  auto& message = scratch_message<proto::Instance>();
  decode_message(bytes, message, "instance");
  const Instance instance{{message.cells_low(), message.cells_high()}};
  if (auto defect = defect_of(instance)) throw InvalidWire(*defect);
  return instance;
}

void encode_instance(const Instance& instance, std::string& out) {
  auto& message = scratch_message<proto::Instance>();
  message.set_cells_low(instance.words[0]);
  message.set_cells_high(instance.words[1]);
  message.SerializeToString(&out);
}

Answer decode_answer(std::string_view bytes) {
  auto& message = scratch_message<proto::Answer>();
  decode_message(bytes, message, "answer");
  return {message.moves()};
}

void encode_answer(const Answer& answer, std::string& out) {
  auto& message = scratch_message<proto::Answer>();
  message.set_moves(answer.moves);
  message.SerializeToString(&out);
}

}  // namespace puzzled::chinese_checkers
