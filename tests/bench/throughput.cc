// End to end: W1 and W2 submitted from a file by puzzlectl, graded by a daemon with two workers,
// all results on disk; beside bare SQLite inserts and an in-process loop.
#include <fmt/format.h>

#include <algorithm>

#include "tests/bench/bare_sqlite.h"
#include "tests/bench/bench_registry.h"
#include "tests/bench/daemon.h"
#include "tests/bench/support.h"
#include "tests/bench/workload.h"
#include "workers/puzzles/registry.h"

namespace puzzled::bench {
namespace {

constexpr int kWorkers = 2;
constexpr auto kHigher = Report::Better::kHigher;
constexpr auto kLower = Report::Better::kLower;

struct Times {
  double wall_s = 0;
  double cpu_s = 0;  // client, daemon, workers and their solver processes
};

// One job from a file, from the start of puzzlectl until it says that all is on disk.
Times grade(const Folder& folder, const Workload& workload, const Solver& solver) {
  Daemon daemon(folder, kWorkers);
  const double cpu = tree_cpu_s(daemon.pid());
  const double client_cpu = waited_children_cpu_s();
  const double start = wall_s();
  const std::string job =
      daemon.ctl({"submit", std::string(workload.puzzle->name), folder.path("set.in"), "--solver",
                  std::string(solver.name), "--wait"});
  Times times{wall_s() - start, 0};
  times.cpu_s = tree_cpu_s(daemon.pid()) - cpu + waited_children_cpu_s() - client_cpu;
  if (daemon.status(std::stoull(job)).done_count() != workload.cases) give_up("cases are missing");
  return times;
}

Times grade_anew(const Workload& workload, const Solver& solver) {
  const Folder folder;
  testing::write_file(folder.path("set.in"), joined(workload));
  return grade(folder, workload, solver);
}

double overhead_us(const Workload& workload, const Times& times, double solver_cpu) {
  return (times.cpu_s - solver_cpu) / static_cast<double>(workload.cases) * 1e6;
}

double measure_w2(const Options& options, int repetitions, Report& report) {
  const Workload workload = bishops_queries(options.scaled(2'000'000));
  const Solver& solver = workload.puzzle->solvers.front();
  const double solver_cpu = solver_cpu_s(workload, solver);
  const auto cases = static_cast<double>(workload.cases);
  std::vector<double> rates;
  std::vector<double> ratios;
  std::vector<double> bare_rates;
  std::vector<double> cpu_ratios;
  std::vector<double> overheads;
  const Folder folder;
  const auto bare = [&] {
    return BareSqlite(folder.path("bare.db")).insert(workload.cases, 1'000);
  };
  BareSqlite::Times before = bare();
  for (int i = 0; i < repetitions; ++i) {
    const Times times = grade_anew(workload, solver);
    const BareSqlite::Times after = bare();
    rates.push_back(cases / times.wall_s);
    bare_rates.push_back(2 * cases / (before.wall_s + after.wall_s));
    ratios.push_back(rates.back() / bare_rates.back());
    cpu_ratios.push_back((before.cpu_s + after.cpu_s) / 2 / times.cpu_s);
    overheads.push_back(overhead_us(workload, times, solver_cpu));
    before = after;
  }
  report.add("w2_rate", fmt::format("W2, {} bishops queries with n ≤ 8", workload.cases),
             median(rates), "cases/s");
  report.add("", "bare SQLite, the same rows, 1,000 a transaction, FULL", median(bare_rates),
             "rows/s");
  report.add("w2_vs_sqlite", "W2 against bare SQLite", median(ratios), "×",
             Report::Target{kHigher, 0.8});
  report.add("", "the same by CPU time of all processes", median(cpu_ratios), "×");
  report.add("", "our CPU time a case, W2", median(overheads), "µs", Report::Target{kLower, 4.4});
  return median(overheads);
}

struct W1 {
  double ratio = 0;
  double cpu_ratio = 0;
  double rate = 0;
  double overhead_us = 0;
};

W1 measure_w1(const Workload& workload, const Solver& solver, int repetitions) {
  const double solver_cpu = solver_cpu_s(workload, solver);
  std::vector<W1> all;
  LoopTimes before = run_in_process(workload, solver, kWorkers);
  for (int i = 0; i < repetitions; ++i) {
    const Times times = grade_anew(workload, solver);
    const LoopTimes after = run_in_process(workload, solver, kWorkers);
    all.push_back({.ratio = (before.wall_s + after.wall_s) / 2 / times.wall_s,
                   .cpu_ratio = (before.cpu_s + after.cpu_s) / 2 / times.cpu_s,
                   .rate = static_cast<double>(workload.cases) / times.wall_s,
                   .overhead_us = overhead_us(workload, times, solver_cpu)});
    before = after;
  }
  const auto middle = [&](double W1::*member) {
    std::vector<double> values;
    for (const W1& one : all) values.push_back(one.*member);
    return median(values);
  };
  return {middle(&W1::ratio), middle(&W1::cpu_ratio), middle(&W1::rate), middle(&W1::overhead_us)};
}

double report_w1(const Options& options, int repetitions, Report& report) {
  const Workload workload = boards(options.scaled(400'000));
  const W1 fast = measure_w1(workload, workload.puzzle->solvers.front(), repetitions);
  report.add("", fmt::format("W1, {} chinese-checkers boards", workload.cases), fast.rate,
             "cases/s");
  report.add("w1_ratio", "W1 against two threads in one process", fast.ratio, "×",
             Report::Target{kHigher, 0.55});
  report.add("", "the same by CPU time of all processes", fast.cpu_ratio, "×");
  report.add("", "our CPU time a case, W1", fast.overhead_us, "µs", Report::Target{kLower, 4.4});

  const Workload few = boards(options.scaled(200'000));
  const Solver* slow = find_solver(*find_puzzle("chinese-checkers"), kSlowSolver);
  if (slow == nullptr) give_up("the slow solver is missing");
  const W1 slowly = measure_w1(few, *slow, repetitions);
  report.add("w1_slow_ratio",
             fmt::format("W1 with a solver {} times as slow, {} boards", kSlowdown, few.cases),
             slowly.ratio, "×", Report::Target{kHigher, 0.92});
  report.add("", "the same by CPU time of all processes", slowly.cpu_ratio, "×");
  return fast.overhead_us;
}

int run(const Options& options) {
  const int repetitions = options.quick ? 1 : 3;
  Report report(options, fmt::format("Throughput ({} workers, {} repetitions, medians)", kWorkers,
                                     repetitions));
  const double w2 = measure_w2(options, repetitions, report);
  const double w1 = report_w1(options, repetitions, report);
  report.add("overhead_us", "our CPU time a case beside the solver's, the worse of W1 and W2",
             std::max(w1, w2), "µs", Report::Target{kLower, 4.4});
  return 0;
}

}  // namespace
}  // namespace puzzled::bench

int main(int argc, char** argv) {
  return puzzled::bench::run(
      puzzled::bench::parse_options(argc, argv, "Two workloads through a daemon with two workers"));
}
