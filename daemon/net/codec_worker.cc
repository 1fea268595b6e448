#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/wire_format_lite.h>

#include <utility>

#include "daemon/net/codec.h"
#include "daemon/net/fields.h"
#include "proto/raw_fields.h"
#include "proto/worker.pb.h"

namespace puzzled::codec {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr int kHeldLeasesMax = 100'000;
constexpr int kOffersMax = 1'000;
constexpr int kRangesMax = 100'000;
constexpr std::uint32_t kSlotsMax = 4'096;
constexpr std::uint32_t kCapacityMax = 65'536;

// What is wrong with a message, or the event it is.
using Checked = std::variant<message::Refused, Event>;

message::Refused refuse(std::string text) { return {std::move(text)}; }

template <class Numbers>
std::vector<LeaseId> lease_ids(const Numbers& numbers) {
  std::vector<LeaseId> out;
  out.reserve(static_cast<std::size_t>(numbers.size()));
  for (const std::uint64_t number : numbers) out.push_back({number});
  return out;
}

Checked decode(const proto::Ready& in) {
  event::WorkerReady out;
  const auto id = bytes16(in.start_id());
  if (!id) return refuse("ready.start_id: expected 16 random bytes");
  if (in.name().size() > wire::kNameBytesMax || !is_printable(in.name()) ||
      in.host().size() > wire::kNameBytesMax || !is_printable(in.host())) {
    return refuse(
        fmt::format("ready.name, ready.host: expected at most {} bytes of printable UTF-8",
                    wire::kNameBytesMax));
  }
  if (in.version().size() > kVersionBytesMax || !is_printable(in.version())) {
    return refuse("ready.version: expected at most 100 bytes of printable UTF-8");
  }
  if (in.slots() == 0 || in.slots() > kSlotsMax || in.capacity() > kCapacityMax) {
    return refuse(fmt::format("ready.slots, ready.capacity: expected 1 to {} and at most {}",
                              kSlotsMax, kCapacityMax));
  }
  if (in.offers_size() > kOffersMax || in.leases_size() > kHeldLeasesMax) {
    return refuse("ready.offers, ready.leases: too many");
  }
  for (const proto::SolverOffer& offer : in.offers()) {
    if (!is_routing_name(offer.puzzle()) || !is_routing_name(offer.solver()) ||
        offer.version().size() > kVersionBytesMax || !is_printable(offer.version())) {
      return refuse("ready.offers: a name or version is not printable or too long");
    }
    out.offers.push_back({offer.puzzle(), offer.solver(), offer.version()});
  }
  for (const proto::Label& label : in.labels()) {
    if (auto wrong = add_label(out.labels, {label.key(), label.value()}, kWorkerLabelsMax)) {
      return refuse("ready.labels: " + *wrong);
    }
  }
  out.start_id = *id;
  out.name = in.name();
  out.host = in.host();
  out.pid = in.pid();
  out.slots = in.slots();
  out.capacity = in.capacity();
  out.version = in.version();
  out.boot = {in.boot()};
  out.leases = lease_ids(in.leases());
  return out;
}

// ---- Results: the views point into `body`, so that no case costs an allocation.

// Reads a length-delimited field as a view; false: cut off.
bool read_view(CodedInputStream& in, std::string_view body, std::string_view& out) {
  std::uint32_t length = 0;
  if (!wire::read_length(in, length)) return false;
  const auto at = static_cast<std::size_t>(in.CurrentPosition());
  if (length > body.size() - at) return false;
  out = body.substr(at, length);
  return in.Skip(static_cast<int>(length));
}

constexpr std::uint32_t tag_of(int field, WireFormatLite::WireType type) {
  return (static_cast<std::uint32_t>(field) << 3U) | static_cast<std::uint32_t>(type);
}

// One CaseResult; `body` is its bytes only. False: malformed.
bool read_result(std::string_view body, CaseResult& out, std::uint64_t& verdict) {
  constexpr auto kVarint = WireFormatLite::WIRETYPE_VARINT;
  constexpr auto kBytes = WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(body.data()),
                      static_cast<int>(body.size()));
  std::uint64_t has_answer = 0;
  std::uint64_t cached = 0;
  while (const std::uint32_t tag = wire::read_tag(in)) {
    bool good = false;
    switch (tag) {
      case tag_of(proto::CaseResult::kPositionFieldNumber, kVarint):
        good = in.ReadVarint32(&out.position);
        break;
      case tag_of(proto::CaseResult::kVerdictFieldNumber, kVarint):
        good = in.ReadVarint64(&verdict);
        break;
      case tag_of(proto::CaseResult::kTimeUsFieldNumber, kVarint):
        good = in.ReadVarint64(&out.time_us);
        break;
      case tag_of(proto::CaseResult::kMemoryBytesFieldNumber, kVarint):
        good = in.ReadVarint64(&out.memory_bytes);
        break;
      case tag_of(proto::CaseResult::kHasAnswerFieldNumber, kVarint):
        good = in.ReadVarint64(&has_answer);
        break;
      case tag_of(proto::CaseResult::kAnswerFieldNumber, kBytes):
        good = read_view(in, body, out.answer);
        break;
      case tag_of(proto::CaseResult::kMessageFieldNumber, kBytes):
        good = read_view(in, body, out.message);
        break;
      case tag_of(proto::CaseResult::kKeyFieldNumber, kBytes):
        good = read_view(in, body, out.key);
        break;
      case tag_of(proto::CaseResult::kCachedFieldNumber, kVarint):
        good = in.ReadVarint64(&cached);
        break;
      default:  // of a later minor version
        good = wire::skip_field(in, tag);
    }
    if (!good) return false;
  }
  out.has_answer = has_answer != 0;
  out.cached = cached != 0;
  // A tag that is cut off ends the loop as well.
  return in.ConsumedEntireMessage() &&
         static_cast<std::size_t>(in.CurrentPosition()) == body.size();
}

// Empty if the result can be.
std::string_view check_result(const CaseResult& result, std::uint64_t verdict,
                              const CodecOptions& options) {
  if (!is_verdict(verdict)) return "a verdict has an unknown number";
  if (static_cast<Verdict>(verdict) == Verdict::kCancelled) return "CANCELLED is never reported";
  if (result.time_us > kNumberMax || result.memory_bytes > kNumberMax) {
    return "a time or a memory size is out of range";
  }
  if (result.answer.size() > options.answer_bytes_max) {
    return "an answer is over this daemon's answer_bytes_max";
  }
  if (!result.has_answer && !result.answer.empty()) return "an answer without has_answer";
  if (!result.key.empty() && result.key.size() != kAnswerKeyBytes) {
    return "a key has not 16 bytes";
  }
  if (result.message.size() > kReasonBytesMax || !is_printable(result.message)) {
    return "a message is over 1000 bytes or not printable UTF-8";
  }
  return {};
}

// Parses a serialised CaseResultList; returns what is wrong, or nothing.
std::string_view read_results(ResultSet& set, const CodecOptions& options) {
  constexpr std::uint32_t kResultTag =
      tag_of(proto::CaseResultList::kResultsFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  const std::string_view body = *set.body;
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(body.data()),
                      static_cast<int>(body.size()));
  while (static_cast<std::size_t>(in.CurrentPosition()) < body.size()) {
    std::string_view one;
    if (wire::read_tag(in) != kResultTag || !read_view(in, body, one))
      return "not a list of results";
    CaseResult result;
    std::uint64_t verdict = 0;
    if (!read_result(one, result, verdict)) return "a result cannot be decoded";
    const std::string_view wrong = check_result(result, verdict, options);
    if (!wrong.empty()) return wrong;
    result.verdict = static_cast<Verdict>(verdict);
    if (set.results.size() >= wire::kDispatchCasesMax) return "more than a dispatch has cases";
    set.results.push_back(result);
  }
  return {};
}

Checked decode(proto::Results& in, const CodecOptions& options) {
  event::WorkerResults out;
  out.boot = {in.boot()};
  out.lease = {in.lease()};
  out.attempt = in.attempt();
  out.part = in.part();
  out.busy_us = std::min(in.busy_us(), kNumberMax);
  out.capacity = in.capacity();
  if (in.capacity() > kCapacityMax) return refuse("results.capacity: out of range");
  out.results.body = std::make_shared<const std::string>(std::move(*in.mutable_results()));
  const std::string_view wrong = read_results(out.results, options);
  if (!wrong.empty()) return refuse(fmt::format("results: {}", wrong));
  return out;
}

Checked decode(const proto::Return& in) {
  event::WorkerReturn out;
  if (in.capacity() > kCapacityMax || in.positions_size() > kRangesMax) {
    return refuse("return: capacity or number of ranges out of range");
  }
  out.boot = {in.boot()};
  out.lease = {in.lease()};
  out.attempt = in.attempt();
  out.capacity = in.capacity();
  for (const proto::Range& range : in.positions()) {
    if (range.count() == 0 || range.first() + range.count() < range.first()) {
      return refuse("return.positions: an empty or endless range");
    }
    out.positions.push_back({range.first(), range.count()});
  }
  return out;
}

Checked decode(const proto::WorkerHeartbeat& in) {
  event::WorkerHeartbeat out;
  if (in.capacity() > kCapacityMax || in.leases_size() > kHeldLeasesMax ||
      in.slots_size() > static_cast<int>(kSlotsMax)) {
    return refuse("heartbeat: capacity, leases or slots out of range");
  }
  out.boot = {in.boot()};
  out.leases = lease_ids(in.leases());
  out.capacity = in.capacity();
  for (const proto::SlotState& slot : in.slots()) {
    out.slots.push_back({{slot.lease()}, slot.position(), slot.progress()});
  }
  return out;
}

Checked decode(const proto::Goodbye& in) {
  if (in.reason().size() > kReasonBytesMax || !is_printable(in.reason())) {
    return refuse("goodbye.reason: over 1000 bytes or not printable UTF-8");
  }
  event::WorkerGoodbye out;
  out.reason = in.reason();
  return out;
}

Checked decode_body(proto::FromWorker& in, std::uint8_t minor, const CodecOptions& options) {
  switch (in.body_case()) {
    case proto::FromWorker::kReady:
      return decode(in.ready());
    case proto::FromWorker::kResults:
      return decode(*in.mutable_results(), options);
    case proto::FromWorker::kReturnCases:
      return decode(in.return_cases());
    case proto::FromWorker::kHeartbeat:
      return decode(in.heartbeat());
    case proto::FromWorker::kGoodbye:
      return decode(in.goodbye());
    case proto::FromWorker::BODY_NOT_SET:
      break;
  }
  // What a later minor version adds can be ignored; but the worker lives.
  if (minor > wire::kMinor) return event::WorkerSpoke{};
  return refuse("the message says nothing this daemon knows; is the worker newer?");
}

// ---- To workers.

void fill(const message::Welcome& from, proto::ToWorker& to) {
  to.mutable_welcome()->set_boot(from.boot.value);
  to.mutable_welcome()->set_heartbeat_interval_ms(from.heartbeat_interval_ms);
  to.mutable_welcome()->set_liveness_ms(from.liveness_ms);
}
void fill(const message::Dispatch& from, proto::ToWorker& out) {
  proto::Dispatch& to = *out.mutable_dispatch();
  to.set_boot(from.boot.value);
  to.set_lease(from.lease.value);
  to.set_attempt(from.attempt);
  to.set_job(from.job.value);
  to.set_puzzle(from.spec->puzzle);
  to.set_solver(from.spec->solver);
  to.mutable_limits()->set_time_limit_us(from.spec->limits.time_limit_us);
  to.mutable_limits()->set_memory_limit_bytes(from.spec->limits.memory_limit_bytes);
  to.mutable_limits()->set_answer_bytes_max(from.spec->limits.answer_bytes_max);
  to.set_alone(from.alone);
  to.set_keys_wanted(from.keys_wanted);
  std::size_t bytes = 0;
  std::uint32_t count = 0;
  const auto range = [](const message::Slice& slice) {
    const std::uint32_t begin = slice.cases->offsets[slice.first];
    return std::pair{begin, slice.cases->offsets[slice.first + slice.count] - begin};
  };
  for (const message::Slice& slice : from.slices) {
    bytes += range(slice).second;
    count += slice.count;
  }
  std::string& cases = *to.mutable_cases();
  cases.reserve(bytes);
  for (const message::Slice& slice : from.slices) {
    const auto [begin, length] = range(slice);
    cases.append(slice.cases->bytes, begin, length);
  }
  to.set_case_count(count);
}
void fill(const message::Stored& from, proto::ToWorker& to) {
  to.mutable_stored()->set_boot(from.boot.value);
  to.mutable_stored()->set_lease(from.lease.value);
  to.mutable_stored()->set_part(from.part);
}
void fill(const message::Stale& from, proto::ToWorker& to) {
  to.mutable_stale()->set_boot(from.boot.value);
  to.mutable_stale()->set_lease(from.lease.value);
}
void fill(const message::Revoke& from, proto::ToWorker& to) {
  to.mutable_revoke()->set_boot(from.boot.value);
  for (const LeaseId lease : from.leases) to.mutable_revoke()->add_leases(lease.value);
}
void fill(const message::Drain&, proto::ToWorker& to) { to.mutable_drain(); }
void fill(const message::Heartbeat& from, proto::ToWorker& to) {
  to.mutable_heartbeat()->set_boot(from.boot.value);
}
void fill(const message::Refused& from, proto::ToWorker& to) {
  to.mutable_refused()->set_message(from.text);
}

}  // namespace

WorkerInput decode_worker(PeerId peer, std::string_view frame, const CodecOptions& options) {
  proto::FromWorker in;
  const wire::DecodeError error =
      wire::decode(frame, wire::Role::kWorker, options.message_bytes_max, in);
  if (error == wire::DecodeError::kOtherVersion) {
    return refuse(
        wire::describe_skew(frame, "the worker", "this daemon (puzzled " PUZZLED_VERSION ")"));
  }
  if (error != wire::DecodeError::kNone) {
    return refuse(fmt::format("{}; this daemon is puzzled {} and speaks version {}.{}",
                              wire::describe(error), PUZZLED_VERSION, wire::kMajor, wire::kMinor));
  }
  Checked checked = decode_body(in, wire::version_of(frame)->minor, options);
  if (auto* refused = std::get_if<message::Refused>(&checked)) return std::move(*refused);
  Event event = std::move(std::get<Event>(checked));
  std::visit(
      [&](auto& e) {
        if constexpr (requires { e.peer; }) e.peer = peer;
      },
      event);
  return event;
}

std::string encode(const WorkerMessage& what) {
  proto::ToWorker out;
  std::visit([&](const auto& from) { fill(from, out); }, what);
  return wire::encode(wire::Role::kBroker, out);
}

void silence_protobuf() { google::protobuf::SetLogHandler(nullptr); }

}  // namespace puzzled::codec
