// Ten million open cases: start of the daemon, its memory, and how fast they are graded.
#include <fmt/format.h>

#include <thread>

#include "tests/bench/daemon.h"
#include "tests/bench/filler.h"
#include "tests/bench/support.h"

namespace puzzled::bench {
namespace {

constexpr auto kLower = Report::Better::kLower;
constexpr auto kHigher = Report::Better::kHigher;

struct Backlog {
  double first_dispatch_s = 0;
  double cases_per_s = 0;
  double rss_mib = 0;
};

// Starts a daemon on a store with open cases and watches it for `watch_s` or until all is done.
Backlog run_backlog(std::uint64_t jobs, std::uint64_t cases, double watch_s) {
  const Folder folder;
  {
    Filler filler(folder);
    for (std::uint64_t job = 1; job <= jobs; ++job) filler.add_job({job}, cases, false);
  }
  Backlog backlog;
  const double start = wall_s();
  Daemon daemon(folder, 2);
  const auto done = [&] {
    std::uint64_t sum = 0;
    for (std::uint64_t job = 1; job <= jobs; ++job) {
      const proto::JobStatus status = daemon.status(job);
      sum += status.done_count() + status.leased_count();
    }
    return sum;
  };
  while (done() == 0) {
    if (wall_s() - start > 60) give_up("nothing is dispatched");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  backlog.first_dispatch_s = wall_s() - start;
  std::uint64_t at = done();
  double time = wall_s();
  const std::uint64_t first = at;
  const double first_time = time;
  while (time - first_time < watch_s && at < jobs * cases) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    at = done();
    time = wall_s();
  }
  backlog.cases_per_s = static_cast<double>(at - first) / (time - first_time);
  backlog.rss_mib = static_cast<double>(daemon.peak_rss_bytes()) / (1U << 20U);
  return backlog;
}

void bench_backlog(const Options& options, Report& report) {
  const std::uint64_t cases = options.scaled(10'000'000);
  const Backlog large = run_backlog(1, cases, options.quick ? 1 : 8);
  const std::string what = fmt::format("backlog of {} cases: ", cases);
  report.add("restart_s", what + "start of the daemon until the first dispatch",
             large.first_dispatch_s, "s", Report::Target{kLower, 2});
  report.add("backlog_rss_mib", what + "peak memory of the daemon", large.rss_mib, "MiB",
             Report::Target{kLower, 300});
  // One job of 10,000 would be over before it can be watched: its rate is that of a store which
  // has little beside it.
  const Backlog small = run_backlog(1, options.scaled(1'000'000), options.quick ? 1 : 8);
  report.add("", what + "cases graded", large.cases_per_s, "cases/s");
  report.add("", what + "rate against that of a tenth as many",
             large.cases_per_s / small.cases_per_s, "×", Report::Target{kHigher, 0.8});
}

int run(const Options& options) {
  Report report(options, "A backlog of ten million cases");
  bench_backlog(options, report);
  return 0;
}

}  // namespace
}  // namespace puzzled::bench

int main(int argc, char** argv) {
  return puzzled::bench::run(puzzled::bench::parse_options(argc, argv, "A large backlog"));
}
