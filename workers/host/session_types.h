// What goes into a Session (events) and comes out of it (effects). PURE.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace puzzled::host {

// Strong numbers; as on the wire, 0 is "none".
enum class Boot : std::uint64_t {};
enum class LeaseId : std::uint64_t {};
using SlotNo = std::uint32_t;  // from 0

struct Limits {
  std::uint64_t time_limit_us = 0;
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t answer_bytes_max = 0;
};

struct Range {  // positions [first, first + count) of a dispatch
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

struct Dispatch {
  Boot boot{};
  LeaseId lease{};
  std::uint32_t attempt = 0;
  std::uint64_t job = 0;
  std::string puzzle;
  std::string solver;
  Limits limits;
  bool alone = false;  // nothing else runs in this worker meanwhile; in a fresh solver process
  bool keys_wanted = false;  // results have keys, and equal instances are solved once
  std::uint32_t case_count = 0;
  std::string cases;  // a serialised CaseList of case_count cases
};
using DispatchPtr = std::shared_ptr<const Dispatch>;
using BytesPtr = std::shared_ptr<const std::string>;

// ---- Events

namespace event {

// From the broker.
struct Connected {};  // the socket asked for by Effects::open can send now
struct Welcome {
  Boot boot{};
  std::uint32_t heartbeat_interval_ms = 0;
  std::uint32_t liveness_ms = 0;
};
struct Dispatched {
  DispatchPtr dispatch;
};
struct Stored {
  Boot boot{};
  LeaseId lease{};
  std::uint32_t part = 0;
};
struct Stale {
  Boot boot{};
  LeaseId lease{};
};
struct Revoke {
  Boot boot{};
  std::vector<LeaseId> leases;
};
struct Drain {};
struct BrokerHeartbeat {
  Boot boot{};
};
struct Refused {
  std::string text;
};

// From the slots. An event whose lease is not (or no longer) the slot's is ignored.
struct SlotResults {
  SlotNo slot = 0;
  LeaseId lease{};
  BytesPtr results;  // a serialised CaseResultList; null or empty: none
  std::uint64_t busy_us = 0;
  bool finished = false;  // nothing of the lease is left: the slot is free
};
struct SlotReturned {  // cases of its lease that the slot will not solve
  SlotNo slot = 0;
  LeaseId lease{};
  std::vector<Range> positions;
};
struct SlotLate {  // the slot has been on one case for long: others should not wait for it
  SlotNo slot = 0;
  LeaseId lease{};
};
struct SlotProgress {
  SlotNo slot = 0;
  LeaseId lease{};
  std::uint32_t position = 0;  // the case being solved
  std::uint64_t progress = 0;
};

// From the operator and the clock.
struct Terminate {};  // the first: drain; the second: give back what runs as well
struct Tick {};       // next_deadline() has been reached

}  // namespace event

using Event = std::variant<event::Connected, event::Welcome, event::Dispatched, event::Stored,
                           event::Stale, event::Revoke, event::Drain, event::BrokerHeartbeat,
                           event::Refused, event::SlotResults, event::SlotReturned, event::SlotLate,
                           event::SlotProgress, event::Terminate, event::Tick>;

// ---- Effects

// Messages to the broker; what they mean is said in proto/worker.proto. What never changes while
// the process lives (start id, name, offers…) is added by the host.
namespace message {

struct Ready {
  std::uint32_t capacity = 0;
  Boot boot{};
  std::vector<LeaseId> leases;
};
struct Results {
  Boot boot{};
  LeaseId lease{};
  std::uint32_t attempt = 0;
  std::uint32_t part = 0;
  BytesPtr results;
  std::uint64_t busy_us = 0;
  std::uint32_t capacity = 0;
};
struct Return {
  Boot boot{};
  LeaseId lease{};
  std::uint32_t attempt = 0;
  std::vector<Range> positions;
  std::uint32_t capacity = 0;
};
struct BusySlot {
  LeaseId lease{};
  std::uint32_t position = 0;
  std::uint64_t progress = 0;
};
struct Heartbeat {
  Boot boot{};
  std::vector<LeaseId> leases;
  std::vector<BusySlot> slots;
  std::uint32_t capacity = 0;
};
struct Goodbye {
  std::string reason;
};

}  // namespace message

using Message = std::variant<message::Ready, message::Results, message::Return, message::Heartbeat,
                             message::Goodbye>;

namespace command {

struct Start {  // solve this lease; the slot is free
  SlotNo slot = 0;
  DispatchPtr dispatch;
};
struct Trim {  // stop after the case being solved; the rest comes back as SlotReturned
  SlotNo slot = 0;
};
struct Abort {  // stop at once; the case being solved and the rest come back as SlotReturned
  SlotNo slot = 0;
};
struct Kill {  // forget the lease at once, without events; the slot is free
  SlotNo slot = 0;
};

}  // namespace command

using Command = std::variant<command::Start, command::Trim, command::Abort, command::Kill>;

struct Exit {
  int code = 0;
  std::string text;  // why, for the log
};

// To be carried out in this order: close, open, messages, commands, exit.
struct Effects {
  bool close = false;  // drop the socket and all that is queued on it
  bool open = false;   // make a new one, answered by Connected
  std::vector<Message> messages;
  std::vector<Command> commands;
  std::optional<Exit> exit;

  void clear() { *this = Effects{}; }
};

}  // namespace puzzled::host
