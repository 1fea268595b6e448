// One slot: solves a lease's cases in a solver process, one lease at a time, and gives exactly the
// case that breaks a limit or kills the process its own verdict. Its neighbours never notice.
//
//   result in the output area        -> its verdict, as the child wrote it
//   over the time limit              -> the host kills, that case is TIME_LIMIT
//   over the memory limit            -> the child ends itself, that case is MEMORY_LIMIT
//   the process dies at a case       -> the case runs again alone in a fresh process; when that
//   dies
//                                       too it is CRASHED
//   much wall time, little CPU time  -> no verdict: the case and the rest are returned
// A killed or dead process is replaced at once and goes on with the next case.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/base/verdict.h"
#include "workers/host/session_types.h"
#include "workers/host/solver_process.h"

namespace puzzled::host {

struct SlotOptions {
  bool show_errors = false;           // solvers' standard error is the worker's
  std::int64_t late_ms = 200;         // on one case for so long: event::SlotLate, once
  std::int64_t backstop_factor = 10;  // wall time a case may take: factor * time limit + extra
  std::int64_t backstop_extra_ms = 10'000;
  std::int64_t startup_max_ms = 30'000;  // for a solver process to begin its first case
};

class Slot {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;

  // Throws std::system_error if there is no memory file to be had. Starts no process yet.
  Slot(SlotNo number, const SlotOptions& options);

  // Starts the solver process before it is needed.
  void warm_up();

  // Events are appended to `events`. start() REQUIRES: idle().
  void start(DispatchPtr dispatch, std::vector<Event>& events);
  void trim(std::vector<Event>& events);
  void abort(std::vector<Event>& events);
  void kill();  // forgets the lease, without events

  // To be called when fd() is readable and when the steady clock reaches next_check_ns(). Neither
  // waits, also if there is nothing to read.
  void on_readable(std::vector<Event>& events);
  void on_check(std::vector<Event>& events);
  [[nodiscard]] int fd() const { return process_.fd(); }
  [[nodiscard]] std::int64_t next_check_ns() const { return check_at_ns_; }

  [[nodiscard]] bool idle() const { return dispatch_ == nullptr; }
  // What it is doing now, for heartbeats. REQUIRES: not idle().
  event::SlotProgress progress();

  // Not empty: solver processes cannot be run here at all, and why.
  [[nodiscard]] const std::string& fatal() const { return fatal_; }
  [[nodiscard]] pid_t pid() const { return process_.pid(); }

 private:
  enum class KillReason : std::uint8_t { kNone, kTime, kWall, kAbort, kStartup };
  struct Sample {  // of the case being solved
    std::uint32_t position = 0;
    std::int64_t start_mono_ns = 0;
    std::int64_t cpu_ns = 0;
  };

  void run_next(std::vector<Event>& events);
  void fill_header();
  void handle_finished(std::vector<Event>& events);
  void handle_full(std::vector<Event>& events);
  void handle_death(KillReason reason, std::uint32_t killed_position, std::vector<Event>& events);
  bool count_early_death(const ProcessEnd& end);
  void judge_death(std::uint32_t position, const ProcessEnd& end);
  void take_output();
  bool take_output_of_the_dead();
  void add_verdict(std::uint32_t position, Verdict verdict, std::uint64_t time_us,
                   std::uint64_t memory_bytes, std::string message);
  void emit_results(bool finished, std::vector<Event>& events);
  void return_rest(std::vector<Event>& events);
  void finish(std::vector<Event>& events);
  bool ensure_process(bool fresh);
  [[nodiscard]] std::optional<Sample> sample() const;
  void plan_check(const Sample& now_at, std::int64_t now_ns);
  [[nodiscard]] std::int64_t backstop_ns() const;
  void advance_mark(std::int64_t to_ns);

  SlotNo number_;
  SlotOptions options_;
  SolverProcess process_;
  bool used_ = false;  // the process has been asked to solve
  std::int64_t spawned_ns_ = 0;
  std::uint32_t early_deaths_ = 0;
  std::string fatal_;

  DispatchPtr dispatch_;  // null: idle
  std::uint64_t dispatch_no_ = 0;
  std::uint32_t first_ = 0;      // the first position without a verdict when no run is going on
  std::uint32_t end_ = 0;        // the first position that is not ours (any more)
  std::uint32_t run_first_ = 0;  // the run's positions: [run_first_, run_end_)
  std::uint32_t run_end_ = 0;
  std::optional<std::uint32_t> suspect_;  // died here: to be run alone
  std::uint32_t suspect_deaths_ = 0;

  std::string pending_;              // entries of a CaseResultList, not yet handed over
  std::uint32_t taken_results_ = 0;  // of this run
  std::uint32_t taken_bytes_ = 0;    // of the output area
  std::int64_t mark_ns_ = 0;         // busy time is counted up to here
  std::int64_t busy_ns_ = 0;         // of pending_
  std::int64_t check_at_ns_ = kNever;
  std::int64_t run_started_ns_ = 0;
  std::uint32_t late_position_ = kNoPosition;  // already reported
  std::uint64_t progress_base_ = 0;            // progress of processes before this one
  std::uint64_t progress_ = 0;
};

}  // namespace puzzled::host
