// What the scaler reads of squeue: the input is its output, and the numbers of an array's tasks.
#include "client/scaler/slurm_queue.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/fuzz/target.h"

namespace puzzled {
namespace {

using scaler::Allocation;
using scaler::EngineError;
using Json = nlohmann::json;

constexpr std::size_t kTasksMax = 1'000'000;
constexpr std::size_t kJoinedMax = 1'000;  // more would make the search slow

// "12_7"
bool is_id(std::string_view id) {
  const auto is_number = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  };
  const std::size_t middle = id.find('_');
  return middle != std::string_view::npos && is_number(id.substr(0, middle)) &&
         is_number(id.substr(middle + 1));
}

// The number of allocations; none if it is an error.
std::optional<std::size_t> read(std::string_view json) {
  const auto parsed = scaler::parse_queue(json, "fleet", "alice");
  if (const auto* error = std::get_if<EngineError>(&parsed)) {
    ASSERT(error->text.starts_with("squeue"));
    return std::nullopt;
  }
  const auto& allocations = std::get<std::vector<Allocation>>(parsed);
  ASSERT(allocations.size() <= kTasksMax);
  for (const Allocation& one : allocations) ASSERT(is_id(one.id) && one.since_ms >= 0);
  return allocations.size();
}

void check_numbers(std::string_view text) {
  const std::vector<std::uint32_t> numbers = scaler::parse_task_numbers(text);
  ASSERT(numbers.size() <= kTasksMax);
  if (numbers.size() <= kJoinedMax) {
    std::string joined;
    for (const std::uint32_t number : numbers) {
      joined += (joined.empty() ? "" : ",") + std::to_string(number);
    }
    ASSERT(scaler::parse_task_numbers(joined) == numbers);
  }
  // As a list of waiting tasks: all of them, or an error.
  const Json job = {{"name", "fleet"},    {"user_name", "alice"},     {"job_state", "PENDING"},
                    {"array_job_id", 12}, {"array_task_id", nullptr}, {"array_task_string", text}};
  const Json list = {{"errors", Json::array()}, {"jobs", {job}}};
  const auto count = read(list.dump(-1, ' ', false, Json::error_handler_t::replace));
  ASSERT(numbers.empty() ? !count : count == numbers.size());
}

}  // namespace
}  // namespace puzzled

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace puzzled;
  const std::string_view in = fuzz::input(data, size);
  static_cast<void>(read(in));
  check_numbers(in);
  return 0;
}
