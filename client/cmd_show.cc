// show: everything about one case.
#include <fmt/format.h>

#include "client/calls.h"
#include "client/commands.h"
#include "client/failure.h"
#include "proto/base/units.h"
#include "workers/puzzles/registry.h"

namespace puzzled::client {
namespace {

// Texts of the puzzle; what cannot be read says so instead of ending the command.
template <class Function>
std::string readable(const Puzzle* puzzle, Function function) {
  if (puzzle == nullptr) return "(this puzzlectl does not know the puzzle)";
  try {
    return function(*puzzle);
  } catch (const InvalidWire& error) {
    return fmt::format("(unreadable: {})", error.what());
  }
}

struct Texts {
  std::optional<std::string> instance;  // drawn
  std::optional<std::string> claimed;
  std::optional<std::string> right;
};

Texts texts_of(const Puzzle* puzzle, const proto::CaseDetail& detail) {
  Texts texts;
  const proto::Case& content = detail.content();
  const auto answer = [&](const std::string& bytes) {
    return readable(puzzle, [&](const Puzzle& p) { return answer_text(p, bytes); });
  };
  if (content.invalid().empty()) {
    texts.instance = readable(puzzle, [&](const Puzzle& p) { return p.draw(content.instance()); });
  }
  if (content.has_expected()) texts.claimed = answer(content.expected());
  if (detail.graded() && detail.result().has_answer()) {
    texts.right = answer(detail.result().answer());
  }
  return texts;
}

Value optional_text(const std::optional<std::string>& text) {
  if (!text) return {};
  return {*text};
}

// Results that were taken back, oldest first.
std::vector<Record> earlier_records(const proto::CaseDetail& detail) {
  std::vector<Record> records;
  for (const proto::ResultRow& row : detail.earlier()) {
    records.push_back({{"generation", {std::uint64_t{row.generation()}}},
                       {"verdict", {std::string(verdict_name(verdict_of(row.verdict())))}},
                       {"worker", text_value(row.worker())},
                       {"graded_at", time_value(row.graded_ms())},
                       {"message", text_value(row.message())}});
  }
  return records;
}

Record case_record(const proto::CaseDetail& detail, const Texts& texts) {
  const proto::ResultRow& row = detail.result();
  std::vector<Record> attempts;
  for (const proto::AttemptRow& attempt : detail.attempts()) {
    attempts.push_back({{"attempt", {std::uint64_t{attempt.attempt()}}},
                        {"ended_at", time_value(attempt.ended_ms())},
                        {"worker", text_value(attempt.worker())},
                        {"message", text_value(attempt.message())}});
  }
  const bool graded = detail.graded();
  Value verdict;
  if (graded || detail.cancelled()) {
    const Verdict value = graded ? verdict_of(row.verdict()) : Verdict::kCancelled;
    verdict = {std::string(verdict_name(value)),
               fmt::format("{} ({})", verdict_name(value), verdict_short_name(value)),
               verdict_colour(value)};
  } else {
    verdict = {std::monostate{}, "not graded yet"};
  }
  const auto if_graded = [graded](Value value) { return graded ? std::move(value) : Value{}; };
  const std::string solver = row.solver_version().empty()
                                 ? detail.solver()
                                 : fmt::format("{}/{}", detail.solver(), row.solver_version());
  const proto::Case& content = detail.content();
  return {{"job", {detail.job()}},
          {"case", {detail.case_no()}},
          {"label", text_value(detail.label())},
          {"puzzle", text_value(detail.puzzle())},
          {"solver", {solver}},
          {"verdict", verdict},
          {"time_us", if_graded({row.time_us(), approximate_duration_us(row.time_us())})},
          {"memory_bytes", if_graded({row.memory_bytes(), approximate_size(row.memory_bytes())})},
          {"attempt", if_graded({std::uint64_t{row.attempt()}})},
          {"worker", if_graded(text_value(row.worker()))},
          {"graded_at", time_value(row.graded_ms())},
          {"message", text_value(content.invalid().empty() ? row.message() : content.invalid())},
          {"instance", optional_text(texts.instance)},
          {"claimed", optional_text(texts.claimed)},
          {"claimed_error",
           content.has_expected_error() ? text_value(content.expected_error()) : Value{}},
          {"answer", optional_text(texts.right)},
          {"attempts", {std::move(attempts)}},
          {"generation", if_graded({std::uint64_t{row.generation()}})},
          {"earlier", {earlier_records(detail)}},
          {"cached", if_graded({row.cached(), row.cached() ? "yes, the answer was known" : ""})}};
}

void write_block(std::string_view heading, const std::string& text, Console& console) {
  console.out() << '\n' << console.coloured(heading, Colour::kDim) << '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    console.out() << "  " << printable_line(rest.substr(0, end)) << '\n';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void write_blocks(const proto::CaseDetail& detail, const Texts& texts, Console& console) {
  if (texts.instance) write_block("instance", *texts.instance, console);
  if (texts.claimed) write_block("claimed answer", *texts.claimed, console);
  if (detail.content().has_expected_error()) {
    write_block("claimed answer", "(unreadable: " + detail.content().expected_error() + ")",
                console);
  }
  if (texts.right) write_block("right answer", *texts.right, console);
  if (detail.earlier_size() > 0) {
    std::string earlier;
    for (const proto::ResultRow& row : detail.earlier()) {
      earlier += fmt::format("generation {}: {} by {} at {}\n", row.generation(),
                             verdict_name(verdict_of(row.verdict())), printable_line(row.worker()),
                             iso_time(row.graded_ms()));
    }
    write_block("results that were taken back", earlier, console);
  }
  if (detail.attempts_size() == 0) return;
  std::string history;
  for (const proto::AttemptRow& attempt : detail.attempts()) {
    history += fmt::format("attempt {} on {} until {}: {}\n", attempt.attempt(),
                           printable_line(attempt.worker()), iso_time(attempt.ended_ms()),
                           printable_line(attempt.message()));
  }
  write_block("attempts that failed", history, console);
}

}  // namespace

int run_show(const ShowOptions& options, Context& context) {
  Connection connection(connection_options(context));
  const proto::CaseDetail detail = get_case(connection, options.job, options.case_no);
  const Texts texts = texts_of(find_puzzle(detail.puzzle()), detail);
  const std::vector<Column> columns = {{"job", "job"},          {"case", "case"},
                                       {"label", "label"},      {"puzzle", "puzzle"},
                                       {"solver", "solver"},    {"verdict", "verdict"},
                                       {"time_us", "time"},     {"memory_bytes", "memory"},
                                       {"attempt", "attempt"},  {"worker", "worker"},
                                       {"graded_at", "graded"}, {"message", "message"},
                                       {"instance", ""},        {"claimed", ""},
                                       {"claimed_error", ""},   {"answer", ""},
                                       {"attempts", ""},        {"generation", ""},
                                       {"earlier", ""},         {"cached", "cached"}};
  write_single(context.global.output, columns, case_record(detail, texts), context.console);
  if (context.global.output == OutputFormat::kTable) write_blocks(detail, texts, context.console);
  return kExitOk;
}

}  // namespace puzzled::client
