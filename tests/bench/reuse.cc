// The same games graded twice: the second time every answer is known.
#include <fmt/format.h>

#include <string>

#include "tests/bench/bench_registry.h"
#include "tests/bench/daemon.h"
#include "tests/bench/support.h"
#include "workers/puzzles/rng.h"

namespace puzzled::bench {
namespace {

constexpr int kWorkers = 2;
constexpr int kCells = 20;
constexpr std::uint64_t kValueMax = 1'000'000;

std::string games(std::uint64_t count) {
  Rng rng(1);
  std::string text = fmt::format("{}\n", count);
  for (std::uint64_t i = 0; i < count; ++i) {
    text += fmt::format("{}\n", kCells);
    for (int cell = 2; cell < kCells; ++cell) {
      text += fmt::format("{}{}", rng.next() % (kValueMax + 1), cell + 1 < kCells ? ' ' : '\n');
    }
  }
  return text;
}

struct Graded {
  double rate = 0;    // cases a second
  double cpu_us = 0;  // of all processes, a case
  std::uint64_t cached = 0;
};

Graded grade(Daemon& daemon, const std::string& file, std::uint64_t cases) {
  const double cpu = tree_cpu_s(daemon.pid());
  const double client_cpu = waited_children_cpu_s();
  const double start = wall_s();
  const std::string job = daemon.ctl({"submit", "duel", file, "--solver", kSlowSolver, "--wait"});
  const double took_s = wall_s() - start;
  const double used_s = tree_cpu_s(daemon.pid()) - cpu + waited_children_cpu_s() - client_cpu;
  const proto::JobStatus status = daemon.status(std::stoull(job));
  if (status.done_count() != cases) give_up("cases are missing");
  const auto count = static_cast<double>(cases);
  return {.rate = count / took_s, .cpu_us = used_s / count * 1e6, .cached = status.cached_count()};
}

int run(const Options& options) {
  const std::uint64_t cases = options.scaled(200'000);
  Report report(options, fmt::format("Reuse of answers ({} workers)", kWorkers));
  const Folder folder;
  const std::string file = folder.path("games.in").string();
  testing::write_file(file, games(cases));
  Daemon daemon(folder, kWorkers);
  const Graded first = grade(daemon, file, cases);
  const Graded second = grade(daemon, file, cases);
  if (first.cached > cases / 100 || second.cached < cases / 100 * 99) {
    give_up(fmt::format("{} and {} of {} answers were known", first.cached, second.cached, cases));
  }
  report.add(
      "",
      fmt::format("{} duel games of {} cells, solved {} times over", cases, kCells, kDuelSlowdown),
      first.rate, "cases/s");
  report.add("", "CPU time of all processes a case", first.cpu_us, "µs");
  report.add("regrade_rate", fmt::format("the same again, {} of them known", second.cached),
             second.rate, "cases/s");
  report.add("", "CPU time of all processes a case", second.cpu_us, "µs");
  report.add("regrade_x", "the second time against the first", second.rate / first.rate, "×");
  return 0;
}

}  // namespace
}  // namespace puzzled::bench

int main(int argc, char** argv) {
  return puzzled::bench::run(
      puzzled::bench::parse_options(argc, argv, "Games whose answers are known, graded again"));
}
