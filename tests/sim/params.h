// Everything about a run that its seed decides before it begins.
#pragma once

#include <cstdint>

#include "daemon/broker/options.h"
#include "tests/sim/random.h"
#include "workers/host/session.h"

namespace puzzled::sim {

struct Params {
  BrokerOptions broker;
  host::SessionOptions session;

  std::int64_t workers = 0;
  std::int64_t slots_max = 0;
  std::int64_t restart_ms = 0;  // at most, until a process that ended is started again
  std::int64_t work_ms = 0;     // at most, of a case
  std::int64_t late_ms = 0;     // on one case for so long: the slot is late
  bool hangs = false;           // slots may hang until the deadline of their lease

  std::int64_t clients = 0;
  std::int64_t jobs_spread_ms = 0;  // clients come within this time
  std::int64_t cases_max = 0;       // of a job
  std::int64_t chunk_cases_max = 0;
  std::int64_t client_retry_ms = 0;
  std::int64_t client_depth = 0;  // chunks in flight
  std::int64_t poison = 0;        // cases, of all jobs
  std::int64_t poison_ms = 0;     // at most, until such a case kills
  std::int64_t crashing = 0;      // one case in so many; 0: none
  std::int64_t time_limit_ms = 0;

  std::int64_t delay_ms = 0;      // at most, of a message
  std::int64_t reconnect_ms = 0;  // at most
  std::int64_t commit_ms = 0;     // at most, of a transaction
  std::int64_t commit_steps = 0;  // at most, in a transaction
  std::int64_t disk_retry_ms = 0;
  std::int64_t sweep_ms = 0;  // between the steps of the sweeper
  std::int64_t drain_ms = 0;  // the daemon ends after that whatever runs

  // Mean times between faults of a kind; 0: none in this run.
  std::int64_t crash_every_ms = 0;       // kill -9 of the daemon
  std::int64_t drain_every_ms = 0;       // SIGTERM to the daemon
  std::int64_t kill_every_ms = 0;        // kill -9 of a worker
  std::int64_t terminate_every_ms = 0;   // SIGTERM to a worker
  std::int64_t cut_every_ms = 0;         // a connection breaks and comes back
  std::int64_t partition_every_ms = 0;   // messages wait, or vanish, for a while
  std::int64_t full_every_ms = 0;        // the disk
  std::int64_t io_error_every_ms = 0;    // the disk
  std::int64_t slot_fault_every_ms = 0;  // a slot dies, gives up or hangs
  std::int64_t client_every_ms = 0;      // a client is killed, and mostly started again
  std::int64_t jump_every_ms = 0;        // of the wall clock
  std::int64_t mark_every_ms = 0;        // the operator marks, or unmarks, a job
  std::int64_t lie_every_ms = 0;         // a worker begins to answer wrong
  std::int64_t admit_ms = 0;             // at most, until the operator lets a worker in again

  // Workers differ in labels and solver versions, and some jobs mind.
  bool mixed_fleet = false;
  std::int64_t control_every_ms = 0;  // the operator drains, resumes or removes workers

  bool twins = false;  // instances come several times, in one job and in several

  // Within this time of the last fault all that was accepted is to be done.
  std::int64_t bound_ms = 0;

  static Params draw(Random& random, Random& fleet);
};

}  // namespace puzzled::sim
