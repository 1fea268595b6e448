// What the broker itself costs: many workers against few, a large backlog against a small one.
#include <fmt/format.h>

#include "tests/bench/fleet.h"
#include "tests/bench/support.h"

namespace puzzled::bench {
namespace {

constexpr auto kHigher = Report::Better::kHigher;
constexpr auto kLower = Report::Better::kLower;
constexpr std::uint64_t kMillion = 1'000'000;

struct Costs {
  double us_per_case = 0;
  double events_per_s = 0;
};

// With several `kinds` there is a job for each kind of worker: as many sets of requirements.
Costs measure(std::uint32_t workers, std::uint64_t backlog, std::uint64_t cases,
              bool varied = false, std::uint32_t kinds = 1) {
  Fleet fleet(workers, kinds);
  if (varied) fleet.vary();
  for (std::uint32_t kind = 0; kind < kinds; ++kind) {
    fleet.add_job(backlog / kinds, kinds > 1 ? std::optional(kind) : std::nullopt);
  }
  fleet.run(std::uint64_t{workers} * 40 + 4'000);  // until the costs are learned
  const std::uint64_t events = fleet.events();
  const std::uint64_t done = fleet.done();
  const double took_s = fleet.run(cases);
  return {took_s / static_cast<double>(fleet.done() - done) * 1e6,
          static_cast<double>(fleet.events() - events) / took_s};
}

// Medians of what is measured in turn.
std::pair<Costs, Costs> compare(int repetitions, auto first, auto second) {
  std::vector<double> us[2];
  std::vector<double> events[2];
  for (int i = 0; i < repetitions; ++i) {
    const Costs costs[2] = {first(), second()};
    for (int k = 0; k < 2; ++k) {
      us[k].push_back(costs[k].us_per_case);
      events[k].push_back(costs[k].events_per_s);
    }
  }
  return {{median(us[0]), median(events[0])}, {median(us[1]), median(events[1])}};
}

int run(const Options& options) {
  Report report(options, "The broker alone, simulated workers, the time of its steps");
  const int repetitions = options.quick ? 1 : 5;
  const std::uint64_t cases = options.scaled(kMillion);
  const auto [few, many] = compare(
      repetitions, [&] { return measure(10, 2 * kMillion, cases); },
      [&] { return measure(10'000, 2 * kMillion, cases); });
  report.add("", "10 workers", few.events_per_s, "events/s");
  report.add("", "10,000 workers", many.events_per_s, "events/s");
  report.add("fleet_cpu_x", "a case with 10,000 workers against 10",
             many.us_per_case / few.us_per_case, "×", Report::Target{kLower, 1.5},
             fmt::format("{:.2f} and {:.2f} µs, four cases a dispatch", many.us_per_case,
                         few.us_per_case));
  const auto [few_varied, many_varied] = compare(
      repetitions, [&] { return measure(10, 2 * kMillion, cases, true); },
      [&] { return measure(10'000, 2 * kMillion, cases, true); });
  report.add("", "the same, workers come back in any order",
             many_varied.us_per_case / few_varied.us_per_case, "×", std::nullopt,
             fmt::format("{:.2f} and {:.2f} µs", many_varied.us_per_case, few_varied.us_per_case));
  constexpr std::uint32_t kKinds = 100;
  const auto [same, mixed] = compare(
      repetitions, [&] { return measure(10'000, 2 * kMillion, cases); },
      [&] { return measure(10'000, 4 * kMillion, cases, false, kKinds); });
  report.add(
      "", fmt::format("a case with {} sets of requirements against none", kKinds),
      mixed.us_per_case / same.us_per_case, "×", std::nullopt,
      fmt::format("{:.2f} and {:.2f} µs, 10,000 workers", mixed.us_per_case, same.us_per_case));
  const std::uint64_t large = options.scaled(10 * kMillion);
  const auto [short_one, long_one] = compare(
      repetitions, [&] { return measure(10, 10'000, 4'000); },
      [&] { return measure(10, large, cases); });
  report.add("", fmt::format("dispatching from a backlog of {} against 10,000", large),
             short_one.us_per_case / long_one.us_per_case, "×", Report::Target{kHigher, 0.8});
  return 0;
}

}  // namespace
}  // namespace puzzled::bench

int main(int argc, char** argv) {
  return puzzled::bench::run(puzzled::bench::parse_options(argc, argv, "The broker alone"));
}
