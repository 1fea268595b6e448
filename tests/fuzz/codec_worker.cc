// What workers send to the daemon: the input is a serialised FromWorker. The codec reads results by
// hand, so what it accepts is compared with what protobuf reads.
#include "daemon/net/codec.h"
#include "daemon/net/fields.h"
#include "tests/fuzz/target.h"
#include "tests/net/frames.h"

namespace puzzled {
namespace {

void check(const event::WorkerReady& e, const proto::FromWorker& sent) {
  ASSERT(codec::is_printable(e.name) && codec::is_printable(e.host));
  ASSERT(codec::is_printable(e.version) && e.slots > 0);
  ASSERT(e.leases.size() == static_cast<std::size_t>(sent.ready().leases_size()));
  for (const SolverOffer& offer : e.offers) {
    ASSERT(codec::is_routing_name(offer.puzzle) && codec::is_routing_name(offer.solver));
    ASSERT(codec::is_printable(offer.version));
  }
}
void check(const event::WorkerResults& e, const proto::FromWorker& sent) {
  proto::CaseResultList list;
  ASSERT(list.ParseFromString(sent.results().results()));
  ASSERT(static_cast<std::size_t>(list.results_size()) == e.results.results.size());
  for (int i = 0; i < list.results_size(); ++i) {
    const proto::CaseResult& expected = list.results(i);
    const CaseResult& found = e.results.results[static_cast<std::size_t>(i)];
    ASSERT(found.position == expected.position());
    ASSERT(static_cast<int>(found.verdict) == static_cast<int>(expected.verdict()));
    ASSERT(found.time_us == expected.time_us() && found.memory_bytes == expected.memory_bytes());
    ASSERT(found.answer == expected.answer() && found.message == expected.message());
    ASSERT(found.has_answer == expected.has_answer() && codec::is_printable(found.message));
    ASSERT(found.key == expected.key() && found.cached == expected.cached());
  }
}
void check(const event::WorkerReturn& e, const proto::FromWorker&) {
  for (const PositionRange& range : e.positions) {
    ASSERT(range.count > 0 && range.first + range.count >= range.first);
  }
}
void check(const event::WorkerHeartbeat& e, const proto::FromWorker& sent) {
  ASSERT(e.slots.size() == static_cast<std::size_t>(sent.heartbeat().slots_size()));
}
void check(const event::WorkerGoodbye& e, const proto::FromWorker&) {
  ASSERT(codec::is_printable(e.reason));
}
template <class Other>
void check(const Other&, const proto::FromWorker&) {
  ASSERT(false && "an event that no worker can cause");
}

}  // namespace
}  // namespace puzzled

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace puzzled;
  const std::string_view body = fuzz::input(data, size);
  proto::FromWorker sent;
  if (!sent.ParseFromArray(body.data(), static_cast<int>(body.size()))) return 0;
  const codec::WorkerInput input = codec::decode_worker({7}, test::frame(sent), {});
  if (const auto* refused = std::get_if<message::Refused>(&input)) {
    ASSERT(!refused->text.empty() && codec::is_printable(refused->text));
  } else {
    std::visit([&](const auto& e) { check(e, sent); }, std::get<Event>(input));
  }
  return 0;
}
