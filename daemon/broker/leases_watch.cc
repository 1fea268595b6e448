// Leases: what workers say they hold, deadlines, durability.
#include <algorithm>
#include <utility>

#include "daemon/broker/leases.h"
#include "daemon/broker/sessions.h"
#include "proto/base/assert.h"

namespace puzzled::broker {
namespace {

// A lease that is missing from a heartbeat may still be on its way for so many intervals.
constexpr std::int64_t kDispatchIntervals = 2;
// The wall backstop of a case, after which its worker gives it back: ten times its time limit and
// ten seconds. (The time limit itself is CPU time, and the worker's business.)
constexpr std::uint64_t kBackstopFactor = 10;
constexpr std::int64_t kBackstopMs = 10'000;
constexpr std::uint64_t kTimeLimitMaxMs = 1'000'000'000;  // longer ones do not move deadlines

}  // namespace

std::int64_t Leases::deadline(const Lease& lease) const {
  const std::uint64_t limit_ms =
      std::min(lease.spec->limits.time_limit_us / 1000 + 1, kTimeLimitMaxMs);
  // A lease that waits behind others lives as long as the worker gets on with anything.
  const std::int64_t progress_ms =
      lease.on_slot ? lease.progress_ms : std::max(lease.progress_ms, lease.session->progress_ms);
  return progress_ms + static_cast<std::int64_t>(kBackstopFactor * limit_ms) + kBackstopMs +
         core_.options.lease_margin_ms;
}

std::int64_t Leases::oldest_dispatch_ms(const Job& job) const {
  std::int64_t oldest_ms = kNever;
  for (const Lease* lease : job.leases) oldest_ms = std::min(oldest_ms, lease->dispatched_ms);
  return oldest_ms;
}

std::int64_t Leases::first_deadline(const Session& session) const {
  std::int64_t first = kNever;
  for (const HeldLease& held : session.leases) first = std::min(first, deadline(*held.lease));
  return first;
}

bool Leases::end_expired(Session& session) {
  std::vector<LeaseId> expired;
  for (const HeldLease& held : session.leases) {
    if (deadline(*held.lease) <= core_.step.steady_ms()) expired.push_back(held.id);
  }
  for (const LeaseId id : expired) {
    end(*find(session, id), Blame::kIsolate);
    if (session.attached) core_.step.tell_now(session.peer, message::Stale{core_.boot, id});
  }
  return !expired.empty();
}

// Should a worker have begun one of them after all, it stops: some work is done twice, no more.
void Leases::take_back_unbegun(Session& session) {
  std::vector<LeaseId> unbegun;
  for (const HeldLease& held : session.leases) {
    if (!held.lease->on_slot && !may_have_begun(*held.lease)) unbegun.push_back(held.id);
  }
  if (unbegun.empty()) return;
  for (const LeaseId id : unbegun) end(*find(session, id), Blame::kNone);
  if (session.attached) {
    core_.step.tell_now(session.peer,
                        message::Revoke{.boot = core_.boot, .leases = std::move(unbegun)});
  }
}

void Leases::postpone(std::int64_t ms) {
  for (Lease& lease : leases_) {
    if (lease.session == nullptr) continue;
    lease.dispatched_ms += ms;
    lease.progress_ms += ms;
  }
}

void Leases::heartbeat(Session& session, event::WorkerHeartbeat&& heartbeat) {
  const std::int64_t now = core_.step.steady_ms();
  std::ranges::sort(heartbeat.leases);
  for (const LeaseId id : heartbeat.leases) {
    if (!holds(session, id)) {
      core_.step.tell_now(session.peer, message::Stale{heartbeat.boot, id});
    }
  }
  const std::int64_t interval = core_.options.heartbeat_interval_ms;
  std::vector<LeaseId> lost;
  for (const auto& [id, lease] : session.leases) {
    if (lease->dispatched_ms + kDispatchIntervals * interval <= now &&
        !std::ranges::binary_search(heartbeat.leases, id)) {
      lost.push_back(id);
    }
  }
  for (const LeaseId id : lost) end(*find(session, id), Blame::kNone);

  std::unordered_map<LeaseId, std::uint64_t> seen;
  session.busy.clear();
  for (const event::BusySlot& slot : heartbeat.slots) {
    const Lease* lease = find(session, slot.lease);
    if (lease == nullptr || slot.position >= lease->is_open.size()) continue;
    session.busy.push_back(slot);
    seen[slot.lease] += (slot.position + 1) * 0x9e3779b97f4a7c15ULL + slot.progress;
  }
  for (const HeldLease& held : session.leases) {
    Lease& lease = *held.lease;
    const auto it = seen.find(held.id);
    lease.on_slot = it != seen.end();
    if (!lease.on_slot || it->second == lease.progress_seen) continue;
    lease.progress_seen = it->second;
    lease.progress_ms = session.progress_ms = now;
  }
}

void Leases::keep_only(Session& session, std::vector<LeaseId> held) {
  std::ranges::sort(held);
  for (const LeaseId id : held) {
    if (!holds(session, id)) {
      core_.step.tell_now(session.peer, message::Stale{core_.boot, id});
    }
  }
  const std::vector<HeldLease> leases = session.leases;
  for (const auto& [id, lease] : leases) {
    if (!std::ranges::binary_search(held, id)) end(*lease, Blame::kNone);
  }
}

// ---- Durability.

void Leases::note_undurable(std::uint64_t bytes, LeaseId settled) {
  undurable_.push_back({.step = core_.step.recording_number(), .settled = settled, .bytes = bytes});
  undurable_bytes_ += bytes;
}

void Leases::set_durable(std::uint64_t steps) {
  while (!undurable_.empty() && undurable_.front().step <= steps) {
    undurable_bytes_ -= undurable_.front().bytes;
    settled_.erase(undurable_.front().settled);
    undurable_.pop_front();
  }
}

// ---- Checks.

LeasedCases Leases::leased_cases(const Job& job) const {
  LeasedCases cases;
  for (const Lease* lease : job.leases) {
    for (const Piece& piece : lease->pieces) {
      for (std::uint32_t i = 0; i < piece.count; ++i) {
        // Chunks of other positions may be gone already.
        if (!lease->is_open[piece.position + i]) continue;
        std::vector<bool>& of_chunk = cases[piece.chunk];
        of_chunk.resize(piece.chunk->case_count);
        of_chunk[piece.first + i] = true;
      }
    }
  }
  return cases;
}

void Leases::check_lease(const Lease& lease) const {
  ASSERT(!lease.is_over());
  if (lease.job == nullptr) {
    ASSERT(lease.pieces.empty() && lease.open_count == 0);
  } else {
    ASSERT(lease.job->leases.at(lease.place_in_job) == &lease);
  }
  ASSERT(find(*lease.session, lease.id) == &lease && by_id_[place_of(lease.id)] != nullptr);
  ASSERT(!settled_.contains(lease.id));
  ASSERT(deadline(lease) != kNever);
  ASSERT(lease.is_open.size() <= std::max(core_.options.dispatch_cases_max, 2U));
  ASSERT(!lease.alone || lease.is_open.size() == 1);
  ASSERT(std::ranges::count(lease.is_open, true) == lease.open_count);
  std::uint32_t position = 0;
  const auto skip_canary = [&] {
    if (lease.canary && lease.canary->position == position) ++position;
  };
  for (const Piece& piece : lease.pieces) {
    skip_canary();
    ASSERT(piece.position == position && piece.count > 0);
    position += piece.count;
    for (std::uint32_t i = 0; i < piece.count; ++i) {
      if (!lease.is_open[piece.position + i]) continue;
      ASSERT(piece.chunk->states.at(piece.first + i) == CaseState::kLeased);
    }
  }
  skip_canary();
  ASSERT(position == lease.is_open.size() || lease.job == nullptr);
}

void Leases::check() const {
  std::unordered_map<const Job*, std::uint64_t> leased;
  std::uint64_t live = 0;
  for (const Lease& lease : leases_) {
    if (lease.session == nullptr) continue;
    check_lease(lease);
    ++live;
    if (lease.job == nullptr) continue;
    leased[lease.job] += lease.open_count;
  }
  ASSERT(live == live_count());
  // Every leased case is an open position of a lease, and of one only: the counts agree, and no
  // two open positions have the same case.
  for (const auto& [job, count] : leased) ASSERT(job->leased_count == count);
  std::unordered_map<const OpenChunk*, std::vector<bool>> seen;
  for (const Lease& lease : leases_) {
    for (const Piece& piece : lease.pieces) {
      for (std::uint32_t i = 0; i < piece.count; ++i) {
        if (!lease.is_open[piece.position + i]) continue;
        std::vector<bool>& cases = seen[piece.chunk];
        cases.resize(piece.chunk->case_count);
        ASSERT(!cases[piece.first + i]);
        cases[piece.first + i] = true;
      }
    }
  }
}

}  // namespace puzzled::broker
