// Oracle: canaries. Who fails one is taken out, and exactly what it stored since its last good one
// is taken back.
#include <algorithm>
#include <numeric>
#include <variant>

#include "daemon/broker/runs.h"
#include "tests/sim/cases.h"
#include "tests/sim/oracle.h"

namespace puzzled::sim {

bool Oracle::lane_has_canaries(const std::string& lane) const {
  return std::ranges::any_of(disk_.submitted().jobs, [&](const auto& job) {
    return job.second.canary && !unmarked_.contains(job.first) && lane_of(*job.second.spec) == lane;
  });
}

// What is on the disk was checked when it was recorded.
void Oracle::recover_canaries() {
  const Tables& tables = disk_.committed();
  for (const auto& [number, rows] : tables.unproven) {
    for (const UnprovenRow& row : rows) {
      const std::string lane = lane_of(*tables.jobs.at(row.job).spec);
      StretchFacts& stretch = stretches_[number];
      stretch.start_id = tables.workers.at(row.worker);
      stretch.lane = lane;
      ++stretch.runs;
      for (std::uint32_t i = 0; i < row.count; ++i) {
        stretch.cases.emplace(row.job, CaseNo{row.first_case.value + i});
      }
    }
  }
  barred_.assign(tables.barred.begin(), tables.barred.end());
}

// A case that is none of the dispatch's own job.
bool Oracle::check_canary_case(const message::Dispatch& m, std::string_view bytes,
                               LeaseFacts& lease) {
  const CaseNo number{read_case(bytes).number};
  const auto holds = [&](const JobRow& row) {
    const ChunkRow* chunk = row.chunk_of(number);
    return chunk != nullptr &&
           case_bytes(*chunk->cases,
                      static_cast<std::uint32_t>(number.value - chunk->first_case.value)) == bytes;
  };
  const JobRow* own = disk_.committed().find(m.job);
  if (own == nullptr || holds(*own)) return false;
  const auto from = std::ranges::find_if(disk_.submitted().jobs,
                                         [&](const auto& job) { return holds(job.second); });
  if (from == disk_.submitted().jobs.end()) return false;  // check_case() says what it is
  const JobRow& row = from->second;
  const CaseKey key{from->first, number};
  require(row.canary && lane_of(*row.spec) == lease.lane && row.is_done(number), 0,
          [&] { return name(key) + " is dispatched as a canary, and is none"; });
  // What others solved, this worker might not.
  check_worker(sessions_[lease.start_id], *row.spec);
  require(!lease.canary, 0, [] { return "two canaries in one dispatch"; });
  const ChunkRow& chunk = *row.chunk_of(number);
  const auto& results = chunk.results[number.value - chunk.first_case.value];
  lease.canary = {.key = key,
                  .position = static_cast<std::uint32_t>(lease.cases.size()),
                  .known = results.back(),
                  .version = versions_[key.first],
                  .mark = ++canaries_out_[{lease.start_id, lease.lane}]};
  lease.cases.emplace_back();
  lease.open.push_back(true);
  return true;
}

std::optional<bool> Oracle::judged(const Event& event, const Effects& effects, LeaseFacts*& lease) {
  const auto* e = std::get_if<event::WorkerResults>(&event);
  if (e == nullptr || e->boot != boot_) return std::nullopt;
  const auto it = leases_.find(e->lease);
  const auto start = by_peer_.find(e->peer);
  if (it == leases_.end() || start == by_peer_.end() || !it->second.canary ||
      it->second.start_id != start->second || it->second.attempt != e->attempt) {
    return std::nullopt;
  }
  CanaryFacts& canary = *it->second.canary;
  if (!it->second.open[canary.position]) return std::nullopt;
  // Without an answer the broker had no room for the part, or the lease is not the worker's.
  const bool answered = std::ranges::any_of(effects.when_durable, [&](const Send& send) {
    const auto* to_worker = std::get_if<WorkerMessage>(&send.what);
    return to_worker != nullptr && send.to == e->peer &&
           (std::holds_alternative<message::Stored>(*to_worker) ||
            std::holds_alternative<message::Refused>(*to_worker));
  });
  const auto result = std::ranges::find(e->results.results, canary.position, &CaseResult::position);
  if (!answered || result == e->results.results.end()) return std::nullopt;
  it->second.open[canary.position] = false;
  // It counts only while what was known still is.
  if (canary.version != versions_[canary.key.first]) return std::nullopt;
  lease = &it->second;
  return result->verdict == canary.known.verdict && result->answer == canary.known.answer;
}

void Oracle::check_canaries(const Event& event, const Effects& effects) {
  check_ready(event, effects);
  LeaseFacts* lease = nullptr;
  const std::optional<bool> good = judged(event, effects, lease);
  bool barred = false;
  std::optional<Bytes16> over;
  unmarked_.clear();
  for (const Record& record : effects.records) {
    const auto* mark = std::get_if<record::MarkCanary>(&record);
    if (mark == nullptr) continue;
    check_mark(*mark);
    ++versions_[mark->job];
    if (mark->off) unmarked_.insert(mark->job);
  }
  for (const Record& record : effects.records) {
    if (const auto* results = std::get_if<record::InsertResults>(&record)) {
      const auto* from = std::get_if<event::WorkerResults>(&event);
      const bool is_quarantine = results->results.results.at(0).verdict == Verdict::kInternalError;
      if (!is_quarantine && from != nullptr && by_peer_.contains(from->peer)) {
        note_results(*results, by_peer_[from->peer]);
      }
    } else if (const auto* forgotten = std::get_if<record::ForgetStretch>(&record)) {
      check_forgotten(*forgotten, good.value_or(false) ? lease : nullptr, over);
    } else if (const auto* bar = std::get_if<record::BarWorker>(&record)) {
      barred = true;
      barred_.push_back(bar->barred);
    } else if (const auto* admitted = std::get_if<record::AdmitWorker>(&record)) {
      require(std::holds_alternative<event::AdmitWorker>(event) ||
                  (barred_.size() > params_.broker.barred_workers_max &&
                   barred_.front().name == admitted->name),
              0, [&] { return admitted->name + " is let in, and nobody asked for it"; });
      std::erase_if(barred_, [&](const Barred& one) {
        return one.name == admitted->name || one.host == admitted->name;
      });
    }
  }
  require(unproven_runs() <= params_.broker.unproven_runs_max &&
              barred_.size() <= params_.broker.barred_workers_max,
          0, [] { return "more is kept of canaries than the limits allow"; });
  const bool failed = good.has_value() && !*good;
  require(!barred || failed, 0, [] { return "a worker is barred that failed no canary"; });
  require(!failed || barred, 0,
          [&] { return "a worker failed " + name(lease->canary->key) + ", and goes on"; });
  if (barred) {
    check_revised(effects, lease->start_id);
    SessionFacts& session = sessions_[lease->start_id];
    session.present = false;
    by_peer_.erase(session.peer);
    for (auto& [id, one] : leases_) one.may_end = one.may_end || one.start_id == lease->start_id;
  } else {
    require(std::ranges::none_of(effects.records,
                                 [](const Record& record) {
                                   return std::holds_alternative<record::ReviseResults>(record);
                                 }),
            0, [] { return "results are taken back, and nobody failed a canary"; });
  }
}

// Whoever is barred is refused, and then not there.
void Oracle::check_ready(const Event& event, const Effects& effects) {
  const auto* ready = std::get_if<event::WorkerReady>(&event);
  if (ready == nullptr) return;
  const bool is_refused = std::ranges::any_of(effects.when_durable, [&](const Send& send) {
    const auto* to_worker = std::get_if<WorkerMessage>(&send.what);
    return to_worker != nullptr && send.to == ready->peer &&
           std::holds_alternative<message::Refused>(*to_worker);
  });
  const bool is_barred = std::ranges::any_of(barred_, [&](const Barred& one) {
    return one.host == ready->host &&
           std::ranges::any_of(ready->offers, [&](const SolverOffer& offer) {
             return offer.puzzle == one.puzzle && offer.solver == one.solver &&
                    offer.version == one.solver_version;
           });
  });
  require(!is_barred || !is_new_ || is_refused, 0,
          [&] { return "worker " + ready->name + " is barred, and comes back"; });
  require(!is_refused || is_barred, 0,
          [&] { return "worker " + ready->name + " is refused, and not barred"; });
  if (!is_refused) return;
  sessions_[ready->start_id].present = false;
  by_peer_.erase(ready->peer);
}

void Oracle::note_results(const record::InsertResults& r, const Bytes16& start_id) {
  const std::string lane = lane_of(*disk_.submitted().find(r.job)->spec);
  const auto out = canaries_out_.find({start_id, lane});
  if (r.stretch == 0) {
    require(!lane_has_canaries(lane), 0,
            [] { return "results are stored as if nothing had to prove them"; });
    return;
  }
  const std::uint64_t mark = out == canaries_out_.end() ? 0 : out->second;
  const auto [it, added] = stretches_.try_emplace(r.stretch);
  StretchFacts& stretch = it->second;
  if (added) {
    stretch.start_id = start_id;
    stretch.lane = lane;
    stretch.mark = mark;
  }
  require(stretch.start_id == start_id && stretch.lane == lane && stretch.mark == mark, 0, [] {
    return "a stretch of results of two workers, lanes, or from both sides of a canary";
  });
  stretch.runs += runs_of(r.rows).size();
  for (const record::ResultRow& row : r.rows) stretch.cases.emplace(r.job, row.case_no);
}

void Oracle::check_mark(const record::MarkCanary& r) const {
  const auto marked = std::ranges::count_if(disk_.submitted().jobs,
                                            [](const auto& job) { return job.second.canary; });
  require(r.off || static_cast<std::uint64_t>(marked) < params_.broker.canary_jobs_max, 0,
          [] { return "more jobs are marked than the limit allows"; });
}

std::uint64_t Oracle::unproven_runs() const {
  return std::accumulate(
      stretches_.begin(), stretches_.end(), std::uint64_t{0},
      [](std::uint64_t sum, const auto& entry) { return sum + entry.second.runs; });
}

void Oracle::check_forgotten(const record::ForgetStretch& r, const LeaseFacts* proven_by,
                             std::optional<Bytes16>& over) {
  const auto it = stretches_.find(r.stretch);
  require(it != stretches_.end(), 0, [] { return "a stretch is forgotten that there never was"; });
  const StretchFacts& stretch = it->second;
  const bool is_proven = proven_by != nullptr && proven_by->start_id == stretch.start_id &&
                         proven_by->lane == stretch.lane && stretch.mark < proven_by->canary->mark;
  if (unproven_runs() > params_.broker.unproven_runs_max) over = stretch.start_id;
  const bool is_over = over == stretch.start_id;  // all of a worker that is gone
  require(is_proven || !r.proven, 0,
          [] { return "answers count as proven, and no good canary came after them"; });
  require(is_proven || is_over || !lane_has_canaries(stretch.lane), 0,
          [] { return "results count as proven, and no good canary came after them"; });
  stretches_.erase(it);
}

// All that is not proven, and nothing else.
void Oracle::check_revised(const Effects& effects, const Bytes16& start_id) {
  std::set<CaseKey> expected;
  std::erase_if(stretches_, [&](const auto& entry) {
    if (entry.second.start_id != start_id) return false;
    expected.insert(entry.second.cases.begin(), entry.second.cases.end());
    return true;
  });
  std::set<CaseKey> revised;
  for (const Record& record : effects.records) {
    const auto* r = std::get_if<record::ReviseResults>(&record);
    if (r == nullptr) continue;
    ++versions_[r->job];
    for (std::uint32_t i = 0; i < r->count; ++i) {
      charged_.erase({r->job, CaseNo{r->first_case.value + i}});
      require(revised.emplace(r->job, CaseNo{r->first_case.value + i}).second, 8,
              [] { return "a result is taken back twice at once"; });
    }
  }
  require(revised == expected, 0, [&] {
    return std::to_string(revised.size()) + " results are taken back, not proven are " +
           std::to_string(expected.size());
  });
}

}  // namespace puzzled::sim
