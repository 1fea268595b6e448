// Google Benchmark: events that the broker handles in a second, by the number of workers.
#include <benchmark/benchmark.h>

#include "tests/bench/fleet.h"

namespace puzzled::bench {
namespace {

constexpr std::uint64_t kCases = 100'000;  // an iteration

void broker(benchmark::State& state) {
  Fleet fleet(static_cast<std::uint32_t>(state.range(0)));
  std::uint64_t open = 0;
  std::uint64_t events = 0;
  for (auto step : state) {
    static_cast<void>(step);
    if (open < 2 * kCases) {
      fleet.add_job(10 * kCases);
      open += 10 * kCases;
    }
    const std::uint64_t before = fleet.events();
    const std::uint64_t done = fleet.done();
    state.SetIterationTime(fleet.run(kCases));
    events += fleet.events() - before;
    open -= fleet.done() - done;
  }
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
  state.SetItemsProcessed(static_cast<std::int64_t>(fleet.done()));
}
BENCHMARK(broker)->Arg(10)->Arg(100)->Arg(1'000)->Arg(10'000)->UseManualTime();

}  // namespace
}  // namespace puzzled::bench
