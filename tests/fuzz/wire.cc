// Framing, and cutting lists of cases: the input is a whole frame, or a list of cases.
#include "proto/wire.h"

#include "proto/client.pb.h"
#include "proto/worker.pb.h"
#include "tests/fuzz/target.h"

namespace puzzled {
namespace {

constexpr std::size_t kBytesMax = 4096;

// What decodes can be encoded, and is then the same.
template <class Envelope>
void try_as(std::string_view frame, wire::Role sender) {
  Envelope envelope;
  const wire::DecodeError error = wire::decode(frame, sender, kBytesMax, envelope);
  ASSERT(fuzz::is_plain_line(wire::describe(error)));
  if (error != wire::DecodeError::kNone) return;
  const std::string again = wire::encode(sender, envelope);
  Envelope copy;
  ASSERT(wire::decode(again, sender, again.size(), copy) == wire::DecodeError::kNone);
  ASSERT(copy.SerializeAsString() == envelope.SerializeAsString());
}

void cut(std::string_view list) {
  const auto offsets = wire::split_cases(list);
  if (!offsets) return;
  ASSERT(offsets->front() == 0 && offsets->back() == list.size());
  std::string joined;
  for (std::size_t i = 0; i + 1 < offsets->size(); ++i) {
    const std::string_view one = list.substr((*offsets)[i], (*offsets)[i + 1] - (*offsets)[i]);
    const auto alone = wire::split_cases(one);
    ASSERT(alone && alone->size() == 2);
    joined.append(one);
  }
  ASSERT(joined == list);
  wire::append_case(list, joined);
  const auto longer = wire::split_cases(joined);
  ASSERT(longer && longer->size() == offsets->size() + 1);
  proto::CaseList message;
  if (!message.ParseFromArray(list.data(), static_cast<int>(list.size()))) return;
  ASSERT(static_cast<std::size_t>(message.cases_size()) == offsets->size() - 1);
}

}  // namespace
}  // namespace puzzled

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace puzzled;
  const std::string_view in = fuzz::input(data, size);
  try_as<proto::ClientRequest>(in, wire::Role::kClient);
  try_as<proto::FromWorker>(in, wire::Role::kWorker);
  try_as<proto::ClientReply>(in, wire::Role::kBroker);
  try_as<proto::ToWorker>(in, wire::Role::kBroker);
  cut(in);
  static_cast<void>(wire::chunk_hash(in, {std::string(in)}));
  return 0;
}
