// Oracle: leases, results and charges.
#include "tests/sim/oracle.h"

#include <algorithm>
#include <variant>

#include "tests/sim/cases.h"

namespace puzzled::sim {
namespace {

constexpr std::int64_t kDispatchIntervals = 2;  // heartbeats in which a dispatch must have arrived
constexpr std::int64_t kBackstopMs = 10'000;    // ARCHITECTURE.md, *Exact verdicts*

}  // namespace

std::string name(const CaseKey& key) {
  return "case " + std::to_string(key.second.value) + " of job " + std::to_string(key.first.value);
}

std::string lane_of(const JobSpec& spec) { return spec.puzzle + "/" + spec.solver; }

bool LeaseFacts::is_open() const { return std::ranges::find(open, true) != open.end(); }
bool LeaseFacts::is_live() const { return !may_end && is_open(); }

void Oracle::daemon_started(Boot boot) {
  boot_ = boot;
  check_told();
  recover_canaries();
  recover_answers();
  // What was taken back, but not yet on the disk, nobody knows any more.
  charged_.clear();
  for (const auto& [id, job] : disk_.committed().jobs) {
    for (const RecoveredAttempt& attempt : job.attempts) {
      charged_[{id, attempt.case_no}].insert(attempt.start_id);
    }
  }
}

void Oracle::daemon_stopped() {
  canaries_out_.clear();
  stretches_.clear();
  barred_.clear();
  versions_.clear();
  sessions_.clear();
  by_peer_.clear();
  leases_.clear();
  live_.clear();
  current_.clear();
  parts_.clear();
  asked_.clear();
  drained_.clear();
}

const LeaseFacts* Oracle::lease(LeaseId id) const {
  const auto it = leases_.find(id);
  return it == leases_.end() ? nullptr : &it->second;
}

std::vector<LeaseId> Oracle::live_leases(PeerId worker) const {
  std::vector<LeaseId> ids;
  const auto start = by_peer_.find(worker);
  if (start == by_peer_.end()) return ids;
  for (const LeaseId id : live_) {
    const LeaseFacts& lease = leases_.at(id);
    if (lease.start_id == start->second && lease.is_live() && !lease.overdue) ids.push_back(id);
  }
  return ids;
}

std::vector<LeaseId> Oracle::unanswered_leases(PeerId worker) const {
  std::vector<LeaseId> ids;
  const auto start = by_peer_.find(worker);
  if (start == by_peer_.end()) return ids;
  for (const auto& [id, lease] : leases_) {
    if (lease.start_id == start->second &&
        std::ranges::find(lease.open, true) != lease.open.end()) {
      ids.push_back(id);
    }
  }
  return ids;
}

// ---- What came in.

void Oracle::before(const Event& event) {
  std::visit([this](const auto& e) { note(e); }, event);
  note_ends();
}

template <class Other>
void Oracle::note(const Other& e) {
  if constexpr (requires { e.request; }) {
    Asked asked;
    if constexpr (requires { e.request_id; }) asked.request_id = e.request_id;
    if constexpr (requires { e.spec; }) asked.name = e.spec.name;
    if constexpr (requires { e.chunk_no; }) asked.chunk_no = e.chunk_no;
    if constexpr (requires { e.hash; }) asked.hash = e.hash;
    if constexpr (requires { e.job; }) asked.job = e.job;
    asked_.emplace(std::pair(e.peer, e.request), asked);
  }
}

template <class Condition>
void Oracle::end_leases(const Bytes16& start_id, Condition&& condition) {
  for (const LeaseId id : live_) {
    LeaseFacts& lease = leases_.at(id);
    if (lease.start_id != start_id || !condition(id, lease)) continue;
    lease.may_end = true;
    lease.may_stay = false;
  }
}

Oracle::SessionFacts* Oracle::hear(PeerId peer, std::uint32_t capacity) {
  const auto it = by_peer_.find(peer);
  if (it == by_peer_.end() || !sessions_[it->second].present) return nullptr;
  SessionFacts& session = sessions_[it->second];
  session.heard_ms = sim_.now_ms;
  session.capacity = capacity;
  return &session;
}

void Oracle::note(const event::WorkerReady& e) {
  is_new_ = !sessions_.contains(e.start_id);
  SessionFacts& session = sessions_[e.start_id];
  by_peer_.erase(session.peer);
  by_peer_[e.peer] = e.start_id;
  session = {.peer = e.peer,
             .heard_ms = sim_.now_ms,
             .capacity = e.capacity,
             .busy = {},
             .present = true,
             .said_goodbye = false,
             .removed = session.removed,
             .name = e.name,
             .labels = e.labels,
             .offers = e.offers};
  end_leases(e.start_id, [&](LeaseId id, const LeaseFacts&) {
    return e.boot != boot_ || std::ranges::find(e.leases, id) == e.leases.end();
  });
  for (auto& [key, starts] : charged_) starts.erase(e.start_id);  // it lives
}

void Oracle::note(const event::WorkerResults& e) { hear(e.peer, e.capacity); }

void Oracle::note(const event::WorkerReturn& e) {
  if (hear(e.peer, e.capacity) == nullptr || e.boot != boot_) return;
  const auto it = leases_.find(e.lease);
  if (it == leases_.end() || it->second.start_id != by_peer_[e.peer]) return;
  for (const PositionRange& range : e.positions) {
    for (std::uint32_t i = range.first; i < range.first + range.count; ++i) {
      it->second.open.at(i) = false;
    }
  }
}

void Oracle::note(const event::WorkerHeartbeat& e) {
  SessionFacts* session = hear(e.peer, e.capacity);
  if (session == nullptr || e.boot != boot_) return;
  session->busy = e.slots;
  const std::int64_t interval = params_.broker.heartbeat_interval_ms;
  end_leases(by_peer_[e.peer], [&](LeaseId id, const LeaseFacts& lease) {
    return lease.dispatched_ms + kDispatchIntervals * interval <= sim_.now_ms &&
           std::ranges::find(e.leases, id) == e.leases.end();
  });
}

void Oracle::note(const event::WorkerGoodbye& e) {
  SessionFacts* session = hear(e.peer, 0);
  if (session == nullptr) return;
  session->present = false;
  session->said_goodbye = true;
  end_leases(by_peer_[e.peer], [](LeaseId, const LeaseFacts&) { return true; });
}

// Silence and deadlines end leases without an event of their own. With one lease that is overdue
// its worker is dropped, and so are all the others.
void Oracle::note_ends() {
  std::erase_if(live_, [&](LeaseId id) {
    const LeaseFacts& lease = leases_.at(id);
    return !lease.is_live() && !(lease.may_stay && lease.is_open());
  });
  for (auto& [start_id, session] : sessions_) {
    if (!session.present) continue;
    if (session.heard_ms + params_.broker.liveness_ms <= sim_.now_ms) {
      session.present = false;
      end_leases(start_id, [](LeaseId, const LeaseFacts&) { return true; });
      continue;
    }
    const auto mine = [&](LeaseId id) { return leases_.at(id).start_id == start_id; };
    const bool overdue = std::ranges::any_of(live_, [&](LeaseId id) {
      const LeaseFacts& lease = leases_.at(id);
      return mine(id) && lease.dispatched_ms + 10 * lease.time_limit_ms + kBackstopMs +
                                 params_.broker.lease_margin_ms <=
                             sim_.now_ms;
    });
    if (!overdue) continue;
    for (const LeaseId id : live_) {
      if (mine(id)) leases_.at(id).overdue = true;
    }
  }
}

// ---- What the broker records.

void Oracle::check_records(const Event& event, const Effects& effects) {
  if (const auto* control = std::get_if<event::ControlWorkers>(&event)) {
    note_control(*control, effects);
  }
  for (const Record& record : effects.records) {
    if (const auto* results = std::get_if<record::InsertResults>(&record)) {
      const auto* from = std::get_if<event::WorkerResults>(&event);
      if (results->results.results.at(0).verdict == Verdict::kInternalError) {
        check_quarantine(*results);
      } else {
        check_results(from, *results);
      }
    } else if (const auto* attempt = std::get_if<record::InsertAttempt>(&record)) {
      check_attempt(*attempt);
    } else if (const auto* cancel = std::get_if<record::CancelJob>(&record)) {
      // A worker that cannot be reached is not told.
      for (const LeaseId id : live_) {
        LeaseFacts& lease = leases_.at(id);
        if (lease.job == cancel->job) lease.may_end = true;
      }
    }
  }
}

void Oracle::check_results(const event::WorkerResults* event, const record::InsertResults& r) {
  require(event != nullptr, 3, [] { return "results are recorded that nobody sent"; });
  require(event->boot == boot_, 3, [] { return "results of another boot count"; });
  const auto it = leases_.find(event->lease);
  require(it != leases_.end(), 3, [] { return "results of an unknown lease count"; });
  LeaseFacts& lease = it->second;
  const auto start = by_peer_.find(event->peer);
  require(start != by_peer_.end() && start->second == lease.start_id, 3,
          [] { return "results of another worker's lease count"; });
  require(event->attempt == lease.attempt && r.attempt == lease.attempt, 3,
          [] { return "results of another attempt count"; });
  const JobSpec& spec = *disk_.submitted().find(r.job)->spec;
  require(r.solver_version == sessions_[start->second].version_of(spec), 0,
          [] { return "results are recorded with a solver version that the worker has not"; });
  std::vector<CaseKey>& part = parts_[{event->lease, event->part}];
  for (const record::ResultRow& row : r.rows) {
    const CaseKey key{r.job, row.case_no};
    const std::uint32_t position = r.results.results.at(row.index).position;
    require(position < lease.cases.size() && lease.cases[position] == key, 3,
            [&] { return name(key) + ": the result of another position counts"; });
    require(lease.open[position] && current_[key] == event->lease, 3,
            [&] { return name(key) + ": a result counts though its lease has ended"; });
    lease.open[position] = false;
    part.push_back(key);
  }
}

void Oracle::check_quarantine(const record::InsertResults& r) {
  require(r.rows.size() == 1, 0, [] { return "several cases in one quarantine"; });
  const CaseKey key{r.job, r.rows[0].case_no};
  require(charged_[key].size() >= params_.broker.attempts_max, 0, [&] {
    return name(key) + " is quarantined after " + std::to_string(charged_[key].size()) +
           " deaths of workers that did not come back";
  });
}

// Charged is what a worker was solving by its last word, when it then fell silent.
void Oracle::check_attempt(const record::InsertAttempt& r) {
  const CaseKey key{r.job, r.case_no};
  const auto text = [&](const char* why) { return name(key) + ": a death is charged, but " + why; };
  const auto it = sessions_.find(r.start_id);
  require(it != sessions_.end(), 0, [&] { return text("its worker was not here in this boot"); });
  const SessionFacts& session = it->second;
  require(!session.said_goodbye, 0, [&] { return text("its worker said goodbye"); });
  require(session.heard_ms + params_.broker.liveness_ms <= sim_.now_ms, 0,
          [&] { return text("its worker was not silent for long"); });
  const LeaseId id = current_[key];
  const auto lease = leases_.find(id);
  require(lease != leases_.end() && lease->second.start_id == r.start_id, 0,
          [&] { return text("its worker did not have it"); });
  const bool busy = std::ranges::any_of(session.busy, [&](const event::BusySlot& slot) {
    return slot.lease == id && slot.position < lease->second.cases.size() &&
           lease->second.cases[slot.position] == key;
  });
  // One that is alone may kill its worker before there is a word.
  require(busy || lease->second.alone, 0,
          [&] { return text("it was not being solved by its worker's last word"); });
  charged_[key].insert(r.start_id);
}

// A worker that came back had not died: nothing of that may stay on the disk.
void Oracle::check_taken_back(const Event& event) const {
  const auto* ready = std::get_if<event::WorkerReady>(&event);
  if (ready == nullptr) return;
  for (const auto& [id, job] : disk_.submitted().jobs) {
    if (job.cancelled || job.finished) continue;
    for (const RecoveredAttempt& attempt : job.attempts) {
      require(attempt.start_id != ready->start_id || job.is_done(attempt.case_no), 0, [&] {
        return name({id, attempt.case_no}) + " stays charged with a worker that came back";
      });
    }
  }
}

// ---- What the operator does.

// What is being solved stays with its worker; all else may be taken back.
void Oracle::note_control(const event::ControlWorkers& control, const Effects& effects) {
  for (const Send& send : effects.now) {
    const auto* to_client = std::get_if<ClientMessage>(&send.what);
    const auto* done =
        to_client == nullptr ? nullptr : std::get_if<message::WorkersControlled>(to_client);
    if (done == nullptr) continue;
    for (const message::ControlledWorker& worker : done->workers) {
      if (control.action == event::WorkerAction::kDrain) {
        // Who comes under the name of one that was removed is another one.
        if (worker.changed || worker.state != WorkerState::kLeaving) drained_.insert(worker.name);
      } else {
        drained_.erase(worker.name);
      }
      for (auto& [start_id, session] : sessions_) {
        if (session.name != worker.name || !session.present) continue;
        if (control.action == event::WorkerAction::kRemove) session.removed = true;
        if (control.action != event::WorkerAction::kDrain) continue;
        end_leases(start_id, [&](LeaseId id, const LeaseFacts&) {
          return std::ranges::find(session.busy, id, &event::BusySlot::lease) == session.busy.end();
        });
        for (const LeaseId id : live_) {
          LeaseFacts& lease = leases_.at(id);
          if (lease.start_id == start_id && lease.may_end) lease.may_stay = true;
        }
      }
    }
  }
}

std::string Oracle::SessionFacts::version_of(const JobSpec& spec) const {
  for (const SolverOffer& offer : offers) {
    if (offer.puzzle == spec.puzzle && offer.solver == spec.solver) return offer.version;
  }
  return "none";
}

void Oracle::check_worker(const SessionFacts& session, const JobSpec& spec) const {
  require(!session.removed && !drained_.contains(session.name), 0,
          [&] { return session.name + " is drained or removed, and gets a lease"; });
  const std::string version = session.version_of(spec);
  require(version != "none" && (spec.solver_version.empty() || spec.solver_version == version), 0,
          [&] { return session.name + " gets a job that it has no solver for"; });
  require(std::ranges::includes(session.labels, spec.require), 0,
          [&] { return session.name + " gets a job whose requirements it does not meet"; });
}

// ---- What the broker sends.

void Oracle::check_dispatches(const Effects& effects) {
  for (const Send& send : effects.now) {
    const auto* to_worker = std::get_if<WorkerMessage>(&send.what);
    if (to_worker == nullptr) continue;
    if (const auto* dispatch = std::get_if<message::Dispatch>(to_worker)) {
      check_dispatch(send.to, *dispatch);
    }
  }
}

void Oracle::check_dispatch(PeerId to, const message::Dispatch& m) {
  require(m.boot == boot_ && used_.emplace(m.boot, m.lease).second, 3,
          [&] { return "lease " + std::to_string(m.lease.value) + " was used before"; });
  const auto start = by_peer_.find(to);
  require(start != by_peer_.end() && sessions_[start->second].present, 1,
          [] { return "a dispatch to a worker that is not there"; });
  check_worker(sessions_[start->second], *m.spec);
  LeaseFacts lease;
  lease.start_id = start->second;
  lease.job = m.job;
  lease.lane = lane_of(*m.spec);
  lease.attempt = m.attempt;
  lease.alone = m.alone;
  lease.dispatched_ms = sim_.now_ms;
  lease.time_limit_ms = static_cast<std::int64_t>(m.spec->limits.time_limit_us / 1000);
  for (const message::Slice& slice : m.slices) {
    for (std::uint32_t i = slice.first; i < slice.first + slice.count; ++i) {
      const std::string_view bytes = case_bytes(*slice.cases, i);
      if (!check_canary_case(m, bytes, lease)) check_case(m, bytes, lease);
    }
  }
  require(!m.alone || lease.cases.size() == 1, 0, [] { return "a suspect has company"; });
  require(!m.alone || !lease.canary, 0, [] { return "a suspect with a canary"; });
  require(!lease.canary || lease.cases.size() > 1, 0, [] { return "a canary by itself"; });
  for (const CaseKey& key : lease.cases) {
    if (key.first != JobId{}) current_[key] = m.lease;
  }
  leases_[m.lease] = std::move(lease);
  live_.push_back(m.lease);
  const std::vector<LeaseId> live = live_leases(to);
  require(live.size() <= sessions_[start->second].capacity, 2, [&] {
    std::string text =
        "peer " + std::to_string(to.value) + " gets more leases than it has room for:";
    for (const LeaseId id : live) text += " " + std::to_string(id.value);
    return text;
  });
}

void Oracle::check_case(const message::Dispatch& m, std::string_view bytes, LeaseFacts& lease) {
  const CaseKey key{m.job, CaseNo{read_case(bytes).number}};
  const JobRow* row = disk_.committed().find(m.job);
  const ChunkRow* chunk = row == nullptr ? nullptr : row->chunk_of(key.second);
  require(chunk != nullptr, 6, [&] { return name(key) + " is dispatched before it is durable"; });
  const auto index = static_cast<std::uint32_t>(key.second.value - chunk->first_case.value);
  require(case_bytes(*chunk->cases, index) == bytes, 6,
          [&] { return name(key) + " is dispatched with other content than was stored"; });
  const JobRow* now = disk_.submitted().find(m.job);
  require(!now->cancelled, 0, [&] { return name(key) + " is dispatched, but its job cancelled"; });
  require(!now->is_done(key.second), 4,
          [&] { return name(key) + " is done, and dispatched again"; });
  if (const auto before = current_.find(key); before != current_.end()) {
    const LeaseFacts& old = leases_.at(before->second);
    const auto at = std::ranges::find(old.cases, key) - old.cases.begin();
    require(old.may_end || old.overdue || !old.open[at], 1,
            [&] { return name(key) + " is leased twice"; });
  }
  require(std::ranges::find(lease.cases, key) == lease.cases.end(), 1,
          [&] { return name(key) + " is twice in one dispatch"; });
  lease.cases.push_back(key);
  lease.open.push_back(true);
}

}  // namespace puzzled::sim
