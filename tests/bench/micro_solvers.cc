// Google Benchmark: each puzzle's default solver on what its generator makes, and its text reader.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "workers/puzzles/registry.h"

namespace puzzled {
namespace {

std::vector<std::string> instances_of(const Puzzle& puzzle) {
  Rng rng(1);
  std::vector<std::string> instances;
  for (int i = 0; i < 256; ++i) instances.push_back(puzzle.generate(rng, 100));
  return instances;
}

void solve(benchmark::State& state, const Puzzle* puzzle) {
  const std::vector<std::string> instances = instances_of(*puzzle);
  std::string answer;
  std::size_t at = 0;
  for (auto step : state) {
    static_cast<void>(step);
    puzzle->solvers.front().solve(instances[at++ % instances.size()], answer);
    benchmark::DoNotOptimize(answer);
  }
  state.SetItemsProcessed(state.iterations());
}

void read(benchmark::State& state, const Puzzle* puzzle) {
  Rng rng(2);
  const std::string text = puzzle->format_instances({puzzle->generate(rng, 100)});
  ParsedCase parsed;
  for (auto step : state) {
    static_cast<void>(step);
    const auto reader = puzzle->read_instances(text);
    while (reader->next(parsed)) benchmark::DoNotOptimize(parsed);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

const bool registered = [] {
  for (const Puzzle* puzzle : all_puzzles()) {
    const std::string name(puzzle->name);
    benchmark::RegisterBenchmark(("solve/" + name).c_str(), solve, puzzle);
    benchmark::RegisterBenchmark(("read/" + name).c_str(), read, puzzle);
  }
  return true;
}();

}  // namespace
}  // namespace puzzled
