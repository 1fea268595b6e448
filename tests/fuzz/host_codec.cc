// What the daemon sends to a worker: the input is a serialised ToWorker, and read as a list of
// cases too. The solver process reads cases by hand, so what it accepts is compared with protobuf.
#include "proto/case_view.h"
#include "proto/common.pb.h"
#include "proto/wire.h"
#include "proto/worker.pb.h"
#include "tests/fuzz/target.h"
#include "workers/host/codec.h"

namespace puzzled {
namespace {

void check_case(std::string_view bytes) {
  const auto view = wire::parse_case(bytes);
  proto::Case message;
  if (!view || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  ASSERT(view->instance == message.instance() && view->invalid == message.invalid());
  ASSERT(view->expected.has_value() == message.has_expected());
  ASSERT(view->expected.value_or("") == message.expected());
  ASSERT(view->expected_error.has_value() == message.has_expected_error());
  ASSERT(view->expected_error.value_or("") == message.expected_error());
}

void walk(const std::string& list, std::uint32_t count) {
  wire::CaseWalker walker(list);
  for (std::uint32_t i = 0; i < count; ++i) check_case(walker.at(i));
  wire::CaseWalker skipping(list);
  ASSERT(skipping.at(count).empty());
}

}  // namespace
}  // namespace puzzled

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace puzzled;
  const std::string_view body = fuzz::input(data, size);
  check_case(body);
  wire::CaseWalker(body).at(3);
  proto::ToWorker sent;
  if (!sent.ParseFromArray(body.data(), static_cast<int>(body.size()))) return 0;
  const auto input = host::decode_frame(wire::encode(wire::Role::kBroker, sent));
  if (const auto* error = std::get_if<std::string>(&input)) {
    ASSERT(fuzz::is_plain_line(*error));
    return 0;
  }
  const auto* refused = std::get_if<host::event::Refused>(&std::get<host::Event>(input));
  ASSERT(refused == nullptr || refused->text.empty() || fuzz::is_plain_line(refused->text));
  const auto* dispatched = std::get_if<host::event::Dispatched>(&std::get<host::Event>(input));
  if (dispatched != nullptr) walk(sent.dispatch().cases(), sent.dispatch().case_count());
  return 0;
}
