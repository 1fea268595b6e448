// The solvers against the published programs, and by themselves. CPU time of one thread, the best
// of several rounds, ours and theirs in turn.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <thread>

#include "tests/bench/published.h"
#include "tests/bench/support.h"
#include "workers/puzzles/bishops/bishops.h"
#include "workers/puzzles/chinese_checkers/chinese_checkers.h"
#include "workers/puzzles/draughts/draughts.h"
#include "workers/puzzles/duel/duel.h"
#include "workers/puzzles/shuttle/shuttle.h"

namespace puzzled::bench {
namespace {

constexpr auto kHigher = Report::Better::kHigher;
constexpr auto kLower = Report::Better::kLower;

double cpu_of(const std::function<void()>& work) {
  const double start = thread_cpu_s();
  work();
  return thread_cpu_s() - start;
}

struct Pair {
  double ours_s = 1e9;
  double theirs_s = 1e9;
};
// The best of `rounds` of each, in turn; without `theirs` only ours.
Pair best(int rounds, const std::function<double()>& ours, const std::function<double()>& theirs) {
  Pair pair;
  for (int i = 0; i < rounds; ++i) {
    pair.ours_s = std::min(pair.ours_s, ours());
    if (theirs) pair.theirs_s = std::min(pair.theirs_s, theirs());
  }
  return pair;
}

std::optional<double> ratio_of(const std::vector<double>& ratios) {
  if (ratios.empty()) return std::nullopt;
  return geometric_mean(ratios);
}

void bench_checkers(const Options& options, Report& report) {
  using namespace chinese_checkers;
  const auto published = Published::load(options.published, "chinese-checkers");
  Rng rng(1);
  std::vector<double> ratios;
  std::vector<double> ours_us;
  for (const int n : {10, 30, 60, 90, 121}) {
    std::vector<Instance> instances(options.scaled(500));
    std::vector<std::vector<unsigned char>> boards;
    for (Instance& instance : instances) {
      while (instance.size() < n) instance.add(static_cast<int>(rng.uniform(0, kCells - 1)));
      auto& board = boards.emplace_back(kCells);
      for (int cell = 0; cell < kCells; ++cell) board[cell] = instance.contains(cell) ? 1 : 0;
    }
    long ours = 0;
    long theirs = 0;
    const auto solve = [&] {
      return cpu_of([&] {
        ours = 0;
        for (const Instance& instance : instances) ours += solve_bitboard(instance).moves;
      });
    };
    const auto solve_published = [&] {
      return cpu_of([&] {
        theirs = 0;
        for (const auto& board : boards) theirs += published->solve(board);
      });
    };
    const Pair pair = best(5, solve, published ? solve_published : std::function<double()>());
    ours_us.push_back(pair.ours_s / static_cast<double>(instances.size()) * 1e6);
    if (!published) continue;
    if (ours != theirs) give_up("the published chinese-checkers program counts otherwise");
    ratios.push_back(pair.theirs_s / pair.ours_s);
  }
  const std::string without_full =
      ratios.empty() ? ""
                     : fmt::format("{:.1f} × without the full board; ",
                                   geometric_mean({ratios.begin(), ratios.end() - 1}));
  report.add(
      "cc_x", "chinese-checkers against the published search, n = 10, 30, 60, 90, 121",
      ratio_of(ratios), "×", Report::Target{kHigher, 6},
      without_full + fmt::format("ours {:.1f} {:.1f} {:.1f} {:.1f} {:.2f} µs a board", ours_us[0],
                                 ours_us[1], ours_us[2], ours_us[3], ours_us[4]));
}

// Text in, text out.
std::string solve_text(const Puzzle& puzzle, const std::string& text) {
  const auto reader = puzzle.read_instances(text);
  std::string answer;
  std::string out;
  for (ParsedCase parsed; reader->next(parsed);) {
    puzzle.solvers.front().solve(parsed.instance, answer);
    puzzle.format_answer(answer, out);
  }
  return out;
}

// The whole programs, text in, text out.
Pair compare_texts(const Puzzle& puzzle, const Published* published, const std::string& input,
                   int rounds) {
  std::string ours;
  std::string theirs;
  const auto solve = [&] { return cpu_of([&] { ours = solve_text(puzzle, input); }); };
  const auto solve_published = [&] {
    double cpu_s = 0;
    theirs = published->run(input, cpu_s);
    return cpu_s;
  };
  const Pair pair = best(rounds, solve, published ? solve_published : std::function<double()>());
  if (published && ours != theirs) {
    give_up(fmt::format("the published {} program says something else", puzzle.name));
  }
  return pair;
}

// What it takes to read that many numbers as a contest program does.
double read_s(const std::string& text) {
  std::istringstream in(text);
  return cpu_of([&] {
    for (std::int64_t number = 0; in >> number;) {
    }
  });
}

void bench_duel(const Options& options, Report& report) {
  constexpr int kCells = 100'000;
  const auto published = Published::load(options.published, "duel");
  Rng rng(2);
  std::vector<std::uint64_t> values(kCells - 2);
  std::string text = fmt::format("1\n{}\n", kCells);
  for (std::uint64_t& value : values) {
    value = static_cast<std::uint64_t>(rng.uniform(1, 1'000'000'000));
    text += fmt::format("{} ", value);
  }
  const Pair whole = compare_texts(duel::puzzle(), published.get(), text + "\n", 3);
  const Pair solver = best(
      9, [&] { return cpu_of([&] { duel::solve_sweep({values}); }); },
      [&] { return read_s(text); });
  report.add("", "duel, the solver alone, n = 100,000", solver.ours_s / kCells * 1e9, "ns a cell",
             Report::Target{kLower, 100});
  const bool known = published != nullptr;
  report.add(
      "duel_x", "duel against the published program, n = 100,000",
      known ? std::optional((whole.theirs_s - solver.theirs_s) / solver.ours_s) : std::nullopt, "×",
      Report::Target{kHigher, 45}, "its reading taken off");
  report.add("", "the same, whole programs",
             known ? std::optional(whole.theirs_s / whole.ours_s) : std::nullopt, "×");
}

void bench_shuttle(const Options& options, Report& report) {
  constexpr int kRepeats = 1'000;  // one is over before a clock can tell
  const auto published = Published::load(options.published, "shuttle");
  const Pair whole = compare_texts(shuttle::puzzle(), published.get(), "12\n", 9);
  std::string instance;
  std::string answer;
  shuttle::encode_instance({12}, instance);
  const auto solve = [&] {
    return cpu_of([&] {
             for (int i = 0; i < kRepeats; ++i) shuttle::solve_direct(instance, answer);
           }) /
           kRepeats;
  };
  const Pair solver = best(9, solve, nullptr);
  report.add("shuttle_x", "shuttle against the published search, N = 12",
             published ? std::optional(whole.theirs_s / solver.ours_s) : std::nullopt, "×",
             Report::Target{kHigher, 5'000}, fmt::format("ours {:.2f} µs", solver.ours_s * 1e6));
  const Pair thousand = compare_texts(shuttle::puzzle(), nullptr, "1000\n", 9);
  report.add("", "shuttle, N = 1000, a million numbers of text", thousand.ours_s * 1e3, "ms",
             Report::Target{kLower, 20});
}

void bench_draughts(const Options& options, Report& report) {
  using namespace draughts;
  const auto published = Published::load(options.published, "draughts");
  struct Mix {
    int own;  // percent of the squares
    int enemy;
    int kings;  // percent of the pieces
  };
  Rng rng(3);
  std::vector<double> ratios;
  std::vector<double> ours_us;
  for (const Mix& mix : {Mix{20, 20, 10}, Mix{30, 30, 10}, Mix{10, 10, 30}, Mix{15, 30, 20}}) {
    std::vector<Instance> instances(options.scaled(2'000));
    std::vector<std::vector<unsigned char>> boards;
    for (Instance& instance : instances) {
      auto& board = boards.emplace_back(kSquares);
      for (int i = 0; i < kSquares; ++i) {
        const std::int64_t draw = rng.uniform(0, 99);
        if ((i / kSide + i) % 2 == 0 || draw >= mix.own + mix.enemy) continue;
        const bool king = rng.chance(mix.kings, 100);
        board[i] = static_cast<unsigned char>((draw < mix.own ? 1 : 2) + (king ? 2 : 0));
        instance.squares[i] = static_cast<Piece>(board[i]);
      }
    }
    Answer answer;
    long counted = 0;  // not compared: the program counts wrongly
    const auto solve = [&] {
      return cpu_of([&] {
        for (const Instance& instance : instances) solve_rays(instance, answer);
      });
    };
    const auto solve_published = [&] {
      return cpu_of([&] {
        for (const auto& board : boards) counted += published->solve(board);
      });
    };
    const Pair pair = best(5, solve, published ? solve_published : std::function<double()>());
    ours_us.push_back(pair.ours_s / static_cast<double>(instances.size()) * 1e6);
    if (published) ratios.push_back(pair.theirs_s / pair.ours_s);
  }
  report.add("draughts_x", "draughts against the published program, random boards of four mixes",
             ratio_of(ratios), "×", Report::Target{kHigher, 1.5},
             fmt::format("ours {:.2f} {:.2f} {:.2f} {:.2f} µs a board", ours_us[0], ours_us[1],
                         ours_us[2], ours_us[3]));
}

// The tables are kept for each thread: a new one starts from nothing.
double in_new_thread(const std::function<double()>& work) {
  double result = 0;
  std::jthread([&] { result = work(); }).join();
  return result;
}

void bench_bishops(Report& report) {
  const auto query = [](std::uint32_t n, std::uint32_t k) {
    std::string instance;
    bishops::encode_instance({n, k}, instance);
    return instance;
  };
  const Puzzle& puzzle = bishops::puzzle();
  const auto solve_all = [&](std::uint32_t n, std::uint32_t first, std::uint32_t last) {
    return in_new_thread([&] {
      std::string answer;
      return cpu_of([&] {
        for (std::uint32_t k = first; k <= last; ++k) {
          puzzle.solvers.front().solve(query(n, k), answer);
        }
      });
    });
  };
  const Pair one = best(
      9, [&] { return solve_all(100, 100, 100); }, nullptr);
  report.add("bishops_ms", "bishops, n = 100, k = 100, nothing known before", one.ours_s * 1e3,
             "ms", Report::Target{kLower, 0.3});
  const Pair all = best(
      5, [&] { return solve_all(500, 0, 998); }, nullptr);
  report.add("", "bishops, all k of n = 500", all.ours_s * 1e3, "ms", Report::Target{kLower, 50});
}

int run(const Options& options) {
  Report report(options, "Solvers (CPU time of one thread, best of several rounds)");
  bench_checkers(options, report);
  bench_duel(options, report);
  bench_shuttle(options, report);
  bench_draughts(options, report);
  bench_bishops(report);
  return 0;
}

}  // namespace
}  // namespace puzzled::bench

int main(int argc, char** argv) {
  return puzzled::bench::run(
      puzzled::bench::parse_options(argc, argv, "The solvers, and the published programs"));
}
