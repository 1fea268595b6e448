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
  Lease& lease = create();
  lease.job = &job;
  lease.spec = job.spec;
  lease.lane = core_.queue.lane(job.place.lane).plain;
  lease.session = &session;
  lease.keeps_answers = core_.reuse->keeps_answers(job);
  std::uint64_t bytes_max = core_.options.dispatch_bytes_max;
  const std::optional<PickedCanary> picked = core_.canaries->pick(session, job, lease.id);
  if (picked) {  // a dispatch with a canary is no larger than others
    const auto& offsets = picked->slice.cases->offsets;
    bytes_max -= std::min<std::uint64_t>(
        bytes_max, offsets[picked->slice.first + 1] - offsets[picked->slice.first]);
    cases_max = std::max(1U, std::min(cases_max, core_.options.dispatch_cases_max - 1));
  }
  core_.window->take(job, cases_max, bytes_max, lease.alone, lease.pieces);
  const Piece& last = lease.pieces.back();
  lease.open_count = last.position + last.count;
  lease.is_open.assign(lease.open_count, true);
  if (lease.alone) {
    lease.attempt = Suspects::next_attempt(job, CaseNo{last.chunk->first_case.value + last.first});
  }
  lease.dispatched_ms = lease.progress_ms = core_.step.steady_ms();

  message::Dispatch dispatch{.boot = core_.boot,
                             .lease = lease.id,
                             .attempt = lease.attempt,
                             .job = job.id,
                             .spec = job.spec,
                             .alone = lease.alone,
                             .keys_wanted = lease.keeps_answers,
                             .slices = {}};
  dispatch.slices = slices_of(lease, picked);
  core_.step.tell_now(session.peer, std::move(dispatch));

  const Cost& cost = cost_of(job, core_.queue);
  core_.queue.charge(job.place, cost.known()
                                    ? static_cast<std::uint64_t>(cost.case_us() * lease.open_count)
                                    : core_.options.dispatch_target_us);
  link(job, lease);
  session.leases.push_back({lease.id, &lease});
  core_.step.note_work();
  core_.sessions->update_credit(session);
  return deadline(lease);
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
  lease.canary = std::make_unique<CanaryOut>(picked->out);
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

Session* Leases::holder(LeaseId id) const {
  const Lease* lease = by_id_[place_of(id)];
  return lease != nullptr && lease->id == id ? lease->session : nullptr;
}

Lease* Leases::find(const Session& session, LeaseId id) const {
  if (holder(id) == &session) return by_id_[place_of(id)];
  const auto it = std::ranges::lower_bound(session.leases, id, {}, &HeldLease::id);
  return it != session.leases.end() && it->id == id ? it->lease : nullptr;
}

Lease* Leases::find(const Session& session, Boot boot, LeaseId id, std::uint32_t attempt) const {
  Lease* const lease = boot == core_.boot ? find(session, id) : nullptr;
  return lease != nullptr && lease->attempt == attempt ? lease : nullptr;
}

bool Leases::is_settled(const Session& session, Boot boot, LeaseId id,
                        std::uint32_t attempt) const {
  const auto it = boot == core_.boot ? settled_.find(id) : settled_.end();
  return it != settled_.end() && it->second.worker == session.worker &&
         it->second.attempt == attempt;
}

bool Leases::holds(const Session& session, LeaseId id) const {
  if (find(session, id) != nullptr) return true;
  const auto it = settled_.find(id);
  return it != settled_.end() && it->second.worker == session.worker;
}

std::optional<FailedCanary> Leases::results(Session& session, event::WorkerResults&& event) {
  Lease* lease = find(session, event.boot, event.lease, event.attempt);
  if (lease == nullptr && !is_settled(session, event.boot, event.lease, event.attempt)) {
    core_.step.tell_now(session.peer, message::Stale{event.boot, event.lease});
    return std::nullopt;
  }
  if (lease != nullptr) {
    lease->progress_ms = session.progress_ms = core_.step.steady_ms();
    // Without an answer it keeps them, and sends them again.
    if (store_is_far_behind()) return std::nullopt;
    clear_keys(*lease, event.results);
    if (auto failed = judge(session, *lease, event.results, event.busy_us)) return failed;
  }
  core_.step.tell_when_durable(session.peer, message::Stored{core_.boot, event.lease, event.part});
  if (lease != nullptr) count(session, *lease, std::move(event));
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
  std::vector<record::ResultRow> rows;
  std::vector<OpenChunk*> chunks = open_chunks(lease);
  std::uint64_t solved = 0;
  if (lease.job != nullptr) solved = count_results(lease, event.results, rows);
  if (rows.empty()) {
    if (lease.is_over()) settle(lease, 0);
    return;
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
  lease.is_over() ? settle(lease, bytes) : note_undurable(bytes);
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

}  // namespace puzzled::broker
