// results: the cases of a job with their verdicts.
#include <fmt/format.h>

#include "client/calls.h"
#include "client/commands.h"
#include "client/failure.h"
#include "client/suggest.h"
#include "proto/base/units.h"
#include "workers/puzzles/registry.h"

namespace puzzled::client {
namespace {

// The contest's text for programs, one line for people. A puzzle this program does not know, or an
// answer it cannot read, has neither.
Value answer_value(const Puzzle* puzzle, const proto::ResultRow& row) {
  if (!row.has_answer() || puzzle == nullptr) return {};
  if (row.answer_left_out()) return {std::monostate{}, "(left out: too long)"};
  try {
    return {answer_text(*puzzle, row.answer()), puzzle->summarize(row.answer())};
  } catch (const InvalidWire& error) {
    return {std::monostate{}, fmt::format("(unreadable: {})", error.what())};
  }
}

std::string graded_by(const std::string& solver, const proto::ResultRow& row) {
  return row.solver_version().empty() ? solver : fmt::format("{}/{}", solver, row.solver_version());
}

Record result_record(const Puzzle* puzzle, const std::string& solver, const proto::ResultRow& row) {
  const Verdict verdict = verdict_of(row.verdict());
  return {{"case", {row.case_no()}},
          {"label", text_value(row.label())},
          {"verdict",
           {std::string(verdict_name(verdict)), std::string(verdict_short_name(verdict)),
            verdict_colour(verdict)}},
          {"time_us", {row.time_us(), approximate_duration_us(row.time_us())}},
          {"memory_bytes", {row.memory_bytes(), approximate_size(row.memory_bytes())}},
          {"attempt", {std::uint64_t{row.attempt()}}},
          {"worker", text_value(row.worker())},
          {"solver", {graded_by(solver, row)}},
          {"graded_at", time_value(row.graded_ms())},
          {"answer", answer_value(puzzle, row)},
          {"message", text_value(row.message())},
          {"generation", {std::uint64_t{row.generation()}}},
          {"cached", {row.cached(), row.cached() ? "yes" : ""}}};
}

}  // namespace

int run_results(const ResultsOptions& options, Context& context) {
  proto::ListResults query;
  query.set_job(options.job);
  query.set_after_case(options.after);
  query.set_label_glob(options.label_glob);
  query.set_with_answers(true);
  query.set_all_generations(options.all_generations);
  for (const std::string& names : options.verdicts) {
    for (const Verdict verdict : parse_verdicts(names)) {
      query.add_verdicts(static_cast<proto::Verdict>(verdict));
    }
  }
  const std::uint64_t limit = options.limit.value_or(0) == 0 ? UINT64_MAX : *options.limit;
  constexpr std::uint64_t kPage = 1000;
  query.set_limit(static_cast<std::uint32_t>(std::min(limit, kPage)));

  Connection connection(connection_options(context));
  const proto::JobStatus job = get_job(connection, options.job);
  const Puzzle* puzzle = find_puzzle(job.spec().puzzle());
  const auto writer =
      record_writer(context.global.output,
                    {{"case", "CASE", true},
                     {"label", "LABEL"},
                     {"verdict", "VERDICT"},
                     {"time_us", "TIME", true},
                     {"memory_bytes", "MEMORY", true},
                     {"attempt", ""},
                     {"worker", ""},
                     {"solver", job.versions_size() > 1 ? "SOLVER" : ""},
                     {"graded_at", ""},
                     {"answer", "ANSWER"},
                     {"message", "MESSAGE"},
                     {"generation", options.all_generations ? "GENERATION" : "", true},
                     {"cached", job.cached_count() > 0 ? "CACHED" : ""}},
                    context.console);
  ResultsCursor cursor(connection, query);
  for (std::uint64_t count = 0; count < limit; ++count) {
    const proto::ResultRow* row = cursor.next();
    if (row == nullptr) break;
    writer->write(result_record(puzzle, job.spec().solver(), *row));
  }
  writer->finish();
  return kExitOk;
}

}  // namespace puzzled::client
