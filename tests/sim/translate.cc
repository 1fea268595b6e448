#include "tests/sim/translate.h"

#include <memory>
#include <utility>
#include <vector>

#include "tests/sim/cases.h"

namespace puzzled::sim {
namespace {

Boot broker_boot(host::Boot boot) { return {static_cast<std::uint64_t>(boot)}; }
LeaseId broker_lease(host::LeaseId lease) { return {static_cast<std::uint64_t>(lease)}; }
host::Boot session_boot(Boot boot) { return static_cast<host::Boot>(boot.value); }
host::LeaseId session_lease(LeaseId lease) { return static_cast<host::LeaseId>(lease.value); }

std::vector<LeaseId> broker_leases(const std::vector<host::LeaseId>& leases) {
  std::vector<LeaseId> all;
  for (const host::LeaseId lease : leases) all.push_back(broker_lease(lease));
  return all;
}

}  // namespace

event::WorkerReady to_broker(const host::message::Ready& m) {
  event::WorkerReady e;
  e.capacity = m.capacity;
  e.boot = broker_boot(m.boot);
  e.leases = broker_leases(m.leases);
  return e;
}

event::WorkerResults to_broker(const host::message::Results& m) {
  return {.peer = {},
          .boot = broker_boot(m.boot),
          .lease = broker_lease(m.lease),
          .attempt = m.attempt,
          .part = m.part,
          .results = read_results(m.results),
          .busy_us = m.busy_us,
          .capacity = m.capacity};
}

event::WorkerReturn to_broker(const host::message::Return& m) {
  event::WorkerReturn e{.peer = {},
                        .boot = broker_boot(m.boot),
                        .lease = broker_lease(m.lease),
                        .attempt = m.attempt,
                        .positions = {},
                        .capacity = m.capacity};
  for (const host::Range& range : m.positions) e.positions.push_back({range.first, range.count});
  return e;
}

event::WorkerHeartbeat to_broker(const host::message::Heartbeat& m) {
  event::WorkerHeartbeat e{.peer = {},
                           .boot = broker_boot(m.boot),
                           .leases = broker_leases(m.leases),
                           .slots = {},
                           .capacity = m.capacity};
  for (const host::message::BusySlot& slot : m.slots) {
    e.slots.push_back({broker_lease(slot.lease), slot.position, slot.progress});
  }
  return e;
}

event::WorkerGoodbye to_broker(const host::message::Goodbye& m) { return {{}, m.reason}; }

host::Event to_session(const message::Welcome& m) {
  return host::event::Welcome{session_boot(m.boot), m.heartbeat_interval_ms, m.liveness_ms};
}

host::Event to_session(const message::Dispatch& m) {
  auto dispatch = std::make_shared<host::Dispatch>();
  dispatch->boot = session_boot(m.boot);
  dispatch->lease = session_lease(m.lease);
  dispatch->attempt = m.attempt;
  dispatch->job = m.job.value;
  dispatch->puzzle = m.spec->puzzle;
  dispatch->solver = m.spec->solver;
  dispatch->alone = m.alone;
  dispatch->keys_wanted = m.keys_wanted;
  for (const message::Slice& slice : m.slices) {
    const auto& offsets = slice.cases->offsets;
    const std::uint32_t begin = offsets[slice.first];
    dispatch->cases.append(slice.cases->bytes, begin, offsets[slice.first + slice.count] - begin);
    dispatch->case_count += slice.count;
  }
  return host::event::Dispatched{std::move(dispatch)};
}

host::Event to_session(const message::Stored& m) {
  return host::event::Stored{session_boot(m.boot), session_lease(m.lease), m.part};
}

host::Event to_session(const message::Stale& m) {
  return host::event::Stale{session_boot(m.boot), session_lease(m.lease)};
}

host::Event to_session(const message::Revoke& m) {
  host::event::Revoke e{session_boot(m.boot), {}};
  for (const LeaseId lease : m.leases) e.leases.push_back(session_lease(lease));
  return e;
}

host::Event to_session(const message::Drain&) { return host::event::Drain{}; }

host::Event to_session(const message::Heartbeat& m) {
  return host::event::BrokerHeartbeat{session_boot(m.boot)};
}

host::Event to_session(const message::Refused& m) { return host::event::Refused{m.text}; }

}  // namespace puzzled::sim
