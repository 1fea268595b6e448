// Leases: their ends without a result, and what all ends have in common.
#include <algorithm>
#include <bit>
#include <utility>

#include "daemon/broker/jobs.h"
#include "daemon/broker/leases.h"
#include "daemon/broker/sessions.h"
#include "daemon/broker/suspects.h"
#include "proto/base/assert.h"

namespace puzzled::broker {
namespace {

// More of them only come from a queue in many parts, and would be kept for ever.
constexpr std::size_t kPiecesKept = 16;

}  // namespace

Lease& Leases::create() {
  if (spare_.empty()) spare_.push_back(&leases_.emplace_back());
  Lease& lease = *spare_.back();
  spare_.pop_back();
  lease.id = LeaseId{++last_lease_};
  if (by_id_.size() < 2 * leases_.size()) {
    by_id_.assign(std::bit_ceil(4 * leases_.size()), nullptr);
    for (Lease& live : leases_) by_id_[place_of(live.id)] = &live;
  }
  by_id_[place_of(lease.id)] = &lease;
  return lease;
}

void Leases::settle(Lease& lease, std::uint64_t bytes) {
  settled_.emplace(lease.id, Settled{.worker = lease.session->worker, .attempt = lease.attempt});
  note_undurable(bytes, lease.id);
  erase(lease);
}

// It counts for nobody any more. Of what it was nothing stays but the memory, if that is little.
void Leases::erase(Lease& lease) {
  Session& session = *lease.session;
  if (lease.has_open_canary()) Canaries::missed(session, lease.lane);
  session.leases.erase(std::ranges::lower_bound(session.leases, lease.id, {}, &HeldLease::id));
  session.leases_allowed =
      std::max(session.capacity, static_cast<std::uint32_t>(session.leases.size()));
  if (lease.job != nullptr) unlink(lease);
  std::vector<Piece> pieces = std::move(lease.pieces);
  std::vector<bool> is_open = std::move(lease.is_open);
  pieces.clear();
  if (pieces.capacity() > kPiecesKept) pieces = {};
  is_open.clear();
  lease = Lease{};
  lease.pieces = std::move(pieces);
  lease.is_open = std::move(is_open);
  spare_.push_back(&lease);
  core_.sessions->update_credit(session);
}

void Leases::link(Job& job, Lease& lease) {
  lease.place_in_job = static_cast<std::uint32_t>(job.leases.size());
  job.leases.push_back(&lease);
}

void Leases::unlink(Lease& lease) {
  std::vector<Lease*>& leases = lease.job->leases;
  leases.back()->place_in_job = lease.place_in_job;
  leases[lease.place_in_job] = leases.back();
  leases.pop_back();
}

void Leases::give_back(Session& session, const event::WorkerReturn& returned) {
  Lease* lease = find(session, returned.boot, returned.lease, returned.attempt);
  if (lease == nullptr) {
    // Of a settled one there is nothing left to return.
    if (!is_settled(session, returned.boot, returned.lease, returned.attempt)) {
      core_.step.tell_now(session.peer, message::Stale{returned.boot, returned.lease});
    }
    return;
  }
  lease->progress_ms = session.progress_ms = core_.step.steady_ms();
  std::vector<bool> kept = lease->is_open;
  std::uint32_t kept_count = lease->open_count;
  for (const PositionRange& range : returned.positions) {
    const std::uint64_t end =
        std::min<std::uint64_t>(kept.size(), std::uint64_t{range.first} + range.count);
    if (lease->has_open_canary() && lease->canary->position >= range.first &&
        lease->canary->position < end) {
      lease->canary->is_open = false;
      Canaries::missed(session, lease->lane);
    }
    for (std::uint64_t position = range.first; position < end; ++position) {
      if (!kept[position]) continue;
      kept[position] = false;
      --kept_count;
    }
  }
  Job* const job = lease->job;
  std::vector<OpenChunk*> chunks = open_chunks(*lease);
  // What is open and not kept goes back.
  for (std::size_t i = 0; i < kept.size(); ++i) {
    lease->is_open[i] = lease->is_open[i] && !kept[i];
  }
  requeue_open(*lease);
  lease->is_open = std::move(kept);
  lease->open_count = kept_count;
  if (lease->is_over()) erase(*lease);
  if (job != nullptr) settle_chunks(core_, *job, chunks);
}

// Queues all open positions again, so that the first of them is the next to be taken.
void Leases::requeue_open(Lease& lease) {
  for (auto piece = lease.pieces.rbegin(); piece != lease.pieces.rend(); ++piece) {
    std::uint32_t end = piece->count;
    while (end > 0) {
      if (!lease.is_open[piece->position + end - 1]) {
        --end;
        continue;
      }
      std::uint32_t first = end - 1;
      while (first > 0 && lease.is_open[piece->position + first - 1]) --first;
      core_.window->requeue(*lease.job, *piece->chunk, {piece->first + first, end - first});
      end = first;
    }
  }
}

void Leases::end(Lease& lease, Blame blame) {
  if (lease.job == nullptr) {  // only its canary was open
    core_.step.note_work();
    return erase(lease);
  }
  Job& job = *lease.job;
  std::vector<OpenChunk*> chunks = open_chunks(lease);
  bool said = false;  // that it was being solved
  if (blame != Blame::kNone) {
    for (const event::BusySlot& busy : lease.session->busy) {
      // A canary that was being solved is known to be no case that kills.
      said = said || (busy.lease == lease.id && lease.has_open_canary() &&
                      busy.position == lease.canary->position);
      if (busy.lease != lease.id || busy.position >= lease.is_open.size() ||
          !lease.is_open[busy.position]) {
        continue;
      }
      said = true;
      lease.is_open[busy.position] = false;
      --lease.open_count;
      const auto piece =
          std::prev(std::ranges::upper_bound(lease.pieces, busy.position, {}, &Piece::position));
      const std::uint32_t index = piece->first + (busy.position - piece->position);
      if (blame == Blame::kCharge) {
        core_.suspects->charge(lease, *piece->chunk, index);
      } else {
        core_.suspects->isolate(job, *piece->chunk, index);
      }
    }
  }
  if (blame == Blame::kCharge && !said && lease.open_count > 0 && may_have_begun(lease))
    core_.suspects->note_lost(lease);
  requeue_open(lease);
  core_.step.note_work();
  erase(lease);
  settle_chunks(core_, job, chunks);
  core_.jobs->finish_if_done(job);  // the last case may have been quarantined
}

// A worker begins its leases in their order, as many as it has slots, and a suspect only by itself.
bool Leases::may_have_begun(const Lease& lease) const {
  std::uint32_t begun = 0;
  for (const HeldLease& held : lease.session->leases) {
    const bool alone = held.lease->alone;
    if (begun == lease.session->slots || (alone && begun > 0)) return false;
    if (held.id == lease.id) return true;
    if (alone) return false;
    ++begun;
  }
  return false;
}

std::vector<OpenChunk*> Leases::open_chunks(const Lease& lease) {
  std::vector<OpenChunk*> chunks;
  for (const Piece& piece : lease.pieces) {
    const auto begin = lease.is_open.begin() + piece.position;
    if (std::find(begin, begin + piece.count, true) == begin + piece.count) continue;
    if (std::ranges::find(chunks, piece.chunk) == chunks.end()) chunks.push_back(piece.chunk);
  }
  return chunks;
}

void Leases::settle_chunks(Core& core, Job& job, const std::vector<OpenChunk*>& chunks) {
  for (OpenChunk* chunk : chunks) core.window->settle(job, *chunk);
  // Nobody is left to solve these: their room is for others.
  if (core.queue.lane(job.place.lane).workers == 0) core.window->put_away(job);
}

void Leases::end_all(Session& session, Blame blame) {
  while (!session.leases.empty()) end(*session.leases.back().lease, blame);
}

void Leases::leave_canaries(Job& job) {
  for (Lease* lease : std::exchange(job.leases, {})) {
    ASSERT(lease->open_count == 0 && lease->has_open_canary());
    lease->job = nullptr;
    lease->pieces.clear();
  }
}

void Leases::revoke(Job& job) {
  std::unordered_map<Session*, std::vector<LeaseId>> by_session;
  while (!job.leases.empty()) {
    Lease& lease = *job.leases.back();
    by_session[lease.session].push_back(lease.id);
    requeue_open(lease);
    erase(lease);
  }
  // In the order of the workers, so that a run can be repeated exactly.
  std::vector<std::pair<Session*, std::vector<LeaseId>>> sorted(by_session.begin(),
                                                                by_session.end());
  std::ranges::sort(sorted, {}, [](const auto& entry) { return entry.first->worker; });
  for (auto& [session, ids] : sorted) {
    std::ranges::sort(ids);
    if (session->attached) {
      core_.step.tell_now(session->peer,
                          message::Revoke{.boot = core_.boot, .leases = std::move(ids)});
    }
  }
}

}  // namespace puzzled::broker
