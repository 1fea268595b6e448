#include "tests/bench/workload.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "tests/bench/support.h"
#include "workers/puzzles/bishops/bishops.h"
#include "workers/puzzles/chinese_checkers/chinese_checkers.h"

namespace puzzled::bench {
namespace {

constexpr std::uint64_t kCasesPerFile = 2'000;

void append_board(Rng& rng, std::string& text) {
  using namespace chinese_checkers;
  std::array<std::pair<int, int>, kCells> cells;
  std::size_t made = 0;
  for (int row = 0; row < kRows; ++row) {
    for (int i = 0; i < kRowLengths[static_cast<std::size_t>(row)]; ++i) {
      cells[made++] = {row + 1, i + 1};
    }
  }
  const auto checkers = static_cast<std::size_t>(rng.uniform(1, kCells));
  fmt::format_to(std::back_inserter(text), "{}\n", checkers);
  for (std::size_t i = 0; i < checkers; ++i) {
    std::swap(
        cells[i],
        cells[static_cast<std::size_t>(rng.uniform(static_cast<std::int64_t>(i), kCells - 1))]);
    fmt::format_to(std::back_inserter(text), "{} {}\n", cells[i].first, cells[i].second);
  }
}

// Parses, solves and formats one file.
void grade(const Puzzle& puzzle, const Solver& solver, const std::string& text, std::string& out) {
  const auto reader = puzzle.read_instances(text);
  ParsedCase parsed;
  std::string answer;
  while (reader->next(parsed)) {
    solver.solve(parsed.instance, answer);
    puzzle.format_answer(answer, out);
  }
  if (!reader->defects().empty()) give_up("the workload is not valid");
}

}  // namespace

Workload boards(std::uint64_t count) {
  Rng rng(20221204);
  Workload workload{&chinese_checkers::puzzle(), count, {}};
  for (std::uint64_t made = 0; made < count;) {
    const std::uint64_t end = std::min(made + kCasesPerFile, count);
    std::string text = fmt::format("{}\n", end - made);
    for (; made < end; ++made) append_board(rng, text);
    workload.files.push_back(std::move(text));
  }
  return workload;
}

Workload bishops_queries(std::uint64_t count) {
  Rng rng(861);
  Workload workload{&bishops::puzzle(), count, {}};
  for (std::uint64_t made = 0; made < count;) {
    const std::uint64_t end = std::min(made + kCasesPerFile, count);
    std::string text;
    for (; made < end; ++made) {
      const std::int64_t n = rng.uniform(1, 8);
      fmt::format_to(std::back_inserter(text), "{} {}\n", n, rng.uniform(0, n * n));
    }
    workload.files.push_back(text + "0 0\n");
  }
  return workload;
}

std::string joined(const Workload& workload) {
  std::string text;
  if (workload.puzzle == &chinese_checkers::puzzle()) {
    text = fmt::format("{}\n", workload.cases);
    for (const std::string& file : workload.files) text += file.substr(file.find('\n') + 1);
    return text;
  }
  constexpr std::string_view kEnd = "0 0\n";
  for (const std::string& file : workload.files) text += file.substr(0, file.size() - kEnd.size());
  return text.append(kEnd);
}

LoopTimes run_in_process(const Workload& workload, const Solver& solver, int threads) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  LoopTimes times;
  std::uint64_t bytes = 0;
  const double start = wall_s();
  const auto work = [&] {
    const double before = thread_cpu_s();
    std::string out;
    for (std::size_t i = next++; i < workload.files.size(); i = next++) {
      grade(*workload.puzzle, solver, workload.files[i], out);
    }
    const std::lock_guard lock(mutex);
    times.cpu_s += thread_cpu_s() - before;
    bytes += out.size();
  };
  std::vector<std::jthread> pool;
  for (int i = 0; i < threads; ++i) pool.emplace_back(work);
  pool.clear();
  times.wall_s = wall_s() - start;
  if (bytes < 2 * workload.cases) give_up("answers are missing");
  return times;
}

double solver_cpu_s(const Workload& workload, const Solver& solver) {
  std::vector<std::string> instances;
  std::string answer;
  double sum = 0;
  for (const std::string& file : workload.files) {
    instances.clear();
    const auto reader = workload.puzzle->read_instances(file);
    for (ParsedCase parsed; reader->next(parsed);) instances.push_back(parsed.instance);
    const double start = thread_cpu_s();
    for (const std::string& instance : instances) solver.solve(instance, answer);
    sum += thread_cpu_s() - start;
  }
  return sum;
}

}  // namespace puzzled::bench
