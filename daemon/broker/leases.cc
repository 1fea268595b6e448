#include "daemon/broker/leases.h"

#include <algorithm>
#include <utility>

#include "daemon/broker/jobs.h"
#include "daemon/broker/reuse.h"
#include "daemon/broker/sessions.h"
#include "daemon/broker/suspects.h"
#include "proto/base/assert.h"

namespace puzzled::broker {
namespace {

// What a result row takes in the store's queue beside its answer and message.
constexpr std::uint64_t kRowBytes = 96;

bool is_verdict_of_answer(const CaseResult& result) {
  return is_known(result.verdict) && result.verdict != Verdict::kInvalidInstance;
}

}  // namespace

// ---- Out.

std::int64_t Leases::dispatch(Session& session, Job& job, std::uint32_t cases_max) {
  auto lease = std::make_unique<Lease>();
  lease->id = LeaseId{++last_lease_};
  lease->worker = session.worker;
  lease->job = &job;
  lease->spec = job.spec;
  lease->lane = core_.queue.lane(job.place.lane).plain;
  lease->session = &session;
  lease->keeps_answers = core_.reuse->keeps_answers(job);
  std::uint64_t bytes_max = core_.options.dispatch_bytes_max;
  const std::optional<PickedCanary> picked = core_.canaries->pick(session, job, lease->id);
  if (picked) {  // a dispatch with a canary is no larger than others
    const auto& offsets = picked->slice.cases->offsets;
    bytes_max -= std::min<std::uint64_t>(
        bytes_max, offsets[picked->slice.first + 1] - offsets[picked->slice.first]);
    cases_max = std::max(1U, std::min(cases_max, core_.options.dispatch_cases_max - 1));
  }
  lease->pieces = core_.window->take(job, cases_max, bytes_max, lease->alone);
  const Piece& last = lease->pieces.back();
  lease->open_count = last.position + last.count;
  lease->is_open.assign(lease->open_count, true);
  if (lease->alone) {
    lease->attempt = Suspects::next_attempt(job, CaseNo{last.chunk->first_case.value + last.first});
  }
  lease->dispatched_ms = lease->progress_ms = core_.step.steady_ms();

  message::Dispatch dispatch{.boot = core_.boot,
                             .lease = lease->id,
                             .attempt = lease->attempt,
                             .job = job.id,
                             .spec = job.spec,
                             .alone = lease->alone,
                             .keys_wanted = lease->keeps_answers,
                             .slices = {}};
  dispatch.slices = slices_of(*lease, picked);
  core_.step.tell_now(session.peer, std::move(dispatch));

  const Cost& cost = cost_of(job, core_.queue);
  core_.queue.charge(job.place, cost.known()
                                    ? static_cast<std::uint64_t>(cost.case_us() * lease->open_count)
                                    : core_.options.dispatch_target_us);
  job.leases.insert(lease->id);
  session.leases.push_back(lease->id);
  ++live_count_;
  core_.step.note_work();
  const std::int64_t runs_out_ms = deadline(*lease);
  leases_.emplace(lease->id, std::move(lease));
  core_.sessions->update_credit(session);
  return runs_out_ms;
}

// The canary goes anywhere; what it comes to lie in is cut in two.
std::vector<message::Slice> Leases::slices_of(Lease& lease,
                                              const std::optional<PickedCanary>& picked) {
  std::vector<message::Slice> slices;
  slices.reserve(lease.pieces.size() + 2);
  if (!picked) {
    for (const Piece& piece : lease.pieces) {
      slices.push_back({piece.chunk->cases, piece.first, piece.count});
    }
    return slices;
  }
  lease.canary = picked->out;
  const std::uint32_t at = lease.canary->position %= lease.open_count + 1;
  lease.is_open.insert(lease.is_open.begin() + at, false);
  std::vector<Piece> pieces;
  const auto add = [&](const Piece& piece) {
    if (piece.count == 0) return;
    pieces.push_back(piece);
    slices.push_back({piece.chunk->cases, piece.first, piece.count});
  };
  bool placed = false;
  for (Piece piece : lease.pieces) {
    if (placed) {
      ++piece.position;
    } else if (at < piece.position + piece.count) {
      const std::uint32_t before = at - piece.position;
      add({piece.chunk, piece.first, before, piece.position});
      slices.push_back(picked->slice);
      placed = true;
      piece = {piece.chunk, piece.first + before, piece.count - before, at + 1};
    }
    add(piece);
  }
  if (!placed) slices.push_back(picked->slice);
  lease.pieces = std::move(pieces);
  return slices;
}

// ---- Back: results.

Lease* Leases::find(const Session& session, Boot boot, LeaseId id, std::uint32_t attempt) {
  if (boot != core_.boot) return nullptr;
  const auto it = leases_.find(id);
  if (it == leases_.end()) return nullptr;
  Lease& lease = *it->second;
  return lease.worker == session.worker && lease.attempt == attempt ? &lease : nullptr;
}

const Lease* Leases::find_known(const Session& session, LeaseId id) const {
  const auto it = leases_.find(id);
  return it != leases_.end() && it->second->worker == session.worker ? it->second.get() : nullptr;
}

std::optional<FailedCanary> Leases::results(Session& session, event::WorkerResults&& event) {
  Lease* lease = find(session, event.boot, event.lease, event.attempt);
  if (lease == nullptr) {
    core_.step.tell_now(session.peer, message::Stale{event.boot, event.lease});
    return std::nullopt;
  }
  if (!lease->is_settled()) {
    lease->progress_ms = session.progress_ms = core_.step.steady_ms();
    // Without an answer it keeps them, and sends them again.
    if (store_is_far_behind()) return std::nullopt;
    clear_keys(*lease, event.results);
    if (auto failed = judge(session, *lease, event.results, event.busy_us)) return failed;
  }
  core_.step.tell_when_durable(session.peer, message::Stored{core_.boot, event.lease, event.part});
  if (!lease->is_settled()) count(session, *lease, std::move(event));
  return std::nullopt;
}

// Equal cases are merged only where keys were wanted. A limit or a crash says as much of the
// machine as of the case, whatever answer came with it.
void Leases::clear_keys(const Lease& lease, ResultSet& results) {
  for (CaseResult& result : results.results) {
    result.cached = result.cached && lease.keeps_answers;
    const bool is_kept = lease.keeps_answers && result.has_answer && is_verdict_of_answer(result);
    if (!is_kept) result.key = {};
  }
}

// Before anything else of the part counts.
std::optional<FailedCanary> Leases::judge(Session& session, Lease& lease, const ResultSet& results,
                                          std::uint64_t& busy_us) {
  if (!lease.has_open_canary()) return std::nullopt;
  CanaryOut& canary = *lease.canary;
  const auto result = std::ranges::find(results.results, canary.position, &CaseResult::position);
  if (result == results.results.end()) return std::nullopt;
  canary.is_open = false;
  // Not the job's own cost. One that was not solved has the time of its equal.
  if (!result->cached) busy_us -= std::min(busy_us, result->time_us);
  // A limit says nothing: the time and memory that are known may be those of a solver that had its
  // tables already.
  if (!core_.canaries->is_current(canary) || !is_known(result->verdict)) return std::nullopt;
  if (std::string why = core_.canaries->judge(canary, *result); !why.empty()) {
    return FailedCanary{.lane = lease.lane, .why = std::move(why)};
  }
  core_.canaries->prove(session, lease.lane, canary);
  return std::nullopt;
}

void Leases::count(Session& session, Lease& lease, event::WorkerResults&& event) {
  const auto is_over = [&] { return lease.open_count == 0 && !lease.has_open_canary(); };
  std::vector<record::ResultRow> rows;
  std::vector<OpenChunk*> chunks = open_chunks(lease);
  std::uint64_t solved = 0;
  if (lease.job != nullptr) solved = count_results(lease, event.results, rows);
  if (rows.empty()) {
    if (!is_over()) return;
    note_undurable(0, &lease);
    return detach(lease);
  }
  Job& job = *lease.job;
  job.cost.learn(solved, event.busy_us);
  core_.queue.cost(job.place.lane).learn(solved, event.busy_us);
  const LaneNo plain = core_.queue.lane(job.place.lane).plain;
  if (plain != job.place.lane) core_.queue.cost(plain).learn(solved, event.busy_us);
  const bool keeps = std::ranges::any_of(rows, [&](const record::ResultRow& row) {
    return !event.results.results[row.index].key.empty();
  });
  if (keeps) core_.reuse->answers_kept();
  session.cases_done += rows.size();
  core_.sessions->record_worker(session);
  const std::uint64_t bytes =
      rows.size() * kRowBytes + (event.results.body ? event.results.body->size() : 0);
  const std::uint64_t stretch = core_.canaries->note(session, job, rows);
  core_.step.record(record::InsertResults{.job = job.id,
                                          .worker = session.worker,
                                          .solver_version = session.solver_version(job.place.lane),
                                          .attempt = lease.attempt,
                                          .graded_ms = core_.step.wall_ms(),
                                          .results = std::move(event.results),
                                          .rows = std::move(rows),
                                          .stretch = stretch,
                                          .keeps_answers = keeps});
  core_.canaries->limit(session);
  note_undurable(bytes, is_over() ? &lease : nullptr);
  if (is_over()) detach(lease);
  settle_chunks(core_, job, chunks);
  core_.jobs->finish_if_done(job);
}

// Marks what the results answer; each position counts once, whatever the peer sends.
std::uint64_t Leases::count_results(Lease& lease, ResultSet& results,
                                    std::vector<record::ResultRow>& rows) {
  rows.reserve(results.results.size());
  std::uint64_t solved = 0;
  auto piece = lease.pieces.begin();
  bool ascending = true;
  for (std::uint32_t i = 0; i < results.results.size(); ++i) {
    CaseResult& result = results.results[i];
    if (result.position >= lease.is_open.size() || !lease.is_open[result.position]) continue;
    if (!is_verdict(static_cast<std::uint64_t>(result.verdict)) ||
        result.verdict == Verdict::kCancelled) {
      result.verdict = Verdict::kInternalError;  // a broken worker must not keep the job open
    }
    lease.is_open[result.position] = false;
    --lease.open_count;
    solved += result.cached ? 0 : 1;
    if (result.position < piece->position) piece = lease.pieces.begin();
    while (result.position >= piece->position + piece->count) ++piece;
    const std::uint32_t index = piece->first + (result.position - piece->position);
    core_.window->set_done(*lease.job, *piece->chunk, index);
    rows.push_back({CaseNo{piece->chunk->first_case.value + index}, piece->chunk->chunk_no, i});
    ascending =
        ascending && (rows.size() < 2 || rows[rows.size() - 2].case_no < rows.back().case_no);
  }
  if (!ascending) std::ranges::sort(rows, {}, &record::ResultRow::case_no);
  return solved;
}

// ---- Back: without a result.

void Leases::give_back(Session& session, const event::WorkerReturn& returned) {
  Lease* lease = find(session, returned.boot, returned.lease, returned.attempt);
  if (lease == nullptr) {
    return core_.step.tell_now(session.peer, message::Stale{returned.boot, returned.lease});
  }
  if (lease->is_settled()) return;  // there is nothing left to return
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
  if (kept_count == 0 && !lease->has_open_canary()) {
    const LeaseId id = lease->id;
    detach(*lease);
    leases_.erase(id);
  }
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
    const LeaseId id = lease.id;
    detach(lease);
    leases_.erase(id);
    return;
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
  const LeaseId id = lease.id;
  detach(lease);
  leases_.erase(id);
  settle_chunks(core_, job, chunks);
  core_.jobs->finish_if_done(job);  // the last case may have been quarantined
}

// A worker begins its leases in their order, as many as it has slots, and a suspect only by itself.
bool Leases::may_have_begun(const Lease& lease) const {
  std::uint32_t begun = 0;
  for (const LeaseId id : lease.session->leases) {
    const bool alone = leases_.at(id)->alone;
    if (begun == lease.session->slots || (alone && begun > 0)) return false;
    if (id == lease.id) return true;
    if (alone) return false;
    ++begun;
  }
  return false;
}

// The lease no longer holds cases; it counts for nobody any more.
void Leases::detach(Lease& lease) {
  Session& session = *lease.session;
  if (lease.has_open_canary()) Canaries::missed(session, lease.lane);
  std::erase(session.leases, lease.id);
  session.leases_allowed =
      std::max(session.capacity, static_cast<std::uint32_t>(session.leases.size()));
  if (lease.job != nullptr) lease.job->leases.erase(lease.id);
  lease.job = nullptr;
  lease.canary.reset();
  lease.session = nullptr;
  lease.pieces = {};
  lease.is_open = {};
  lease.open_count = 0;
  --live_count_;
  core_.sessions->update_credit(session);
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
  while (!session.leases.empty()) end(*leases_.at(session.leases.back()), blame);
}

void Leases::leave_canaries(Job& job) {
  for (const LeaseId id : std::exchange(job.leases, {})) {
    Lease& lease = *leases_.at(id);
    ASSERT(lease.open_count == 0 && lease.has_open_canary());
    lease.job = nullptr;
    lease.pieces = {};
  }
}

void Leases::revoke(Job& job) {
  std::unordered_map<Session*, std::vector<LeaseId>> by_session;
  while (!job.leases.empty()) {
    Lease& lease = *leases_.at(*job.leases.begin());
    const LeaseId id = lease.id;
    by_session[lease.session].push_back(id);
    requeue_open(lease);
    detach(lease);
    leases_.erase(id);
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
