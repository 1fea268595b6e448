// Checks the promises from outside: it sees what goes into the broker and what comes out of it, and
// what is on the disk, and nothing else. Throws Violation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/disk.h"
#include "tests/sim/params.h"
#include "tests/sim/sim.h"

namespace puzzled::sim {

using CaseKey = std::pair<JobId, CaseNo>;

std::string name(const CaseKey& key);  // for people
std::string lane_of(const JobSpec& spec);

// A canary in a dispatch, and what was known of it then.
struct CanaryFacts {
  CaseKey key;
  std::uint32_t position = 0;
  StoredResult known;
  std::uint64_t version = 0;  // of what was known of its job
  std::uint64_t mark = 0;     // its number among the canaries of its worker and lane
};

struct LeaseFacts {
  JobId job;
  std::string lane;  // puzzle and solver
  std::optional<CanaryFacts> canary;
  Bytes16 start_id{};
  std::uint32_t attempt = 0;
  std::vector<CaseKey> cases;  // by position; of the canary: nothing
  std::vector<bool> open;      // neither counted nor returned
  std::int64_t dispatched_ms = 0;
  std::int64_t time_limit_ms = 0;
  bool alone = false;
  bool may_end = false;  // the broker had a reason to take it away
  bool overdue = false;  // it may have one: the oracle does not follow progress
  // Its worker was drained, and nobody knows whether it had begun: if so, it goes on.
  bool may_stay = false;

  [[nodiscard]] bool is_open() const;
  [[nodiscard]] bool is_live() const;
};

class Oracle {
 public:
  Oracle(Sim& sim, const Params& params, const Disk& disk)
      : sim_(sim), params_(params), disk_(disk) {}

  void daemon_started(Boot boot);
  void daemon_stopped();

  // One step: what came in, what the broker answered (before the disk has it), what became of that
  // (after the disk has it).
  void before(const Event& event);
  void check_records(const Event& event, const Effects& effects);
  void check_canaries(const Event& event, const Effects& effects);
  // After check_canaries().
  void check_answers(const Event& event, const Effects& effects);
  void check_taken_back(const Event& event) const;
  void check_dispatches(const Effects& effects);
  // A message leaves the daemon.
  void released(const Send& send);

  // Everything has come to its end.
  void check_end() const;

  // For mutations, which have to break rules knowingly.
  [[nodiscard]] const LeaseFacts* lease(LeaseId id) const;
  // Those of a worker with cases that are neither answered nor returned.
  [[nodiscard]] std::vector<LeaseId> unanswered_leases(PeerId worker) const;

 private:
  struct SessionFacts {
    PeerId peer;
    std::int64_t heard_ms = 0;
    std::uint32_t capacity = 0;
    std::vector<event::BusySlot> busy;
    bool present = false;
    bool said_goodbye = false;
    bool removed = false;  // by the operator
    std::string name = {};
    Labels labels = {};
    std::vector<SolverOffer> offers = {};

    [[nodiscard]] std::string version_of(const JobSpec& spec) const;  // of its solver
  };
  struct Asked {
    Bytes16 request_id{};
    JobId job;
    std::string name;  // of the spec
    ChunkNo chunk_no = 0;
    std::uint64_t hash = 0;
  };
  struct Told {  // promised to somebody
    JobId job;
    std::uint32_t chunks = 0;
    bool sealed = false;
    bool cancelled = false;
    bool done = false;
  };

  void note(const event::WorkerReady& e);
  void note(const event::WorkerResults& e);
  void note(const event::WorkerReturn& e);
  void note(const event::WorkerHeartbeat& e);
  void note(const event::WorkerGoodbye& e);
  template <class Other>
  void note(const Other& e);
  [[nodiscard]] std::vector<LeaseId> live_leases(PeerId worker) const;
  SessionFacts* hear(PeerId peer, std::uint32_t capacity);
  void note_ends();
  template <class Condition>
  void end_leases(const Bytes16& start_id, Condition&& condition);

  // ---- Canaries (oracle_canaries.cc).
  // What the worker stored between two canaries.
  struct StretchFacts {
    Bytes16 start_id{};
    std::string lane;
    std::uint64_t mark = 0;  // canaries of the worker and lane before
    std::uint64_t runs = 0;
    std::set<CaseKey> cases;
  };
  using WorkerLane = std::pair<Bytes16, std::string>;
  bool check_canary_case(const message::Dispatch& m, std::string_view bytes, LeaseFacts& lease);
  void recover_canaries();
  void check_ready(const Event& event, const Effects& effects);
  // The canary that these results answer, if it counts: whether it is good.
  std::optional<bool> judged(const Event& event, const Effects& effects, LeaseFacts*& lease);
  void note_results(const record::InsertResults& r, const Bytes16& start_id);
  // `over`: of whom a stretch was forgotten in this step because there were too many.
  void check_forgotten(const record::ForgetStretch& r, const LeaseFacts* proven_by,
                       std::optional<Bytes16>& over);
  void check_mark(const record::MarkCanary& r) const;
  [[nodiscard]] std::uint64_t unproven_runs() const;
  void check_revised(const Effects& effects, const Bytes16& start_id);
  [[nodiscard]] bool lane_has_canaries(const std::string& lane) const;

  // ---- Reuse of answers (oracle_answers.cc).
  struct AnswerFacts {
    std::uint64_t stretch = 0;  // that is to be proven first
    bool is_proven = false;
  };
  void recover_answers();
  void note_answers(const record::InsertResults& r);
  void check_cached(const record::InsertCached& r);

  void check_results(const event::WorkerResults* event, const record::InsertResults& r);
  void check_quarantine(const record::InsertResults& r);
  void check_attempt(const record::InsertAttempt& r);
  void note_control(const event::ControlWorkers& control, const Effects& effects);
  void check_worker(const SessionFacts& session, const JobSpec& spec) const;
  void check_dispatch(PeerId to, const message::Dispatch& m);
  void check_case(const message::Dispatch& m, std::string_view bytes, LeaseFacts& lease);

  void reply(const Asked& asked, const message::JobOpened& m);
  void reply(const Asked& asked, const message::ChunkAccepted& m);
  void reply(const Asked& asked, const message::JobSealed& m);
  void reply(const Asked& asked, const message::JobCancelled& m);
  void reply(const Asked& asked, const message::JobDone& m);
  void reply(const Asked& asked, const message::CanaryMarked&) { promised_row(asked); }
  void reply(const Asked&, const message::WorkerAdmitted&) {}
  void reply(const Asked& asked, const message::Error& m);
  void reply(const Asked&, const message::WorkersControlled&) {}
  const JobRow& promised_row(const Asked& asked) const;
  Told& told(const JobRow& row) { return told_[row.request_id]; }
  void check_told() const;

  Sim& sim_;
  const Params& params_;
  const Disk& disk_;
  Boot boot_;
  std::set<std::pair<Boot, LeaseId>> used_;

  // Of this boot.
  std::map<Bytes16, SessionFacts> sessions_;
  std::map<PeerId, Bytes16> by_peer_;
  std::map<LeaseId, LeaseFacts> leases_;
  std::vector<LeaseId> live_;
  std::map<CaseKey, LeaseId> current_;  // the last lease of each case
  std::map<std::pair<LeaseId, std::uint32_t>, std::vector<CaseKey>> parts_;
  std::multimap<std::pair<PeerId, std::uint64_t>, Asked> asked_;
  std::set<std::string> drained_;  // names of workers

  std::map<WorkerLane, std::uint64_t> canaries_out_;  // so many were sent
  std::map<std::uint64_t, StretchFacts> stretches_;   // not proven
  std::vector<Barred> barred_;
  std::map<std::int64_t, AnswerFacts> answers_;  // by the result that has it
  bool is_new_ = false;                          // the worker that says Ready in this step
  std::set<JobId> unmarked_;                     // in this step
  std::map<JobId, std::uint64_t> versions_;      // of what is known of a job

  // Of the whole run.
  std::map<Bytes16, Told> told_;
  std::map<CaseKey, std::set<Bytes16>> charged_;  // process starts that did not come back
};

}  // namespace puzzled::sim
