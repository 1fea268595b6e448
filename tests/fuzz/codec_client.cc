// What clients send to the daemon: the input is a serialised ClientRequest.
#include "daemon/net/codec.h"
#include "daemon/net/fields.h"
#include "tests/fuzz/target.h"
#include "tests/net/frames.h"

namespace puzzled {
namespace {

void check(const message::Error& error) {
  ASSERT(!error.text.empty() && codec::is_printable(error.text));
  proto::ClientReply reply;
  ASSERT(wire::decode(codec::encode(ClientMessage(error)), wire::Role::kBroker,
                      wire::kMessageBytesMax, reply) == wire::DecodeError::kNone);
  ASSERT(reply.id() == error.request && reply.error().message() == error.text);
  ASSERT(proto::ErrorCode_IsValid(reply.error().code()) &&
         reply.error().code() != proto::ERROR_UNSPECIFIED);
}

void check(const event::OpenJob& e, const CodecOptions& options) {
  ASSERT(e.spec.name.size() <= wire::kNameBytesMax && codec::is_printable(e.spec.name));
  ASSERT(codec::is_routing_name(e.spec.puzzle) && codec::is_routing_name(e.spec.solver));
  ASSERT(e.spec.priority >= -100 && e.spec.priority <= 100);
  ASSERT(e.spec.limits.time_limit_us > 0 && e.spec.limits.memory_limit_bytes > 0);
  ASSERT(e.spec.limits.answer_bytes_max > 0 &&
         e.spec.limits.answer_bytes_max <= options.answer_bytes_max);
}
void check(const event::AddChunk& e, const CodecOptions& options) {
  ASSERT(e.cases->count() <= wire::kChunkCasesMax);
  ASSERT(e.cases->offsets.back() == e.cases->bytes.size());
  for (std::uint32_t i = 0; i < e.cases->count(); ++i) {
    ASSERT(e.cases->offsets[i + 1] - e.cases->offsets[i] <= options.case_bytes_max);
  }
  for (const FileEntry& file : e.files) {
    ASSERT(!file.path.empty() && file.path.size() <= wire::kPathBytesMax);
    ASSERT(codec::is_printable(file.path) && file.first_case > 0);
  }
}
void check(const event::CancelJob& e, const CodecOptions&) {
  ASSERT(codec::is_printable(e.reason) && e.job.value > 0 && e.job.value <= codec::kNumberMax);
}
void check(const event::WaitJob& e, const CodecOptions&) {
  ASSERT(e.job.value > 0 && e.job.value <= codec::kNumberMax);
}
void check(const event::SealJob& e, const CodecOptions&) {
  ASSERT(e.case_count <= codec::kNumberMax && e.file_count <= codec::kNumberMax);
}
void check(const event::MarkCanary& e, const CodecOptions&) {
  ASSERT(e.job.value > 0 && e.job.value <= codec::kNumberMax);
}
void check(const event::AdmitWorker& e, const CodecOptions&) {
  ASSERT(!e.name.empty() && e.name.size() <= wire::kNameBytesMax && codec::is_printable(e.name));
}
void check(const event::ControlWorkers& e, const CodecOptions&) {
  ASSERT(e.all == e.patterns.empty() && e.patterns.size() <= 1'000);
  for (const std::string& name : e.patterns) {
    ASSERT(!name.empty() && name.size() <= wire::kNameBytesMax && codec::is_printable(name));
  }
}
template <class Other>
void check(const Other&, const CodecOptions&) {
  ASSERT(false && "an event that no client can cause");
}

void check(const query::Query& query, const CodecOptions& options) {
  const auto* results = std::get_if<query::ListResults>(&query);
  if (results == nullptr) return;
  ASSERT(results->limit > 0 && results->limit <= options.page_rows_max);
  ASSERT(results->verdicts.size() <= kVerdictCount && codec::is_printable(results->label_glob));
}

void decode(const std::string& frame, const CodecOptions& options) {
  constexpr PeerId kPeer{7};
  const codec::ClientInput input = codec::decode_client(kPeer, frame, options);
  static_cast<void>(codec::request_of(input));
  if (const auto* error = std::get_if<message::Error>(&input)) {
    check(*error);
  } else if (const auto* event = std::get_if<Event>(&input)) {
    std::visit([&](const auto& e) { check(e, options); }, *event);
  } else if (const auto* query = std::get_if<codec::Query>(&input)) {
    check(query->query, options);
  }
}

}  // namespace
}  // namespace puzzled

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace puzzled;
  const std::string_view body = fuzz::input(data, size);
  static const CodecOptions kSmall = [] {
    CodecOptions options;
    options.case_bytes_max = 64;
    options.answer_bytes_max = 1024;
    return options;
  }();
  proto::ClientRequest request;
  if (!request.ParseFromArray(body.data(), static_cast<int>(body.size()))) return 0;
  decode(test::frame(request), {});
  if (!request.has_add_chunk()) return 0;
  // No mutation guesses a hash.
  test::hash_chunk(*request.mutable_add_chunk());
  decode(test::frame(request), {});
  decode(test::frame(request), kSmall);
  return 0;
}
