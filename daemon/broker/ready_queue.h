// Whose turn it is. Higher priority first, strictly; equal priorities take turns by the work that
// was handed out (start-time fair queueing), so that one case behind ten million waits for about
// one dispatch.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/broker/cost.h"
#include "daemon/broker/types.h"

namespace puzzled::broker {

inline constexpr std::int32_t kPriorityMin = -100;
inline constexpr std::int32_t kPriorityMax = 100;

// A puzzle, a solver for it, and what is required of the worker: jobs wait in lanes, workers serve
// lanes.
using LaneNo = std::uint32_t;

// A job's place in the order; smaller is earlier.
struct Turn {
  std::int32_t priority = 0;
  std::uint64_t virtual_us = 0;  // work handed out, on the clock of its priority
  JobId job;
  friend bool operator<(const Turn& a, const Turn& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.virtual_us != b.virtual_us) return a.virtual_us < b.virtual_us;
    return a.job < b.job;
  }
};

// Part of every open job; changed by the ReadyQueue only.
struct Place {
  LaneNo lane = 0;
  Turn turn;
  bool ready = false;    // has cases in memory that may be dispatched
  bool hungry = false;   // has cases in the store that it would like to have in memory
  bool curious = false;  // and wants to know whether their answers are known, workers or not
};

struct Lane {
  std::string puzzle;
  std::string solver;
  Requirements required;
  LaneNo plain = 0;        // of the same puzzle and solver, with no requirement; perhaps itself
  std::uint64_t jobs = 0;  // open ones
  std::set<Turn> ready;
  std::set<Turn> hungry;
  std::uint32_t workers = 0;  // connected ones that offer it
  Cost cost;
};

class ReadyQueue {
 public:
  // The lane without requirements. It stays for ever.
  LaneNo lane_of(const std::string& puzzle, const std::string& solver);
  // The lane of these requirements (not all empty), if there is one.
  [[nodiscard]] std::optional<LaneNo> find_special(const JobSpec& spec) const;
  LaneNo add_special(const JobSpec& spec);
  // Lanes with requirements.
  [[nodiscard]] const std::set<LaneNo>& special() const { return special_; }
  // One of them that has no jobs.
  [[nodiscard]] std::optional<LaneNo> idle_special() const;
  // REQUIRES: it has no jobs and no workers.
  void remove_special(LaneNo no);
  void add_job(LaneNo no);
  void remove_job(LaneNo no);

  [[nodiscard]] const Lane& lane(LaneNo no) const { return lanes_[no]; }
  [[nodiscard]] Cost& cost(LaneNo no) { return lanes_[no].cost; }
  // Lanes with at least one worker.
  [[nodiscard]] const std::set<LaneNo>& served() const { return served_; }
  // True when the first worker came, or the last one went.
  bool add_worker(LaneNo no);
  bool remove_worker(LaneNo no);

  void set_ready(Place& place, bool ready);
  void set_hungry(Place& place, bool hungry);
  void set_curious(Place& place, bool curious);
  // Whether the order knows what the place says; repair() makes it so.
  [[nodiscard]] bool is_sound(const Place& place) const;
  void repair(const Place& place);
  // `place` was given `us` of work.
  void charge(Place& place, std::uint64_t us);
  // The store has `us` of work for it. No worker is kept from others by that: it moves no clock,
  // and puts the job behind its equals within a bound only.
  void charge_store(Place& place, std::uint64_t us);
  // The next job of these lanes, if any is ready.
  [[nodiscard]] std::optional<Turn> first_ready(std::span<const LaneNo> lanes) const;
  // The next job that wants cases from the store: of a served lane, or a curious one. Of equal
  // priority, one that somebody works for comes before those that are only curious.
  [[nodiscard]] std::optional<Turn> first_hungry() const;

 private:
  std::uint64_t& clock(const Place& place) {
    return clocks_[static_cast<std::size_t>(place.turn.priority - kPriorityMin)];
  }
  using Key = std::tuple<std::string, std::string, std::string, Labels>;
  void catch_up(Place& place);
  void move_to(Place& place, std::uint64_t virtual_us);
  LaneNo new_number();

  std::vector<Lane> lanes_;
  std::vector<LaneNo> unused_;
  std::map<Key, LaneNo> numbers_;
  std::set<LaneNo> special_;
  std::set<LaneNo> idle_;  // of them
  std::set<LaneNo> served_;
  std::set<Turn> curious_;
  // Of each priority: where the job stood that was served last. A job that (re)joins starts here,
  // neither owed anything for its absence nor behind those who were served.
  std::array<std::uint64_t, kPriorityMax - kPriorityMin + 1> clocks_{};
};

}  // namespace puzzled::broker
