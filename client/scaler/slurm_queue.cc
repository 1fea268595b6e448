#include "client/scaler/slurm_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

namespace puzzled::scaler {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kTasksMax = 1'000'000;
constexpr std::int64_t kTimeMaxS = 1LL << 40U;  // Unix time; what is beyond it is no time
constexpr std::size_t kTextBytesMax = 200;      // of what is shown; each task has its own copy

bool read_number(std::string_view& text, std::uint32_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// A member that is missing, or of another kind, is as if it were empty: what depends on it says so.
std::string text_of(const Json& job, const char* name) {
  const auto it = job.find(name);
  return it != job.end() && it->is_string() ? it->get<std::string>() : "";
}

// 22.05 writes plain numbers, null for none; later versions {"set": true, "number": 7}.
std::optional<std::int64_t> number_of(const Json& job, const char* name) {
  const auto it = job.find(name);
  if (it == job.end()) return std::nullopt;
  if (it->is_number_integer()) return it->get<std::int64_t>();
  if (!it->is_object()) return std::nullopt;
  const auto set = it->find("set");
  if (set == it->end() || !set->is_boolean() || !set->get<bool>()) return std::nullopt;
  const auto number = it->find("number");
  if (number == it->end() || !number->is_number_integer()) return std::nullopt;
  return number->get<std::int64_t>();
}

// Likewise "RUNNING", or ["RUNNING", "COMPLETING"].
std::vector<std::string> states_of(const Json& job) {
  const auto it = job.find("job_state");
  if (it == job.end()) return {};
  if (it->is_string()) return {it->get<std::string>()};
  std::vector<std::string> states;
  if (it->is_array()) {
    for (const Json& state : *it) {
      if (state.is_string()) states.push_back(state.get<std::string>());
    }
  }
  return states;
}

// Held by Slurm, as after a start that failed (which 22.05 calls JobHeldUser all the same). What
// its owner holds waits for the owner.
bool is_held(const std::string& reason, const std::string& description) {
  return description.find("launch failed") != std::string::npos || reason == "JobHeldAdmin" ||
         reason == "JobHoldMaxRequeue" || reason == "JobLaunchFailure";
}

Allocation::State state_of(const std::vector<std::string>& states, bool held) {
  using State = Allocation::State;
  constexpr std::array kOver = {"COMPLETED", "CANCELLED", "FAILED",   "TIMEOUT",      "NODE_FAIL",
                                "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"};
  const auto has = [&](std::string_view state) { return std::ranges::count(states, state) > 0; };
  if (has("COMPLETING")) return State::kEnding;
  if (std::ranges::any_of(kOver, has)) return State::kEnded;
  if (has("RUNNING")) return State::kRunning;
  // CONFIGURING: its node is being made ready. SUSPENDED and the like come back.
  return held ? State::kHeld : State::kPending;
}

std::int64_t time_ms_of(const Json& job, const char* name) {
  const std::int64_t seconds = number_of(job, name).value_or(0);
  return seconds < 0 || seconds > kTimeMaxS ? 0 : 1000 * seconds;
}

std::optional<EngineError> add_job(const Json& job, std::vector<Allocation>& allocations) {
  const std::vector<std::string> states = states_of(job);
  const std::string reason = text_of(job, "state_reason");
  const std::string description = text_of(job, "state_description");
  Allocation allocation;
  allocation.state = state_of(states, is_held(reason, description));
  allocation.detail = states.empty() ? "" : states.front();
  allocation.ended_well = allocation.detail == "COMPLETED";
  if (!description.empty()) {
    allocation.detail += ": " + description;
  } else if (!reason.empty() && reason != "None") {
    allocation.detail += ": " + reason;
  }
  allocation.detail.resize(std::min(allocation.detail.size(), kTextBytesMax));
  const bool runs = allocation.state == Allocation::State::kRunning;
  allocation.since_ms = time_ms_of(job, runs ? "start_time" : "submit_time");
  const std::int64_t array = number_of(job, "array_job_id").value_or(0);
  if (array <= 0) return std::nullopt;  // not of a job array: not ours
  if (const auto task = number_of(job, "array_task_id"); task && *task >= 0) {
    allocation.id = fmt::format("{}_{}", array, *task);
    allocations.push_back(std::move(allocation));
    return std::nullopt;
  }
  const std::string text = text_of(job, "array_task_string");
  const std::vector<std::uint32_t> tasks = parse_task_numbers(text);
  const bool is_over = allocation.state == Allocation::State::kEnded;
  // Tasks that are there and are not counted would be asked for again.
  if ((tasks.empty() && !is_over) || allocations.size() + tasks.size() > kTasksMax) {
    return EngineError{fmt::format("squeue: the tasks of array {} cannot be read: '{}'", array,
                                   text.substr(0, kTextBytesMax))};
  }
  for (const std::uint32_t task : tasks) {
    allocation.id = fmt::format("{}_{}", array, task);
    allocations.push_back(allocation);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::uint32_t> parse_task_numbers(std::string_view text) {
  text = text.substr(0, text.find('%'));
  std::vector<std::uint32_t> numbers;
  while (!text.empty()) {
    std::uint32_t first = 0;
    std::uint32_t step = 1;
    if (!read_number(text, first)) return {};
    std::uint32_t last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!read_number(text, last)) return {};
    }
    if (text.starts_with(':')) {
      text.remove_prefix(1);
      if (!read_number(text, step) || step == 0) return {};
    }
    if (last < first || numbers.size() + (last - first) / step >= kTasksMax) return {};
    for (std::uint64_t number = first; number <= last; number += step) {
      numbers.push_back(static_cast<std::uint32_t>(number));
    }
    if (text.empty()) break;
    if (!text.starts_with(',') || text.size() == 1) return {};
    text.remove_prefix(1);
  }
  return numbers;
}

std::variant<std::vector<Allocation>, EngineError> parse_queue(std::string_view json,
                                                               std::string_view fleet,
                                                               std::string_view user) {
  const Json document = Json::parse(json, nullptr, false);
  if (!document.is_object()) return EngineError{"squeue --json wrote no JSON"};
  // squeue ends with code 0 even if it could not ask slurmctld.
  if (const auto errors = document.find("errors");
      errors != document.end() && errors->is_array() && !errors->empty()) {
    const Json& first = errors->front();
    std::string text = first.is_object() ? text_of(first, "description") : "";
    if (text.empty() && first.is_object()) text = text_of(first, "error");
    return EngineError{"squeue: " + (text.empty() ? std::string("failed") : text)};
  }
  const auto jobs = document.find("jobs");
  if (jobs == document.end() || !jobs->is_array()) {
    return EngineError{"squeue --json wrote no list of jobs"};
  }
  std::vector<Allocation> allocations;
  for (const Json& job : *jobs) {
    if (!job.is_object() || text_of(job, "name") != fleet) continue;
    if (text_of(job, "user_name") != user) continue;
    if (auto error = add_job(job, allocations)) return *std::move(error);
  }
  return allocations;
}

}  // namespace puzzled::scaler
