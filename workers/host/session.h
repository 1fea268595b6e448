// The worker's side of the conversation with the broker, as a pure state machine: no sockets, no
// processes, no clock. It decides which lease runs on which slot, what is kept until the broker has
// it on disk, when the broker counts as gone, and when the worker ends.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "workers/host/session_types.h"

namespace puzzled::host {

struct SessionOptions {
  std::uint32_t slots = 1;
  std::uint64_t seed = 1;  // of the jitter of reconnects
  // Until the first Welcome says otherwise.
  std::uint32_t heartbeat_interval_ms = 1'000;
  std::uint32_t liveness_ms = 3'000;
  // A new socket comes after a pause that doubles from first to max, less a random half.
  std::uint32_t backoff_first_ms = 100;
  std::uint32_t backoff_max_ms = 5'000;
  std::int64_t idle_timeout_ms = 0;          // no lease for that long: drain and exit; 0: never
  std::int64_t give_up_after_ms = 0;         // no broker for that long: exit 3; 0: never
  std::int64_t stored_wait_ms = 10'000;      // at the end of a drain, for answers to results
  std::uint32_t resend_intervals = 3;        // heartbeat intervals without an answer; then doubled
  std::uint64_t kept_bytes_max = 64U << 20;  // unanswered results; over it no new lease is taken
};

inline constexpr int kExitUnreachable = 3;
inline constexpr int kExitRefused = 4;

class Session {
 public:
  enum class State : std::uint8_t { kConnecting, kWorking, kDraining, kStopped };
  static constexpr std::int64_t kNever = INT64_MAX;

  // REQUIRES: options.slots > 0. Nothing happens before the first step, which should be a Tick.
  Session(const SessionOptions& options, std::int64_t now_ms);

  // Handles one event at `now_ms` (a steady clock, never going back). `effects` is overwritten.
  void step(std::int64_t now_ms, const Event& event, Effects& effects);

  // When the next Tick is due; kNever when stopped.
  [[nodiscard]] std::int64_t next_deadline() const;

  [[nodiscard]] State state() const;
  // Leases the broker may have with this worker now: waiting and running together.
  [[nodiscard]] std::uint32_t capacity() const;
  // Every lease held: waiting, being solved, or with results that are not yet stored. Ascending.
  [[nodiscard]] std::vector<LeaseId> held_leases() const;

  // Dies if a rule about its own tables is broken; for tests, after every step.
  void check_invariants() const;

 private:
  // Where the connection stands, apart from what the worker does with it.
  enum class Link : std::uint8_t { kBackOff, kOpening, kReadySent, kUp };
  enum class Phase : std::uint8_t { kWaiting, kRunning, kSolved };

  struct Part {
    BytesPtr results;
    std::uint64_t busy_us = 0;
    std::int64_t resend_at_ms = 0;
    std::int64_t resend_after_ms = 0;
  };
  struct Lease {
    Phase phase = Phase::kWaiting;
    std::uint32_t attempt = 0;
    SlotNo slot = 0;       // while running
    DispatchPtr dispatch;  // null once solved
    std::uint32_t next_part = 0;
    std::map<std::uint32_t, Part> parts;  // sent or to be sent, not yet answered
  };
  using Leases = std::map<LeaseId, Lease>;
  struct Slot {
    std::optional<LeaseId> lease;
    bool late = false;
    std::uint32_t position = 0;
    std::uint64_t progress = 0;
  };

  void on(const event::Connected&);
  void on(const event::Welcome&);
  void on(const event::Dispatched&);
  void on(const event::Stored&);
  void on(const event::Stale&);
  void on(const event::Revoke&);
  void on(const event::Drain&);
  void on(const event::BrokerHeartbeat&);
  void on(const event::Refused&);
  void on(const event::SlotResults&);
  void on(const event::SlotReturned&);
  void on(const event::SlotLate&);
  void on(const event::SlotProgress&);
  void on(const event::Terminate&);
  void on(const event::Tick&);

  void settle();
  void start_waiting();
  void return_surplus();
  void stamp_capacity();
  void finish_drain();

  void send_ready();
  void send_heartbeat();
  void send_part(LeaseId id, Lease& lease, std::uint32_t number);
  void send_return(LeaseId id, const Lease& lease, std::vector<Range> positions);
  void resend_parts(bool all);
  void lose_link();
  [[nodiscard]] std::int64_t patience_ms() const;  // with a connection that is being made
  void start_drain(std::string reason);
  void abort_running();
  void stop(int code, std::string text);

  void drop(LeaseId id);
  void drop_all();
  void release(Leases::iterator lease);  // erases it if nothing of it is left
  Slot* slot_with(SlotNo slot, LeaseId lease);
  [[nodiscard]] std::uint32_t running() const;
  // A suspect runs beside nothing else: if this worker dies, it is known of what.
  [[nodiscard]] bool is_alone(LeaseId id) const;
  [[nodiscard]] bool runs_alone() const;
  [[nodiscard]] bool may_start(LeaseId id) const;

  SessionOptions options_;
  std::int64_t now_ms_;
  std::mt19937_64 random_;

  Link link_ = Link::kBackOff;
  std::int64_t link_deadline_ms_;  // end of the back-off, or of waiting for the broker
  std::int64_t last_heard_ms_;
  std::int64_t heartbeat_at_ms_ = kNever;
  std::uint32_t failures_ = 0;  // sockets in a row that brought no Welcome
  Boot boot_{};
  std::uint32_t sent_capacity_ = 0;

  Leases leases_;
  std::deque<LeaseId> waiting_;  // first in, first out
  std::vector<Slot> slots_;
  std::uint64_t kept_bytes_ = 0;  // of all parts
  std::int64_t idle_since_ms_;

  bool draining_ = false;
  bool stopped_ = false;
  std::string drain_reason_;
  std::int64_t drain_deadline_ms_ = kNever;  // set once nothing runs any more

  Effects* out_ = nullptr;  // of the step being made
};

}  // namespace puzzled::host
