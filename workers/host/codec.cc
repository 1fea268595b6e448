#include "workers/host/codec.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "proto/wire.h"
#include "proto/worker.pb.h"
#include "workers/puzzles/registry.h"

namespace puzzled::host {
namespace {

constexpr std::size_t kReasonBytesMax = 1'000;  // of what the broker says, for the log

std::uint64_t number(Boot boot) { return static_cast<std::uint64_t>(boot); }
std::uint64_t number(LeaseId lease) { return static_cast<std::uint64_t>(lease); }

void fill(const Identity& identity, const message::Ready& m, proto::FromWorker& out) {
  proto::Ready& ready = *out.mutable_ready();
  ready.set_start_id(identity.start_id.data(), identity.start_id.size());
  ready.set_name(identity.name);
  ready.set_host(identity.host);
  ready.set_pid(identity.pid);
  ready.set_slots(identity.slots);
  ready.set_capacity(m.capacity);
  ready.set_version(identity.version);
  for (const Puzzle* puzzle : all_puzzles()) {
    for (const Solver& solver : puzzle->solvers) {
      proto::SolverOffer& offer = *ready.add_offers();
      offer.set_puzzle(std::string(puzzle->name));
      offer.set_solver(std::string(solver.name));
      offer.set_version(std::string(solver.version));
    }
  }
  for (const Label& label : identity.labels) {
    proto::Label& to = *ready.add_labels();
    to.set_key(label.key);
    to.set_value(label.value);
  }
  ready.set_boot(number(m.boot));
  for (const LeaseId lease : m.leases) ready.add_leases(number(lease));
}

void fill(const Identity&, const message::Results& m, proto::FromWorker& out) {
  proto::Results& results = *out.mutable_results();
  results.set_boot(number(m.boot));
  results.set_lease(number(m.lease));
  results.set_attempt(m.attempt);
  results.set_part(m.part);
  results.set_results(*m.results);
  results.set_busy_us(m.busy_us);
  results.set_capacity(m.capacity);
}

void fill(const Identity&, const message::Return& m, proto::FromWorker& out) {
  proto::Return& back = *out.mutable_return_cases();
  back.set_boot(number(m.boot));
  back.set_lease(number(m.lease));
  back.set_attempt(m.attempt);
  for (const Range& range : m.positions) {
    proto::Range& positions = *back.add_positions();
    positions.set_first(range.first);
    positions.set_count(range.count);
  }
  back.set_capacity(m.capacity);
}

void fill(const Identity&, const message::Heartbeat& m, proto::FromWorker& out) {
  proto::WorkerHeartbeat& beat = *out.mutable_heartbeat();
  beat.set_boot(number(m.boot));
  for (const LeaseId lease : m.leases) beat.add_leases(number(lease));
  for (const message::BusySlot& slot : m.slots) {
    proto::SlotState& state = *beat.add_slots();
    state.set_lease(number(slot.lease));
    state.set_position(slot.position);
    state.set_progress(slot.progress);
  }
  beat.set_capacity(m.capacity);
}

void fill(const Identity&, const message::Goodbye& m, proto::FromWorker& out) {
  out.mutable_goodbye()->set_reason(m.reason);
}

std::variant<Event, std::string> read_dispatch(proto::Dispatch& in) {
  auto out = std::make_shared<Dispatch>();
  out->boot = Boot{in.boot()};
  out->lease = LeaseId{in.lease()};
  out->attempt = in.attempt();
  out->job = in.job();
  out->puzzle = std::move(*in.mutable_puzzle());
  out->solver = std::move(*in.mutable_solver());
  out->limits = {in.limits().time_limit_us(), in.limits().memory_limit_bytes(),
                 in.limits().answer_bytes_max()};
  out->alone = in.alone();
  out->keys_wanted = in.keys_wanted();
  out->case_count = in.case_count();
  out->cases = std::move(*in.mutable_cases());
  const auto offsets = wire::split_cases(out->cases);
  if (!offsets || out->case_count == 0 || offsets->size() != std::size_t{out->case_count} + 1) {
    return fmt::format("the cases of lease {} are not {} cases", in.lease(), in.case_count());
  }
  const Limits& limits = out->limits;
  if (limits.time_limit_us == 0 || limits.memory_limit_bytes == 0 || limits.answer_bytes_max == 0) {
    return fmt::format("lease {} comes without limits", in.lease());
  }
  return event::Dispatched{std::move(out)};
}

event::Revoke read_revoke(const proto::Revoke& in) {
  event::Revoke revoke{Boot{in.boot()}, {}};
  for (const std::uint64_t lease : in.leases()) revoke.leases.push_back(LeaseId{lease});
  return revoke;
}

}  // namespace

std::string encode_message(const Identity& identity, const Message& message) {
  proto::FromWorker out;
  std::visit([&](const auto& m) { fill(identity, m, out); }, message);
  return wire::encode(wire::Role::kWorker, out);
}

std::variant<Event, std::string> decode_frame(std::string_view frame) {
  proto::ToWorker in;
  const wire::DecodeError error =
      wire::decode(frame, wire::Role::kBroker, wire::kMessageBytesMax + wire::kHeaderBytes, in);
  if (error == wire::DecodeError::kOtherVersion) {
    return event::Refused{wire::describe_skew(frame, "the daemon",
                                              "this worker (puzzle-worker " PUZZLED_VERSION ")")};
  }
  if (error != wire::DecodeError::kNone) return std::string(wire::describe(error));
  switch (in.body_case()) {
    case proto::ToWorker::kWelcome:
      return event::Welcome{Boot{in.welcome().boot()}, in.welcome().heartbeat_interval_ms(),
                            in.welcome().liveness_ms()};
    case proto::ToWorker::kDispatch:
      return read_dispatch(*in.mutable_dispatch());
    case proto::ToWorker::kStored:
      return event::Stored{Boot{in.stored().boot()}, LeaseId{in.stored().lease()},
                           in.stored().part()};
    case proto::ToWorker::kStale:
      return event::Stale{Boot{in.stale().boot()}, LeaseId{in.stale().lease()}};
    case proto::ToWorker::kRevoke:
      return read_revoke(in.revoke());
    case proto::ToWorker::kDrain:
      return event::Drain{};
    case proto::ToWorker::kHeartbeat:
      return event::BrokerHeartbeat{Boot{in.heartbeat().boot()}};
    case proto::ToWorker::kRefused:
      return event::Refused{printable(in.refused().message(), kReasonBytesMax)};
    case proto::ToWorker::BODY_NOT_SET:
      break;
  }
  return std::string("the message is of a kind this worker does not know");
}

}  // namespace puzzled::host
