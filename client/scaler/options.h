// The command line of puzzle-scaler.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/connection.h"
#include "client/scaler/scaler.h"
#include "client/scaler/slurm.h"
#include "proto/base/labels.h"

namespace puzzled::scaler {

struct Options {
  client::ConnectionOptions connection;
  ScalerOptions scaler;
  SlurmOptions slurm;
  Labels worker_labels;  // that its workers bear
  std::int64_t interval_ms = 5'000;
  std::uint32_t slot_work_ms = 10'000;  // work for which one more slot is wanted
  bool once = false;
  bool dry_run = false;
  std::string log_level = "info";
};

// Reads flags and environment into `options`. nullopt: go on; else the exit code of a program that
// is to end now, its help, version or error already printed.
std::optional<int> parse_options(int argc, char** argv, Options& options);

// The environment of Slurm's commands, and so of the jobs: this program's own, but of the PUZZLED_
// variables only those that nobody but worker.sbatch reads, and `instead`, what the options say.
std::vector<std::string> job_environment(char** own, const std::vector<std::string>& instead);

}  // namespace puzzled::scaler
