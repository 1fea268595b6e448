// How many workers there should be, and what follows: a pure machine. Each round takes a time and
// what was seen, and says what to do; whoever carries that out says how it went. It knows neither
// Slurm nor sockets nor clocks.
//
// Nothing has to survive a restart of the program: what it asked for, the engine lists; who came,
// the daemon lists.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/scaler/types.h"

namespace puzzled::scaler {

struct ScalerOptions {
  std::uint32_t min = 0;  // workers
  std::uint32_t max = 1;
  std::uint32_t slots_per_worker = 1;
  std::int64_t shrink_after_ms = 60'000;    // more workers than wanted, for so long: some are ended
  std::int64_t join_timeout_ms = 120'000;   // a started worker that the daemon does not know
  std::int64_t drain_timeout_ms = 600'000;  // a worker that was asked to end, and has not
  std::int64_t backoff_first_ms = 5'000;    // after a failure; doubled with each one that follows
  std::int64_t backoff_max_ms = 300'000;
  std::uint32_t failures_max = 5;    // one after the other: then a pause
  std::int64_t pause_ms = 600'000;   // then one worker is tried
  std::uint32_t submit_max = 1'000;  // in one round; Slurm's usual MaxArraySize
};

struct Note {
  enum class Level : std::uint8_t { kInfo, kWarning };
  Level level = Level::kInfo;
  std::string text;
};

struct End {
  std::string id;
  How how = How::kDrain;
  std::string why;
};

struct Decision {
  std::uint32_t submit = 0;  // so many workers
  std::vector<End> ends;
  std::vector<Note> notes;  // what is new, for people
};

// Where things stand after a round.
struct Status {
  std::string trouble;  // why nothing could be decided; empty: something was
  std::uint64_t slots_wanted = 0;
  std::uint64_t foreign_slots = 0;  // of workers that are not ours
  std::uint32_t target = 0;         // workers
  std::uint32_t pending = 0;
  std::uint32_t running = 0;
  std::uint32_t connected = 0;  // of those that run: known to the daemon and not draining
  std::uint32_t ending = 0;
  std::uint32_t forgotten = 0;  // connected, and unknown to the engine
  std::string paused;           // why no worker is started; empty: one would be
  std::int64_t paused_ms = 0;   // for so long from now
};
// One line.
std::string describe(const Status& status, const ScalerOptions& options);

class Scaler {
 public:
  explicit Scaler(const ScalerOptions& options) : options_(options) {}

  // One round. `now_ms` is of a steady clock. REQUIRES: it does not go back.
  Decision decide(std::int64_t now_ms, const Observation& seen);

  // How the decision was carried out.
  void submitted(const std::vector<std::string>& ids);
  void submit_failed(std::int64_t now_ms, const std::string& why, std::vector<Note>& notes);
  void ended(std::int64_t now_ms, const End& end);

  // An operator has put right what was wrong: no back-off and no pause.
  void resume();

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  struct Known {                 // an allocation that is not over
    bool listed = false;         // by the engine, in this round
    bool joined = false;         // its worker was seen since it was started
    std::int64_t seen_ms = 0;    // when its worker was seen last, or its start was
    std::int64_t start_ms = -1;  // Allocation::since_ms of the start that this counts from
    std::int64_t end_ms = -1;    // when it was last asked to end; -1: never
    How end_how = How::kDrain;
  };
  struct Seat {  // a worker that counts, and how little would be lost with it
    std::string id;
    How how = How::kDrain;
    bool connected = false;
    std::uint32_t leases = 0;
    std::int64_t since_ms = 0;
  };
  using Workers = std::map<std::string, const Worker*>;  // by allocation

  static bool goes_before(const Seat& a, const Seat& b);
  bool note_trouble(const Observation& seen, Decision& out);
  void look_at(const Allocation& allocation, const Workers& workers, Decision& out);
  void look_at_waiting(const Allocation& allocation, const Known& known, Decision& out);
  void look_at_running(const Allocation& allocation, const Worker* worker, Known& known,
                       Decision& out);
  void look_for_lost(const Observation& seen, const Workers& workers);
  void count_forgotten(const Workers& workers, Decision& out);
  void grow(Decision& out);
  void shrink(Decision& out);
  void fail(const std::string& why, std::vector<Note>& notes);

  const ScalerOptions options_;
  std::int64_t now_ms_ = 0;
  std::map<std::string, Known> known_;
  std::set<std::string> forgotten_;  // told already
  std::vector<Seat> seats_;          // of this round
  std::string failure_;              // of this round; empty: none
  std::string told_trouble_;
  std::int64_t heard_since_ms_ = -1;  // since then both halves could be seen; -1: no
  std::uint32_t failures_ = 0;        // one after the other
  std::string last_failure_;
  std::int64_t retry_at_ms_ = 0;
  std::int64_t surplus_since_ms_ = -1;  // -1: there is none
  std::uint32_t surplus_peak_ = 0;      // the highest target since then
  Status status_;
};

}  // namespace puzzled::scaler
