// 64 workers of one slot each: over encrypted TCP, beside the same over the ipc socket.
#include <fmt/format.h>

#include <memory>
#include <thread>

#include "client/calls.h"
#include "tests/bench/daemon.h"
#include "tests/bench/secure.h"
#include "tests/bench/support.h"
#include "tests/bench/workload.h"

namespace puzzled::bench {
namespace {

constexpr int kWorkers = 64;
constexpr double kComeS = 120;  // they are 128 processes

struct Times {
  double wall_s = 0;
  double cpu_s = 0;  // of the daemon, and of workers with their solver processes
};

class Workers {
 public:
  Workers(const Folder& folder, Daemon& daemon, const std::vector<std::string>& options) {
    testing::Process::Options run;
    run.environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", folder.path("home")}};
    run.output_folder = folder.path("output");
    std::vector<std::string> command = {worker_program(), "--slots", "1", "--log-level", "warn"};
    command.insert(command.end(), options.begin(), options.end());
    for (int i = 0; i < kWorkers; ++i) {
      all_.push_back(std::make_unique<testing::Process>(command, run));
    }
    const double start = wall_s();
    while (client::list_workers(daemon.connection(), 0).workers_size() < kWorkers) {
      if (wall_s() - start > kComeS) give_up("the workers do not come: " + all_.front()->err());
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  [[nodiscard]] double cpu_s() const {
    double sum = 0;
    for (const auto& worker : all_) sum += tree_cpu_s(worker->pid());
    return sum;
  }

 private:
  std::vector<std::unique_ptr<testing::Process>> all_;
};

Times grade(const Workload& workload, bool encrypted) {
  const Folder folder;
  testing::write_file(folder.path("set.in"), joined(workload));
  std::unique_ptr<SecureEndpoint> secure;
  std::vector<std::string> daemon_options;
  std::vector<std::string> worker_options = {"--endpoint",
                                             "ipc://" + folder.path("w.sock").string()};
  if (encrypted) {
    secure = std::make_unique<SecureEndpoint>(folder);
    daemon_options = secure->daemon_options();
    worker_options = secure->worker_options();
  } else {
    daemon_options = {"--worker-endpoint", worker_options.back()};
  }
  Daemon daemon(folder, 0, daemon_options);
  const Workers workers(folder, daemon, worker_options);
  const double cpu = tree_cpu_s(daemon.pid()) + workers.cpu_s();
  const double start = wall_s();
  const std::string job =
      daemon.ctl({"submit", std::string(workload.puzzle->name), folder.path("set.in"), "--wait"});
  Times times{wall_s() - start, tree_cpu_s(daemon.pid()) + workers.cpu_s() - cpu};
  if (daemon.status(std::stoull(job)).done_count() != workload.cases) give_up("cases are missing");
  return times;
}

int run(const Options& options) {
  const int repetitions = options.quick ? 1 : 3;
  const Workload workload = bishops_queries(options.scaled(1'000'000));
  Report report(options,
                fmt::format("{} workers ({} repetitions, medians)", kWorkers, repetitions));
  std::vector<double> rates, plain_rates, ratios, cpu_ratios;
  const auto rate = [&](double seconds) { return static_cast<double>(workload.cases) / seconds; };
  Times before = grade(workload, false);
  for (int i = 0; i < repetitions; ++i) {
    const Times curve = grade(workload, true);
    const Times after = grade(workload, false);
    const double plain_wall = (before.wall_s + after.wall_s) / 2;
    rates.push_back(rate(curve.wall_s));
    plain_rates.push_back(rate(plain_wall));
    ratios.push_back(plain_wall / curve.wall_s);
    cpu_ratios.push_back((before.cpu_s + after.cpu_s) / 2 / curve.cpu_s);
    before = after;
  }
  report.add("", fmt::format("W2, {} cases, workers over ipc", workload.cases), median(plain_rates),
             "cases/s");
  report.add("", "the same over TCP with CURVE", median(rates), "cases/s");
  report.add("curve_ratio", "TCP with CURVE against ipc", median(ratios), "×",
             Report::Target{Report::Better::kHigher, 0.8});
  report.add("", "the same by CPU time of daemon and workers", median(cpu_ratios), "×");
  return 0;
}

}  // namespace
}  // namespace puzzled::bench

int main(int argc, char** argv) {
  return puzzled::bench::run(
      puzzled::bench::parse_options(argc, argv, "Many workers over encrypted TCP and over ipc"));
}
