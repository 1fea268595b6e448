#include "proto/puzzles/duel.pb.h"
#include "workers/puzzles/duel/duel.h"
#include "workers/puzzles/message_io.h"

namespace puzzled::duel {

Instance decode_instance(std::string_view bytes) {
  auto& message = scratch_message<proto::Instance>();
  decode_message(bytes, message, "instance");
  const auto& values = message.values();
  const Instance instance{{values.data(), static_cast<std::size_t>(values.size())}};
  if (auto defect = defect_of(instance)) throw InvalidWire(*defect);
  return instance;
}

void encode_instance(const Instance& instance, std::string& out) {
  // Not the message that decoded instances are views of.
  thread_local proto::Instance message;
  message.mutable_values()->Assign(instance.values.begin(), instance.values.end());
  message.SerializeToString(&out);
}

Answer decode_answer(std::string_view bytes) {
  auto& message = scratch_message<proto::Answer>();
  decode_message(bytes, message, "answer");
  return {message.difference()};
}

void encode_answer(const Answer& answer, std::string& out) {
  auto& message = scratch_message<proto::Answer>();
  message.set_difference(answer.difference);
  message.SerializeToString(&out);
}

}  // namespace puzzled::duel
