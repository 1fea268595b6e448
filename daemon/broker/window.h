// The open cases in memory. Bounded: whatever the backlog, the rest stays in the store and is read
// when there is room. Takes cases out for dispatches and takes them back.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "daemon/broker/core.h"
#include "daemon/broker/job.h"

namespace puzzled::broker {

// Consecutive cases of a chunk, at consecutive positions of a lease.
struct Piece {
  OpenChunk* chunk = nullptr;  // lives while it has leased cases
  std::uint32_t first = 0;     // in the chunk
  std::uint32_t count = 0;
  std::uint32_t position = 0;  // in the lease, of `first`
};

// Cases of a chunk whose results were taken back.
struct Reopened {
  BacklogChunk chunk;  // with all its cases done
  PositionRange cases;
};

// By chunk, one entry a case.
using LeasedCases = std::unordered_map<const OpenChunk*, std::vector<bool>>;

class Window {
 public:
  explicit Window(Core& core) : core_(core) {}

  // ---- Chunks.
  // A chunk of the step in progress, `keyed` if its cases can be looked up. Nothing of it is
  // dispatched before set_durable().
  void accept(Job& job, PeerId uploader, CaseNo first_case, ChunkCasesPtr cases, bool keyed);
  // The records of all steps up to `steps` are on disk.
  void set_durable(std::uint64_t steps);
  // The job may end.
  void set_loaded(event::ChunkLoaded&& loaded);
  // Accepted chunks of a client that are not known to be durable.
  [[nodiscard]] std::uint32_t unacknowledged(PeerId uploader) const;
  // Asks the store for cases as far as there is room, in the order of the ready queue.
  void refill();
  // The last worker of a lane went: what only takes room is read again when one comes.
  void put_away(Job& job);
  // The job has ended. REQUIRES: nothing of it is leased.
  void drop(Job& job);

  // ---- Cases.
  // Takes the next cases: at most `cases_max`, and at most `bytes_max` but at least one; or one
  // suspect (then `alone`). Adds them to `pieces`. REQUIRES: job.queued_count > 0, no pieces yet.
  void take(Job& job, std::uint32_t cases_max, std::uint64_t bytes_max, bool& alone,
            std::vector<Piece>& pieces);
  // Leased cases go back to the front of the queue. After the last call: settle().
  void requeue(Job& job, OpenChunk& chunk, PositionRange cases);
  void requeue_alone(Job& job, OpenChunk& chunk, std::uint32_t index);
  // Results were taken back: their cases are open again.
  void reopen(Job& job, std::vector<Reopened> results);
  // A leased case has its result. After the last call: settle().
  void set_done(Job& job, OpenChunk& chunk, std::uint32_t index);
  // Frees a chunk that is done with, and puts the job where it belongs in the ready queue.
  void settle(Job& job, OpenChunk& chunk);

  void update_place(Job& job);  // after a change of its counts, or of `sealed`
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t durable_steps() const { return durable_steps_; }
  // Puts right what was forgotten (window_repair.cc), and says so in the step's findings. Where
  // nothing was, it changes nothing. `leased` is what the leases say.
  void repair(Job& job, const LeasedCases& leased);
  void check(const Job& job) const;
  void check_total(std::uint64_t bytes_of_all_jobs) const;

 private:
  struct Undurable {
    std::uint64_t step = 0;
    JobId job;
    ChunkNo chunk_no = 0;
    PeerId uploader;
  };
  // Lowest priority first, then those that can spare something.
  using Victim = std::tuple<std::int32_t, bool, JobId>;
  static Victim victim(const Job& job) {
    return {job.spec->priority, job.window.size() < 2, job.id};
  }
  static std::uint64_t memory_bytes(std::uint64_t case_bytes, std::uint32_t case_count);
  static std::uint64_t memory_bytes(const BacklogChunk& chunk);

  [[nodiscard]] bool has_room(const Job& job, std::uint64_t bytes) const;
  bool make_room(const Job& job, std::uint64_t bytes);
  bool evict_one(Job& job);
  OpenChunk& add(Job& job, const BacklogChunk& chunk);
  void remove(Job& job, OpenChunk& chunk);
  void activate(Job& job, OpenChunk& chunk, const std::vector<std::uint32_t>& done);
  void load(Job& job);
  void bring_untried_forward(Job& job);
  void ask(Job& job, OpenChunk& chunk);
  static void reopen_in_memory(Job& job, OpenChunk& chunk, PositionRange cases);
  void repair_chunk(Job& job, OpenChunk& chunk, const LeasedCases& leased);
  void rebuild(Job& job, OpenChunk& chunk, const std::vector<bool>& leased);
  void repair_counts(Job& job);
  void repair_place(Job& job);
  bool take_alone(Job& job, std::vector<Piece>& pieces);
  static void mark(OpenChunk& chunk, PositionRange cases, CaseState state);

  Core& core_;
  std::uint64_t bytes_ = 0;
  std::uint64_t asks_ = 0;  // questions to the store
  std::uint64_t durable_steps_ = 0;
  std::deque<Undurable> undurable_;
  std::unordered_map<PeerId, std::uint32_t> unacknowledged_;
  std::set<Victim> victims_;  // all jobs with a window
};

}  // namespace puzzled::broker
