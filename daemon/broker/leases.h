// Leases: which worker has which cases now. The fence is here: a result counts only from the boot,
// session, lease and attempt it was asked for.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "daemon/broker/canaries.h"
#include "daemon/broker/core.h"
#include "daemon/broker/job.h"
#include "daemon/broker/window.h"

namespace puzzled::broker {

struct Session;

// A live one: cases of it are open, or its canary. What every result touches comes first.
struct Lease {
  LeaseId id;
  Session* session = nullptr;  // nullptr: it is not in use
  Job* job = nullptr;          // nullptr: the job has ended before the canary
  LaneNo lane = 0;             // of the job
  std::uint32_t attempt = 1;
  std::uint32_t open_count = 0;
  std::uint32_t place_in_job = 0;  // in Job::leases
  bool alone = false;
  bool keeps_answers = false;
  bool on_slot = false;  // in the last heartbeat
  std::unique_ptr<CanaryOut> canary;
  std::vector<Piece> pieces;     // the chunk is there only as long as the piece has open positions
  std::vector<bool> is_open;     // by position: neither answered nor returned; never the canary's
  std::int64_t progress_ms = 0;  // when it last showed any
  std::int64_t dispatched_ms = 0;
  JobSpecPtr spec;                  // of the job
  std::uint64_t progress_seen = 0;  // what its slots said in the last heartbeat, folded

  [[nodiscard]] bool has_open_canary() const { return canary && canary->is_open; }
  [[nodiscard]] bool is_over() const { return open_count == 0 && !has_open_canary(); }
};

// What becomes of the cases a worker was solving when its lease ended.
enum class Blame : std::uint8_t {
  kNone,     // nothing: they are queued again like the others
  kIsolate,  // from now on they run alone
  kCharge,   // that, and a death is charged to them
};

class Leases {
 public:
  explicit Leases(Core& core) : core_(core) {}

  // Takes at most `cases_max` cases of the job and sends them to the worker.
  // Returns when the lease runs out.
  std::int64_t dispatch(Session& session, Job& job, std::uint32_t cases_max);
  // Who holds the live lease. nullptr: nobody, or it has to be looked up by its session.
  [[nodiscard]] Session* holder(LeaseId id) const;
  // If a canary is among them and failed, nothing of them counts.
  std::optional<FailedCanary> results(Session& session, event::WorkerResults&& results);
  void give_back(Session& session, const event::WorkerReturn& returned);
  // Takes back what the worker has not begun, as far as can be known, and tells it so.
  void take_back_unbegun(Session& session);
  // Compares what the worker holds with what it should hold, and notes what it is solving.
  void heartbeat(Session& session, event::WorkerHeartbeat&& heartbeat);
  // After a reconnect: keeps the leases the worker still holds, queues the others again.
  void keep_only(Session& session, std::vector<LeaseId> held);

  // Steady time at which a lease of the session runs out; kNever: it has none.
  [[nodiscard]] std::int64_t first_deadline(const Session& session) const;
  // Ends the leases that have run out, tells the worker so; false: there was none.
  bool end_expired(Session& session);
  void end_all(Session& session, Blame blame);
  // Time that is not to count against any of them.
  void postpone(std::int64_t ms);
  // The job has all its results: leases of which only the canary is open go on without it.
  void leave_canaries(Job& job);
  // The job is cancelled: its leases end, its workers are told.
  void revoke(Job& job);

  void set_durable(std::uint64_t steps);
  // The cases of the job that are open positions of live leases, by chunk.
  [[nodiscard]] LeasedCases leased_cases(const Job& job) const;
  // When the oldest live lease of the job was given out, steady; kNever: it has none.
  [[nodiscard]] std::int64_t oldest_dispatch_ms(const Job& job) const;
  [[nodiscard]] std::uint64_t live_count() const { return leases_.size() - spare_.size(); }
  [[nodiscard]] bool store_is_behind() const {
    return undurable_bytes_ > core_.options.undurable_results_bytes_max;
  }
  // There is no room for more results.
  [[nodiscard]] bool store_is_far_behind() const {
    return undurable_bytes_ / 2 > core_.options.undurable_results_bytes_max;
  }
  // Adds the bytes of results in this step to what the store has to write.
  void note_undurable(std::uint64_t bytes) { note_undurable(bytes, LeaseId{}); }
  void check() const;

 private:
  // All answered, waiting for the commit: its worker holds it until then.
  struct Settled {
    WorkerNo worker;
    std::uint32_t attempt = 1;
  };
  struct Undurable {
    std::uint64_t step = 0;
    LeaseId settled;  // with it; 0: none
    std::uint64_t bytes = 0;
  };

  // The live lease of that session, or nullptr.
  [[nodiscard]] Lease* find(const Session& session, LeaseId id) const;
  [[nodiscard]] Lease* find(const Session& session, Boot boot, LeaseId id,
                            std::uint32_t attempt) const;
  [[nodiscard]] bool is_settled(const Session& session, Boot boot, LeaseId id,
                                std::uint32_t attempt) const;
  // A live or settled one of the session.
  [[nodiscard]] bool holds(const Session& session, LeaseId id) const;
  void note_undurable(std::uint64_t bytes, LeaseId settled);
  [[nodiscard]] std::int64_t deadline(const Lease& lease) const;
  // What is to be sent: the lease's pieces, and the canary among them.
  static std::vector<message::Slice> slices_of(Lease& lease,
                                               const std::optional<PickedCanary>& picked);
  // Keys that stand for nothing that is kept, and what nobody has asked for, are taken off.
  static void clear_keys(const Lease& lease, ResultSet& results);
  std::optional<FailedCanary> judge(Session& session, Lease& lease, const ResultSet& results,
                                    std::uint64_t& busy_us);
  // Takes in what counts of a part. The lease may be over, the job ended afterwards.
  void count(Session& session, Lease& lease, event::WorkerResults&& event);
  // How many of them were solved; the others have the answers of equal ones.
  std::uint64_t count_results(Lease& lease, ResultSet& results,
                              std::vector<record::ResultRow>& rows);
  void requeue_open(Lease& lease);
  void end(Lease& lease, Blame blame);
  [[nodiscard]] bool may_have_begun(const Lease& lease) const;
  // All its cases are answered.
  void settle(Lease& lease, std::uint64_t bytes);
  Lease& create();  // with the next id; the rest is to be filled in
  [[nodiscard]] std::size_t place_of(LeaseId id) const { return id.value & (by_id_.size() - 1); }
  void erase(Lease& lease);
  // Into and out of Job::leases.
  static void link(Job& job, Lease& lease);
  static void unlink(Lease& lease);
  static void settle_chunks(Core& core, Job& job, const std::vector<OpenChunk*>& chunks);
  // The chunks of its open positions. Those of other positions may be gone already.
  static std::vector<OpenChunk*> open_chunks(const Lease& lease);
  void check_lease(const Lease& lease) const;

  Core& core_;
  std::uint64_t last_lease_ = 0;
  std::deque<Lease> leases_;  // as many as there were at once
  // Those that are not in use. The last one is taken first: its memory is still in the cache.
  std::vector<Lease*> spare_;
  // Each lease at its id modulo the size, a power of two, unless another one has the place: mostly
  // one step from a result to its lease. With thousands of workers nothing of them is in the cache,
  // and each step costs as much as all that is done with the lease.
  std::vector<Lease*> by_id_{nullptr};
  std::unordered_map<LeaseId, Settled> settled_;
  std::deque<Undurable> undurable_;
  std::uint64_t undurable_bytes_ = 0;
};

}  // namespace puzzled::broker
