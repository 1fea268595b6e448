#include "proto/puzzles/bishops.pb.h"
#include "workers/puzzles/bishops/bishops.h"
#include "workers/puzzles/message_io.h"

namespace puzzled::bishops {
namespace {

// Bytes of a count of kCountDigitsMax digits: log2(10) / 8 < 0.416.
constexpr std::size_t kCountBytesMax = kCountDigitsMax * 416 / 1000 + 1;

}  // namespace

Instance decode_instance(std::string_view bytes) {
  auto& message = scratch_message<proto::Instance>();
  decode_message(bytes, message, "instance");
  const Instance instance{message.n(), message.k()};
  if (auto defect = defect_of(instance)) throw InvalidWire(*defect);
  return instance;
}

void encode_instance(const Instance& instance, std::string& out) {
  auto& message = scratch_message<proto::Instance>();
  message.set_n(instance.n);
  message.set_k(instance.k);
  message.SerializeToString(&out);
}

CountBytes decode_answer(std::string_view bytes) {
  auto& message = scratch_message<proto::Answer>();
  decode_message(bytes, message, "answer");
  const std::string& count = message.count();
  if (count.size() > kCountBytesMax) throw InvalidWire("the count is larger than any answer");
  if (count.starts_with('\0')) throw InvalidWire("the count has a leading zero byte");
  return count;
}

void encode_answer(std::string_view count, std::string& out) {
  auto& message = scratch_message<proto::Answer>();
  message.set_count(count.data(), count.size());
  message.SerializeToString(&out);
}

}  // namespace puzzled::bishops
