// What tests with faults check: the ledger (accepted = done + open) of a store, read by SQL and not
// through the programs, and that every result is there once and right, compared with an offline
// solve.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/fixture.h"

namespace puzzled::testing {

// What a store says about a job.
struct JobLedger {
  std::uint64_t accepted = 0;  // cases of its chunks
  std::uint64_t done = 0;      // cases with a row in `results`
  std::uint64_t open = 0;      // cases that have no verdict in `progress`
};
using Ledger = std::map<std::uint64_t, JobLedger>;  // by job

class FaultsTest : public EndToEnd {
 protected:
  // Waits until it is gone.
  static void kill_and_wait(Process& process, int signal_number = SIGKILL);

  // Checks the store of a daemon that is dead, or alive and idle: it is sound, it adds up, and
  // nothing that it ever held is missing. To be called at every restart.
  void check_ledger();
  // The job is DONE, and has one result for each case of this input, which is right.
  void expect_right(const std::string& job, const std::string& input);
  // No attempt was charged to any case.
  void expect_no_charges();
  // One number out of the store.
  std::uint64_t number_in_store(const std::string& sql);

  // Waits until `count` workers are connected, by what the daemon says.
  ::testing::AssertionResult workers_become(std::size_t count);
  std::vector<Json> workers();
  // Waits until that many cases of the job are done.
  ::testing::AssertionResult done_becomes(const std::string& job, std::uint64_t at_least);

  // Right answers of bishops, by the line of the instance.
  const std::string& right_answer(const std::string& instance);

 private:
  void solve_offline(const std::set<std::string>& instances);

  Ledger last_;
  std::map<std::string, std::string> answers_;
};

// Options of a daemon that notices soon that a worker is gone.
inline const Arguments kQuick = {"--workers", "0",          "--heartbeat-interval",
                                 "100ms",     "--liveness", "1s"};
// For tests that do not test silence: it must not come of a busy machine.
inline const Arguments kPatient = {"--workers", "0",          "--heartbeat-interval",
                                   "200ms",     "--liveness", "60s"};

// The lines of a bishops file but the last.
std::vector<std::string> instances_of(const std::string& input);

// A new seed, or that of the environment variable PUZZLED_SEED; printed.
std::mt19937_64 seeded_random();

}  // namespace puzzled::testing
