#include "workers/host/session.h"

#include <algorithm>
#include <utility>

#include "proto/base/assert.h"

namespace puzzled::host {
namespace {

// How long a worker in a hurry (told twice to go) waits for answers to its last results.
constexpr std::int64_t kHastyWaitMs = 1'000;
// How often the patience with a connection that does not come about is doubled.
constexpr std::uint32_t kPatienceDoublings = 4;
// The longest pause between two times that results are sent which were not answered.
constexpr std::int64_t kResendMaxMs = 60'000;

}  // namespace

Session::Session(const SessionOptions& options, std::int64_t now_ms)
    : options_(options),
      now_ms_(now_ms),
      random_(options.seed),
      link_deadline_ms_(now_ms),
      last_heard_ms_(now_ms),
      slots_(options.slots),
      idle_since_ms_(now_ms) {
  ASSERT(options.slots > 0);
}

void Session::step(std::int64_t now_ms, const Event& event, Effects& effects) {
  effects.clear();
  if (stopped_) return;
  now_ms_ = std::max(now_ms_, now_ms);
  out_ = &effects;
  const bool had_leases = !leases_.empty();
  std::visit([this](const auto& e) { on(e); }, event);
  if (!stopped_) settle();
  if (had_leases || !leases_.empty()) idle_since_ms_ = now_ms_;
  out_ = nullptr;
}

Session::State Session::state() const {
  if (stopped_) return State::kStopped;
  if (draining_) return State::kDraining;
  return link_ == Link::kUp ? State::kWorking : State::kConnecting;
}

std::int64_t Session::next_deadline() const {
  if (stopped_) return kNever;
  std::int64_t at = std::min(link_deadline_ms_, drain_deadline_ms_);
  if (link_ == Link::kUp) {
    at = std::min({heartbeat_at_ms_, last_heard_ms_ + options_.liveness_ms, drain_deadline_ms_});
  }
  if (options_.idle_timeout_ms > 0 && leases_.empty() && !draining_) {
    at = std::min(at, idle_since_ms_ + options_.idle_timeout_ms);
  }
  if (options_.give_up_after_ms > 0 && link_ != Link::kUp) {
    at = std::min(at, last_heard_ms_ + options_.give_up_after_ms);
  }
  return at;
}

std::uint32_t Session::capacity() const {
  if (draining_) return 0;
  const auto unfinished = static_cast<std::uint32_t>(waiting_.size()) + running();
  if (kept_bytes_ > options_.kept_bytes_max) return unfinished;
  const auto late =
      static_cast<std::uint32_t>(std::ranges::count_if(slots_, [](auto& s) { return s.late; }));
  if (runs_alone()) return late > 0 ? 1 : 2;
  // Twice the slots, so that the next lease is there when one ends. A late slot takes part only
  // with the lease it has: nobody knows when it will want another.
  const std::uint32_t room = late + 2 * (options_.slots - late);
  // What would wait behind a suspect is better off elsewhere.
  const auto suspect = std::ranges::find_if(waiting_, [this](LeaseId id) { return is_alone(id); });
  if (suspect == waiting_.end()) return room;
  return std::min(room, running() + static_cast<std::uint32_t>(suspect - waiting_.begin()) + 1);
}

std::vector<LeaseId> Session::held_leases() const {
  std::vector<LeaseId> all;
  all.reserve(leases_.size());
  for (const auto& [id, lease] : leases_) all.push_back(id);
  return all;
}

// ---- The connection

void Session::on(const event::Connected&) {
  if (link_ != Link::kOpening) return;
  send_ready();
}

void Session::on(const event::Welcome& e) {
  if (link_ != Link::kReadySent && link_ != Link::kUp) return;
  last_heard_ms_ = now_ms_;
  if (e.boot == Boot{}) {
    // "Who are you?": a broker that came back behind the same socket. One Ready is enough, however
    // many of our messages it could not place.
    if (link_ == Link::kUp) send_ready();
    return;
  }
  if (e.boot != boot_) drop_all();
  boot_ = e.boot;
  options_.heartbeat_interval_ms = std::clamp(e.heartbeat_interval_ms, 1U, 3'600'000U);
  options_.liveness_ms = std::max(e.liveness_ms, options_.heartbeat_interval_ms);
  link_ = Link::kUp;
  failures_ = 0;
  heartbeat_at_ms_ = now_ms_ + options_.heartbeat_interval_ms;
  resend_parts(true);
}

void Session::on(const event::BrokerHeartbeat& e) {
  last_heard_ms_ = now_ms_;
  if (link_ == Link::kUp && e.boot != boot_) send_ready();
}

void Session::on(const event::Refused& e) { stop(kExitRefused, e.text); }

void Session::lose_link() {
  out_->close = true;
  link_ = Link::kBackOff;
  const std::uint64_t doubled = std::uint64_t{options_.backoff_first_ms}
                                << std::min(failures_, 20U);
  const std::uint64_t pause = std::min<std::uint64_t>(doubled, options_.backoff_max_ms);
  link_deadline_ms_ = now_ms_ + static_cast<std::int64_t>(pause - random_() % (pause / 2 + 1));
  ++failures_;
}

// Who gives up throws away what the daemon has already spent on the handshake: when thousands come
// back at once, that would be most of its work, and it would go on for ever.
std::int64_t Session::patience_ms() const {
  return std::int64_t{options_.liveness_ms} << std::min(failures_, kPatienceDoublings);
}

void Session::on(const event::Tick&) {
  if (options_.give_up_after_ms > 0 && link_ != Link::kUp &&
      now_ms_ >= last_heard_ms_ + options_.give_up_after_ms) {
    stop(kExitUnreachable, "the daemon cannot be reached");
    return;
  }
  if (link_ == Link::kUp) {
    if (now_ms_ >= last_heard_ms_ + options_.liveness_ms) {
      lose_link();
    } else if (now_ms_ >= heartbeat_at_ms_) {
      resend_parts(false);
      send_heartbeat();
    }
  } else if (now_ms_ >= link_deadline_ms_) {
    if (link_ == Link::kBackOff) {
      out_->open = true;
      link_ = Link::kOpening;
      link_deadline_ms_ = now_ms_ + patience_ms();
    } else {
      lose_link();
    }
  }
  if (options_.idle_timeout_ms > 0 && leases_.empty() && !draining_ &&
      now_ms_ >= idle_since_ms_ + options_.idle_timeout_ms) {
    start_drain("idle");
  }
}

// ---- Leases

void Session::on(const event::Dispatched& e) {
  last_heard_ms_ = now_ms_;
  const Dispatch& dispatch = *e.dispatch;
  if (dispatch.boot != boot_ || boot_ == Boot{} || leases_.contains(dispatch.lease)) return;
  Lease lease;
  lease.attempt = dispatch.attempt;
  lease.dispatch = e.dispatch;
  leases_.emplace(dispatch.lease, std::move(lease));
  waiting_.push_back(dispatch.lease);
}

void Session::on(const event::Stored& e) {
  last_heard_ms_ = now_ms_;
  if (e.boot != boot_) return;
  const auto lease = leases_.find(e.lease);
  if (lease == leases_.end()) return;
  const auto part = lease->second.parts.find(e.part);
  if (part == lease->second.parts.end()) return;
  kept_bytes_ -= part->second.results->size();
  lease->second.parts.erase(part);
  release(lease);
}

void Session::on(const event::Stale& e) {
  last_heard_ms_ = now_ms_;
  if (e.boot == boot_) drop(e.lease);
}

void Session::on(const event::Revoke& e) {
  last_heard_ms_ = now_ms_;
  if (e.boot != boot_) return;
  for (const LeaseId lease : e.leases) drop(lease);
}

void Session::drop(LeaseId id) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return;
  Lease& lease = found->second;
  if (lease.phase == Phase::kWaiting) std::erase(waiting_, id);
  if (lease.phase == Phase::kRunning) {
    out_->commands.emplace_back(command::Kill{lease.slot});
    slots_[lease.slot] = Slot{};
  }
  for (const auto& [number, part] : lease.parts) kept_bytes_ -= part.results->size();
  leases_.erase(found);
}

void Session::drop_all() {
  for (const LeaseId id : held_leases()) drop(id);
}

void Session::release(Leases::iterator lease) {
  if (lease->second.phase == Phase::kSolved && lease->second.parts.empty()) leases_.erase(lease);
}

// ---- Slots

Session::Slot* Session::slot_with(SlotNo slot, LeaseId lease) {
  ASSERT(slot < slots_.size());
  return slots_[slot].lease == lease ? &slots_[slot] : nullptr;
}

std::uint32_t Session::running() const {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(slots_, [](auto& s) { return s.lease.has_value(); }));
}

void Session::on(const event::SlotResults& e) {
  Slot* slot = slot_with(e.slot, e.lease);
  if (slot == nullptr) return;
  const auto lease = leases_.find(e.lease);
  if (e.finished) {
    *slot = Slot{};
    lease->second.phase = Phase::kSolved;
    lease->second.dispatch.reset();
  }
  if (e.results != nullptr && !e.results->empty()) {
    const std::uint32_t number = lease->second.next_part++;
    lease->second.parts.emplace(number, Part{e.results, e.busy_us, 0, 0});
    kept_bytes_ += e.results->size();
    if (link_ == Link::kUp) send_part(e.lease, lease->second, number);
  }
  release(lease);
}

void Session::on(const event::SlotReturned& e) {
  if (slot_with(e.slot, e.lease) == nullptr || e.positions.empty()) return;
  send_return(e.lease, leases_.at(e.lease), e.positions);
}

void Session::on(const event::SlotLate& e) {
  Slot* slot = slot_with(e.slot, e.lease);
  if (slot == nullptr || slot->late) return;
  slot->late = true;
  out_->commands.emplace_back(command::Trim{e.slot});
}

void Session::on(const event::SlotProgress& e) {
  Slot* slot = slot_with(e.slot, e.lease);
  if (slot == nullptr) return;
  slot->position = e.position;
  slot->progress = e.progress;
}

// ---- The end

void Session::on(const event::Drain&) {
  last_heard_ms_ = now_ms_;
  if (!draining_) start_drain("drained by the daemon");
}

void Session::on(const event::Terminate&) {
  if (draining_) {
    abort_running();
  } else {
    start_drain("terminated");
  }
}

void Session::start_drain(std::string reason) {
  draining_ = true;
  drain_reason_ = std::move(reason);
  for (SlotNo i = 0; i < slots_.size(); ++i) {
    if (slots_[i].lease) out_->commands.emplace_back(command::Trim{i});
  }
}

void Session::abort_running() {
  for (SlotNo i = 0; i < slots_.size(); ++i) {
    if (slots_[i].lease) out_->commands.emplace_back(command::Abort{i});
  }
  drain_deadline_ms_ = now_ms_ + std::min<std::int64_t>(options_.stored_wait_ms, kHastyWaitMs);
}

void Session::finish_drain() {
  if (!draining_ || running() > 0) return;
  if (drain_deadline_ms_ == kNever) drain_deadline_ms_ = now_ms_ + options_.stored_wait_ms;
  if (leases_.empty() || now_ms_ >= drain_deadline_ms_) {
    if (link_ == Link::kUp) out_->messages.emplace_back(message::Goodbye{drain_reason_});
    stop(0, drain_reason_);
  }
}

void Session::stop(int code, std::string text) {
  stopped_ = true;
  out_->exit = Exit{code, std::move(text)};
}

// ---- What every step ends with

void Session::settle() {
  if (!draining_) start_waiting();
  return_surplus();
  stamp_capacity();
  finish_drain();
}

bool Session::is_alone(LeaseId id) const {
  const Lease& lease = leases_.at(id);
  return lease.dispatch != nullptr && lease.dispatch->alone;
}

bool Session::runs_alone() const {
  return std::ranges::any_of(slots_,
                             [this](const Slot& s) { return s.lease && is_alone(*s.lease); });
}

bool Session::may_start(LeaseId id) const { return is_alone(id) ? running() == 0 : !runs_alone(); }

void Session::start_waiting() {
  for (SlotNo i = 0; i < slots_.size() && !waiting_.empty(); ++i) {
    if (slots_[i].lease) continue;
    const LeaseId id = waiting_.front();
    if (!may_start(id)) return;
    waiting_.pop_front();
    slots_[i].lease = id;
    Lease& lease = leases_.at(id);
    lease.phase = Phase::kRunning;
    lease.slot = i;
    out_->commands.emplace_back(command::Start{i, lease.dispatch});
  }
}

void Session::return_surplus() {
  // The latest first: the others have waited longer.
  while (!waiting_.empty() && waiting_.size() + running() > capacity()) {
    const LeaseId id = waiting_.back();
    const Lease& lease = leases_.at(id);
    send_return(id, lease, {{0, lease.dispatch->case_count}});
    drop(id);
  }
}

void Session::stamp_capacity() {
  if (link_ != Link::kUp && link_ != Link::kReadySent) return;
  const std::uint32_t now = capacity();
  bool said = false;
  for (Message& m : out_->messages) {
    std::visit(
        [&](auto& body) {
          if constexpr (requires { body.capacity; }) {
            body.capacity = now;
            said = true;
          }
        },
        m);
  }
  if (said) sent_capacity_ = now;
  if (link_ == Link::kUp && sent_capacity_ != now) {
    send_heartbeat();
    sent_capacity_ = now;
  }
}

// ---- Messages

void Session::send_ready() {
  out_->messages.emplace_back(message::Ready{capacity(), boot_, held_leases()});
  link_ = Link::kReadySent;
  link_deadline_ms_ = now_ms_ + patience_ms();
}

void Session::send_heartbeat() {
  message::Heartbeat beat{boot_, held_leases(), {}, capacity()};
  for (const Slot& slot : slots_) {
    if (slot.lease) beat.slots.push_back({*slot.lease, slot.position, slot.progress});
  }
  out_->messages.emplace_back(std::move(beat));
  heartbeat_at_ms_ = now_ms_ + options_.heartbeat_interval_ms;
}

void Session::send_part(LeaseId id, Lease& lease, std::uint32_t number) {
  Part& part = lease.parts.at(number);
  const std::int64_t first =
      std::int64_t{options_.resend_intervals} * options_.heartbeat_interval_ms;
  part.resend_after_ms = part.resend_after_ms == 0
                             ? first
                             : std::min(part.resend_after_ms * 2, std::max(first, kResendMaxMs));
  part.resend_at_ms = now_ms_ + part.resend_after_ms;
  out_->messages.emplace_back(
      message::Results{boot_, id, lease.attempt, number, part.results, part.busy_us, capacity()});
}

void Session::send_return(LeaseId id, const Lease& lease, std::vector<Range> positions) {
  // Nobody waits for an answer to this: if it is lost, the lists of leases in Ready and Heartbeat
  // tell the broker the same, later.
  if (link_ != Link::kUp) return;
  out_->messages.emplace_back(
      message::Return{boot_, id, lease.attempt, std::move(positions), capacity()});
}

void Session::resend_parts(bool all) {
  for (auto& [id, lease] : leases_) {
    for (auto& [number, part] : lease.parts) {
      if (all) part.resend_after_ms = 0;
      if (all || now_ms_ >= part.resend_at_ms) send_part(id, lease, number);
    }
  }
}

}  // namespace puzzled::host
