// Workers: who is there, what they can solve, how much more they take, and whether they are alive.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/broker/broker.h"
#include "daemon/broker/canaries.h"
#include "daemon/broker/core.h"
#include "daemon/broker/ready_queue.h"

namespace puzzled::broker {

struct Lease;
struct Session;

struct HeldLease {
  LeaseId id;
  Lease* lease = nullptr;
};

// All workers of the same lanes. A fleet has few different ones, so dispatching looks at profiles,
// not at workers: labels that no job has asked for make none.
struct Profile {
  // Reliable ones first, then those with the most room, then the one that has waited longest.
  struct Free {
    bool suspect = false;
    std::uint32_t leases = 0;
    std::uint64_t since = 0;
    Session* session = nullptr;
    friend bool operator<(const Free& a, const Free& b) {
      if (a.suspect != b.suspect) return b.suspect;
      if (a.leases != b.leases) return a.leases > b.leases;
      return a.since < b.since;
    }
  };
  std::set<Free> free;
  std::uint64_t free_leases = 0;  // of all of them
  std::uint32_t workers = 0;
  // Of their solvers, lane by lane, and how many of the workers have them: each worker would have a
  // copy of its own else.
  std::map<std::vector<std::string>, std::uint32_t> versions;
};
using Profiles = std::map<std::vector<LaneNo>, Profile>;  // ascending lanes
struct ByLanes {
  bool operator()(const Profiles::value_type* a, const Profiles::value_type* b) const {
    return a->first < b->first;
  }
};

// One worker process, from Ready to Goodbye or silence; it may change its connection. What every
// result touches comes first: with thousands of workers their memory is not in the cache.
struct Session {
  PeerId peer;
  WorkerNo worker;
  bool attached = true;              // false: its connection is known to be gone
  bool recorded = false;             // InsertWorker was given
  bool suspect = false;              // a lease ran out under it: it is served last
  bool paused = false;               // by the operator: it gets no leases
  bool removed = false;              // by the operator: that, and it is told to end
  bool serves = false;               // its lanes count it
  std::uint32_t capacity = 0;        // leases it wants to hold, as it last said
  std::uint32_t leases_allowed = 0;  // capacity, or what it held when that was lowered
  std::uint32_t free_leases = 0;     // key in Profile::free; 0: not in it
  std::uint64_t free_since = 0;      // the same
  std::vector<HeldLease> leases;     // live ones, ascending
  std::int64_t heard_ms = 0;         // steady
  std::int64_t seen_wall_ms = 0;
  std::int64_t progress_ms = 0;                        // steady; when it last showed any
  std::int64_t timer_ms = kNever;                      // Timers::arm
  Profiles::value_type* place = nullptr;               // what it offers and meets
  const std::vector<std::string>* versions = nullptr;  // one of Profile::versions
  std::uint64_t cases_done = 0;

  std::uint32_t slots = 0;
  std::uint32_t pid = 0;
  Bytes16 start_id{};
  std::string name;
  std::string host;
  std::string version;
  Labels labels;
  std::vector<event::BusySlot> busy;  // in its last heartbeat
  std::int64_t connected_wall_ms = 0;
  std::uint64_t canaries_passed = 0;
  WatchedLanes watched;

  [[nodiscard]] const std::vector<LaneNo>& lanes() const;  // none, once it has left them
  [[nodiscard]] const std::string& solver_version(LaneNo lane) const;
  // Leases that it may be given now.
  [[nodiscard]] std::uint32_t room() const {
    const auto held = static_cast<std::uint32_t>(leases.size());
    return attached && !paused && capacity > held ? capacity - held : 0;
  }
};

class Sessions {
 public:
  Sessions(Core& core, WorkerNo last_worker) : core_(core), last_worker_(last_worker) {}

  void ready(event::WorkerReady&& ready);
  void results(event::WorkerResults&& results);
  void give_back(const event::WorkerReturn& returned);
  void heartbeat(event::WorkerHeartbeat&& heartbeat);
  void spoke(const event::WorkerSpoke& spoke) { hear(spoke.peer); }
  void goodbye(const event::WorkerGoodbye& goodbye);
  void connection_gone(PeerId peer);
  void drain();
  void control(event::ControlWorkers&& control);
  // Takes back what paused workers have not begun, as much as a step may.
  void take_back();
  void timer(WorkerNo worker, std::int64_t at_ms);
  // Nobody listened for that long: every worker has its liveness again, every lease its deadline.
  void forgive_silence(std::int64_t late_ms);

  // Serves the ready queue as long as there are cases and workers for them.
  void dispatch();
  // To be called when leases of the session were added or ended.
  void update_credit(Session& session);
  // The row that results and attempts refer to, once for each process start.
  void record_worker(Session& session);

  // The lane of a job, counted as one of its jobs. nullopt: there are too many different sets of
  // requirements already (not if `always`).
  std::optional<LaneNo> enter_lane(const JobSpec& spec, bool always);

  // Whether a worker with these labels and this version of the solver may have the cases of a job
  // that requires that.
  [[nodiscard]] static bool meets(const Requirements& required, const std::string& version,
                                  const Labels& labels);

  // As Window::repair(), for all workers.
  void repair();
  [[nodiscard]] std::size_t count() const { return by_peer_.size(); }
  // Room for more leases among the workers of a lane.
  [[nodiscard]] std::uint64_t free_leases(LaneNo lane) const;
  [[nodiscard]] std::uint64_t slots(LaneNo lane) const;
  // Of the workers that take cases: those that drain, or whose connection is gone, do not.
  struct Slots {
    std::uint64_t workers = 0;
    std::uint64_t all = 0;
    std::map<LaneNo, std::uint64_t> by_lane;
  };
  [[nodiscard]] Slots slots() const;
  // What a worker would need to serve the lane, for people. REQUIRES: none serves it.
  [[nodiscard]] std::string missing(const Lane& lane) const;
  [[nodiscard]] WorkersPage page(const Now& now, WorkerNo after, std::uint32_t rows) const;
  template <class Visit>
  void each(const Visit& visit) {
    for (auto& [peer, session] : by_peer_) visit(session);
  }
  void check() const;

 private:
  [[nodiscard]] WorkerView view_of(const Session& session, const Now& now) const;

  enum class Leave : std::uint8_t { kGoodbye, kSilent, kHung };

  Session* find(PeerId peer);
  Session* hear(PeerId peer);  // notes the sign of life
  void note_heard(Session& session) const;
  Session* create(const event::WorkerReady& ready);
  void describe(Session& session, event::WorkerReady& ready);
  void set_capacity(Session& session, std::uint32_t capacity);
  void arm(Session& session);
  void drop(Session& session, Leave how);
  void convict(Session& session, const FailedCanary& failed);
  void erase(Session& session);

  // Its lanes (sessions_lanes.cc).
  void set_offers(Session& session, const std::vector<SolverOffer>& offers);
  void leave_lanes(Session& session);
  void put_away(LaneNo lane);
  // Gives the session these lanes instead of those it has; `versions` are their solvers'.
  void place(Session& session, std::vector<LaneNo> lanes, std::vector<std::string> versions);
  void attach_lane(LaneNo no);
  void retire_lane(LaneNo no);
  void set_paused(Session& session, bool paused);

  // What the operator does (sessions_control.cc).
  // What the patterns name: sessions by number, and paused names of which none is connected.
  struct Named {
    std::map<WorkerNo, Session*> sessions;
    std::set<std::string> absent;
    std::vector<std::string> unknown;  // patterns
  };
  [[nodiscard]] Named named(const event::ControlWorkers& control) const;
  bool apply(event::WorkerAction action, Session& session);
  [[nodiscard]] WorkerState state_of(const Session& session) const;
  void forget_paused_names();

  Core& core_;
  WorkerNo last_worker_;
  std::unordered_map<PeerId, Session> by_peer_;
  std::unordered_map<Bytes16, Session*> by_start_;
  std::unordered_map<WorkerNo, Session*> by_worker_;
  Profiles profiles_;
  // Those with a free lease: few, while there is more work than workers.
  std::set<Profiles::value_type*, ByLanes> free_profiles_;
  std::uint64_t free_sequence_ = 0;
  // Names that the operator drained, each with the number of the request: whoever comes under one
  // of them gets no leases. Kept as long as the daemon lives.
  std::map<std::string, std::uint64_t> paused_names_;
  std::uint64_t controls_ = 0;
  std::deque<WorkerNo> to_take_back_;  // paused, and not yet looked at
};

}  // namespace puzzled::broker
