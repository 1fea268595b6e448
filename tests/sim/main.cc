// puzzle-sim: the Broker and its Sessions under faults, one seed a run. Exit 0: all seeds are
// clean; 1: one is not (or: the mutation was caught); 2: wrong arguments.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>

#include "tests/sim/jobs.h"

namespace puzzled::sim {
namespace {

constexpr std::size_t kLinesOfFailure = 60;

struct Arguments {
  std::string seeds = "1..1000";
  std::uint64_t steps = 5'000;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::uint64_t seed = 0;
  std::size_t lines = 1'000'000;
  std::uint64_t failures = 1;
  std::string mutation;
  bool no_sweep = false;
  bool list_mutations = false;
};

std::optional<Range> parse_range(const std::string& text) {
  Range range;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%" SCNu64 "..%" SCNu64 "%c", &range.first, &range.last, &rest) !=
      2)
    return std::nullopt;
  if (range.first == 0 || range.last < range.first) return std::nullopt;
  return range;
}

int run(const Arguments& arguments) {
  Settings settings{
      .steps = arguments.steps, .mutation = Mutation::kNone, .sweeps = !arguments.no_sweep};
  if (!arguments.mutation.empty()) {
    const auto mutation = find_mutation(arguments.mutation);
    if (!mutation) {
      std::fprintf(stderr, "puzzle-sim: there is no mutation '%s': see --list-mutations\n",
                   arguments.mutation.c_str());
      return 2;
    }
    settings.mutation = *mutation;
  }
  if (arguments.seed > 0) return replay(arguments.seed, settings, arguments.lines);
  const auto seeds = parse_range(arguments.seeds);
  if (!seeds) {
    std::fprintf(stderr, "puzzle-sim: --seeds takes a range as 1..1000, not '%s'\n",
                 arguments.seeds.c_str());
    return 2;
  }
  const Totals totals = run_seeds(*seeds, settings, arguments.jobs, arguments.failures);
  if (!totals.failed.empty()) {
    replay_apart(totals.failed.front(), settings, kLinesOfFailure);
    std::printf("failed seeds:");
    for (const std::uint64_t seed : totals.failed) std::printf(" %" PRIu64, seed);
    std::printf(
        "\nagain, with all events: puzzle-sim --seed %" PRIu64 " --steps %" PRIu64 "%s%s%s\n",
        totals.failed.front(), arguments.steps, arguments.mutation.empty() ? "" : " --mutate ",
        arguments.mutation.c_str(), arguments.no_sweep ? " --no-sweep" : "");
  }
  std::printf("%" PRIu64 " seeds, %zu failed; %" PRIu64 " events, %" PRIu64 " cases, %" PRIu64
              " simulated hours, traces %016" PRIx64 "\n",
              totals.seeds, totals.failed.size(), totals.events, totals.cases,
              totals.simulated_ms / 3'600'000, totals.hash);
  return totals.failed.empty() ? 0 : 1;
}

}  // namespace
}  // namespace puzzled::sim

int main(int argc, char** argv) {
  using namespace puzzled::sim;
  Arguments arguments;
  CLI::App app("Runs the broker and its workers under faults that a seed decides.", "puzzle-sim");
  app.add_option("--seeds", arguments.seeds, "A..B, both included")->capture_default_str();
  app.add_option("--steps", arguments.steps, "Events of a run before the faults stop")
      ->capture_default_str();
  app.add_option("--jobs", arguments.jobs, "Processes that share the seeds")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--seed", arguments.seed, "Replays this one and prints its events");
  app.add_option("--lines", arguments.lines, "Events that --seed prints, the last ones");
  app.add_option("--failures", arguments.failures, "Stops after so many failed seeds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--mutate", arguments.mutation, "Breaks a rule on purpose: the exit code is 1");
  app.add_flag("--no-sweep", arguments.no_sweep, "The daemon's sweeper does nothing");
  app.add_flag("--list-mutations", arguments.list_mutations, "Lists them and what they break");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (arguments.list_mutations) {
    for (const MutationName& known : kMutations) {
      std::printf("%-20s %s\n", std::string(known.name).c_str(), std::string(known.rule).c_str());
    }
    return 0;
  }
  return run(arguments);
}
