#include "client/scaler/slurm.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/scaler/program.h"
#include "client/scaler/slurm_queue.h"

namespace puzzled::scaler {
namespace {

// squeue's JSON has 5 kB for each job of the cluster.
constexpr std::size_t kOutputBytesMax = 1U << 30U;
constexpr std::size_t kIdsOfOneCommand = 500;

// Without it squeue shortens the list of an array's waiting tasks to 64 bytes.
constexpr std::string_view kWholeLists = "SLURM_BITSTR_LEN=";

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Slurm::Slurm(SlurmOptions options) : options_(std::move(options)) {
  std::erase_if(options_.environment,
                [](const std::string& entry) { return entry.starts_with(kWholeLists); });
  options_.environment.push_back(std::string(kWholeLists) + "0");
}

std::variant<std::vector<std::string>, EngineError> Slurm::submit(std::uint32_t count) {
  std::vector<std::string> arguments = {
      "sbatch", "--parsable", "--job-name=" + options_.fleet, fmt::format("--array=1-{}", count),
      fmt::format("--cpus-per-task={}", options_.slots_per_worker)};
  arguments.insert(arguments.end(), options_.sbatch_arguments.begin(),
                   options_.sbatch_arguments.end());
  arguments.push_back(options_.script);
  const ProgramEnd end =
      run_program(arguments, options_.environment, options_.timeout_ms, kOutputBytesMax);
  if (std::string error = describe_failure("sbatch", end); !error.empty()) {
    return EngineError{std::move(error)};
  }
  // JOB or JOB;CLUSTER, and a line break.
  const std::string job = end.out.substr(0, end.out.find_first_of(";\n"));
  if (!is_number(job)) return EngineError{"sbatch --parsable wrote no job number"};
  std::vector<std::string> ids;
  for (std::uint32_t task = 1; task <= count; ++task)
    ids.push_back(fmt::format("{}_{}", job, task));
  return ids;
}

std::variant<std::vector<Allocation>, EngineError> Slurm::list() {
  const ProgramEnd end =
      run_program({"squeue", "--json"}, options_.environment, options_.timeout_ms, kOutputBytesMax);
  if (std::string error = describe_failure("squeue", end); !error.empty()) {
    return EngineError{std::move(error)};
  }
  auto parsed = parse_queue(end.out, options_.fleet, options_.user);
  // Why it could not ask slurmctld, it says there.
  if (auto* error = std::get_if<EngineError>(&parsed); error != nullptr && !end.err.empty()) {
    error->text += ": " + end.err.substr(0, end.err.find('\n'));
  }
  return parsed;
}

std::optional<EngineError> Slurm::end(const std::vector<std::string>& ids, How how) {
  for (std::size_t at = 0; at < ids.size(); at += kIdsOfOneCommand) {
    std::vector<std::string> arguments = {"scancel"};
    // Only the batch script, which is the worker: its solver processes go on until it is done.
    if (how == How::kDrain) arguments.insert(arguments.end(), {"--batch", "--signal=TERM"});
    const auto last = std::min(ids.size(), at + kIdsOfOneCommand);
    arguments.insert(arguments.end(), ids.begin() + static_cast<std::ptrdiff_t>(at),
                     ids.begin() + static_cast<std::ptrdiff_t>(last));
    const ProgramEnd end =
        run_program(arguments, options_.environment, options_.timeout_ms, kOutputBytesMax);
    // A job that is over in the meantime gives an exit code and no word; it is what was wanted.
    const bool already_over = end.started && end.exit_code > 0 && end.err.empty();
    if (already_over) continue;
    if (std::string error = describe_failure("scancel", end); !error.empty()) {
      return EngineError{std::move(error)};
    }
  }
  return std::nullopt;
}

std::optional<std::string> Slurm::allocation_of(std::string_view worker_name) const {
  if (!worker_name.starts_with(options_.fleet)) return std::nullopt;
  worker_name.remove_prefix(options_.fleet.size());
  if (!worker_name.starts_with('-')) return std::nullopt;
  worker_name.remove_prefix(1);
  const std::size_t middle = worker_name.find('_');
  if (middle == std::string_view::npos || !is_number(worker_name.substr(0, middle)) ||
      !is_number(worker_name.substr(middle + 1))) {
    return std::nullopt;
  }
  return std::string(worker_name);
}

}  // namespace puzzled::scaler
