#include "client/commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/calls.h"
#include "client/failure.h"
#include "proto/base/paths.h"
#include "proto/base/printable.h"

namespace puzzled::client {

ConnectionOptions connection_options(Context& context, std::uint32_t patience_ms) {
  ConnectionOptions options;
  if (context.global.endpoint.empty()) {
    options.endpoints = candidate_client_endpoints();
  } else {
    options.endpoints = {context.global.endpoint};
  }
  auto keys = read_curve_keys(context.global.key_file, context.global.server_key);
  if (const auto* error = std::get_if<KeyError>(&keys)) {
    throw Failure(kExitInvalid, error->text, "puzzlectl keygen --help says more");
  }
  options.keys = std::get<std::optional<CurveKeys>>(std::move(keys));
  options.connect_timeout_ms = context.global.connect_timeout_ms;
  options.patience_ms = patience_ms;
  options.notice = [&console = context.console](std::string_view text) { console.note(text); };
  return options;
}

std::string command_line(const Context& context, std::string_view words) {
  // Without what the environment or the default would find: it would only distract.
  std::string line = "puzzlectl ";
  const auto add = [&line](const char* option, const char* variable, const std::string& value) {
    const char* set = std::getenv(variable);
    const bool implied = value.empty() || (set != nullptr && value == set);
    if (!implied) line += fmt::format("{} {} ", option, value);
  };
  add("--endpoint", "PUZZLED_ENDPOINT", context.global.endpoint);
  add("--key", "PUZZLED_KEY", context.global.key_file);
  add("--server-key", "PUZZLED_SERVER_KEY", context.global.server_key);
  return line.append(words);
}

Colour verdict_colour(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSolved:
    case Verdict::kAccepted:
      return Colour::kGood;
    case Verdict::kWrongAnswer:
    case Verdict::kCrashed:
    case Verdict::kInternalError:
      return Colour::kBad;
    case Verdict::kCancelled:
      return Colour::kDim;
    default:
      return Colour::kWarning;
  }
}

std::vector<std::pair<Verdict, std::uint64_t>> verdict_counts(const proto::JobStatus& status) {
  std::vector<std::pair<Verdict, std::uint64_t>> counts;
  std::uint64_t cancelled = 0;
  if (status.state() == proto::JOB_STATE_CANCELLED && status.case_count() > status.done_count()) {
    cancelled = status.case_count() - status.done_count();
  }
  for (const proto::VerdictCount& entry : status.verdicts()) {
    // Should a daemon count the open ones itself, they are not counted twice.
    if (verdict_of(entry.verdict()) == Verdict::kCancelled) {
      cancelled = std::max(cancelled, entry.count());
    } else if (entry.count() > 0) {
      counts.emplace_back(verdict_of(entry.verdict()), entry.count());
    }
  }
  if (cancelled > 0) counts.emplace_back(Verdict::kCancelled, cancelled);
  std::ranges::sort(counts);
  return counts;
}

std::string describe_counts(const std::vector<std::pair<Verdict, std::uint64_t>>& counts) {
  std::string text;
  for (const auto& [verdict, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, verdict_short_name(verdict));
  }
  return text;
}

std::string_view state_name(proto::JobState state) {
  switch (state) {
    case proto::UPLOADING:
      return "UPLOADING";
    case proto::QUEUED:
      return "QUEUED";
    case proto::RUNNING:
      return "RUNNING";
    case proto::JOB_DONE:
      return "DONE";
    case proto::JOB_STATE_CANCELLED:
      return "CANCELLED";
    default:
      return "UNKNOWN";
  }
}

std::string solver_text(const proto::JobSpec& spec) {
  return spec.solver_version().empty() ? spec.solver()
                                       : spec.solver() + "@" + spec.solver_version();
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void print_defects(Console& console, std::string_view file, const std::vector<Defect>& defects) {
  constexpr std::size_t kDefectsMax = 20;  // a file, as the rules of the puzzles say
  const std::string name = printable_line(file);
  for (std::size_t i = 0; i < std::min(defects.size(), kDefectsMax); ++i) {
    const Defect& defect = defects[i];
    console.line(fmt::format("{}:{}:{}: {} {}", name, defect.at.line, defect.at.column,
                             console.coloured("error:", Colour::kBad),
                             printable_line(defect.message)));
  }
  if (defects.size() > kDefectsMax) {
    console.line(fmt::format("{}: {}", name, counted(defects.size() - kDefectsMax, "more error")));
  }
}

std::string answer_text(const Puzzle& puzzle, std::string_view answer) {
  std::string text;
  puzzle.format_answer(answer, text);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace puzzled::client
