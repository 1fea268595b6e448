// Workers as array tasks of Slurm, by its commands: sbatch, squeue --json, scancel.
#pragma once

#include <string>
#include <vector>

#include "client/scaler/engine.h"

namespace puzzled::scaler {

struct SlurmOptions {
  std::string fleet = "puzzle-worker";        // the jobs' name; no two scalers of a user share one
  std::string script;                         // the batch script, deploy/slurm/worker.sbatch
  std::vector<std::string> sbatch_arguments;  // more, as they are
  std::uint32_t slots_per_worker = 1;
  std::string user;                      // whose jobs these are
  std::vector<std::string> environment;  // of the commands, and so of the jobs: NAME=VALUE
  std::int64_t timeout_ms = 30'000;      // for a command
};

class Slurm : public Engine {
 public:
  explicit Slurm(SlurmOptions options);

  std::variant<std::vector<std::string>, EngineError> submit(std::uint32_t count) override;
  std::variant<std::vector<Allocation>, EngineError> list() override;
  std::optional<EngineError> end(const std::vector<std::string>& ids, How how) override;
  // worker.sbatch names its worker FLEET-JOB_TASK.
  [[nodiscard]] std::optional<std::string> allocation_of(
      std::string_view worker_name) const override;

 private:
  SlurmOptions options_;
};

}  // namespace puzzled::scaler
