// Several brokers that know nothing of each other, each with a store and workers of its own; a
// client picks one for each job, by the hash of its request id. How even is the load, what does it
// cost against one broker with all workers, and what is lost with one of them? A model, all from a
// seed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "proto/base/digest.h"
#include "tests/bench/support.h"

namespace puzzled::bench {
namespace {

constexpr double kWorkers = 1'000;     // of all brokers together
constexpr double kCaseS = 0.005;       // of a worker
constexpr double kHour = 3'600;        // in which jobs come
constexpr double kLoad = 0.7;          // of all workers' time
constexpr double kCasesMin = 100'000;  // of a job; sizes have a heavy tail
constexpr double kTail = 1.2;          // Pareto's exponent
constexpr double kCasesMax = 100e6;

struct Job {
  double at_s = 0;
  double work_s = 0;  // worker seconds
  std::uint64_t request_id = 0;
};

std::vector<Job> draw_jobs(std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<Job> jobs;
  double left_s = kLoad * kWorkers * kHour;
  while (left_s > 0) {
    const double cases = std::min(kCasesMax, kCasesMin * std::pow(1 - unit(random), -1 / kTail));
    jobs.push_back({unit(random) * kHour, cases * kCaseS, random()});
    left_s -= jobs.back().work_s;
  }
  std::ranges::sort(jobs, {}, &Job::at_s);
  return jobs;
}

// Rendezvous hashing: the broker with the highest weight of those that are up. When one goes, only
// its jobs go elsewhere, spread over all others.
std::size_t broker_of(std::uint64_t request_id, std::size_t brokers, std::size_t lost) {
  std::size_t best = brokers;
  std::uint64_t best_weight = 0;
  for (std::size_t b = 0; b < brokers; ++b) {
    if (b == lost) continue;
    std::uint64_t weight = wire::fold_digest(wire::fold_digest(wire::kEmptyDigest, b), request_id);
    weight = (weight ^ (weight >> 31U)) * 0x9e3779b97f4a7c15ULL;
    weight ^= weight >> 29U;
    if (best != brokers && weight <= best_weight) continue;
    best = b;
    best_weight = weight;
  }
  return best;
}

struct Outage {
  std::size_t broker = SIZE_MAX;
  double from_s = 0;
  double to_s = 0;
};

// One broker: its jobs share its workers evenly, as the ready queue does; no job can use more than
// there are. Writes how long each took.
void serve(const std::vector<Job>& jobs, const std::vector<std::size_t>& mine, double workers,
           const Outage* outage, std::vector<double>& took_s) {
  struct Open {
    std::size_t job;
    double left_s;
  };
  std::vector<Open> open;
  std::size_t next = 0;
  double now = 0;
  while (next < mine.size() || !open.empty()) {
    const bool down = outage != nullptr && now >= outage->from_s && now < outage->to_s;
    const double rate = open.empty() || down ? 0 : workers / static_cast<double>(open.size());
    double until = next < mine.size() ? jobs[mine[next]].at_s : INFINITY;
    if (outage != nullptr && now < outage->from_s) until = std::min(until, outage->from_s);
    if (down) until = std::min(until, outage->to_s);
    if (rate > 0) {
      const auto first = std::ranges::min_element(open, {}, &Open::left_s);
      until = std::min(until, now + first->left_s / rate);
    }
    for (Open& one : open) one.left_s -= (until - now) * rate;
    now = until;
    std::erase_if(open, [&](const Open& one) {
      if (one.left_s > 1e-9) return false;
      took_s[one.job] = now - jobs[one.job].at_s;
      return true;
    });
    while (next < mine.size() && jobs[mine[next]].at_s <= now) {
      open.push_back({mine[next], jobs[mine[next]].work_s});
      ++next;
    }
  }
}

struct Outcome {
  double jobs_max_x = 0;  // the fullest broker against the mean, by jobs and by work
  double work_max_x = 0;
  double p50_s = 0;  // of the time from submission to the last result
  double p99_s = 0;
  double jobs = 0;      // of all brokers
  double waiting = 0;   // jobs that waited for the lost broker, of all
  double others_x = 0;  // work of the fullest other broker against the same without the loss
};

Outcome simulate(const std::vector<Job>& jobs, std::size_t brokers, const Outage* outage) {
  std::vector<std::vector<std::size_t>> of_broker(brokers);
  std::vector<double> work(brokers);
  std::vector<double> work_before(brokers);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const bool down =
        outage != nullptr && jobs[i].at_s >= outage->from_s && jobs[i].at_s < outage->to_s;
    const std::size_t at = broker_of(jobs[i].request_id, brokers, down ? outage->broker : SIZE_MAX);
    of_broker[at].push_back(i);
    work[at] += jobs[i].work_s;
    work_before[broker_of(jobs[i].request_id, brokers, SIZE_MAX)] += jobs[i].work_s;
  }
  std::vector<double> took_s(jobs.size());
  Outcome outcome;
  const double share = kWorkers / static_cast<double>(brokers);
  for (std::size_t b = 0; b < brokers; ++b) {
    const bool is_lost = outage != nullptr && outage->broker == b;
    serve(jobs, of_broker[b], share, is_lost ? outage : nullptr, took_s);
    const double mean_jobs = static_cast<double>(jobs.size()) / static_cast<double>(brokers);
    outcome.jobs_max_x =
        std::max(outcome.jobs_max_x, static_cast<double>(of_broker[b].size()) / mean_jobs);
    if (!is_lost && work_before[b] > 0) {
      outcome.others_x = std::max(outcome.others_x, work[b] / work_before[b]);
    }
    if (!is_lost) continue;
    for (const std::size_t i : of_broker[b]) {
      if (jobs[i].at_s < outage->from_s && jobs[i].at_s + took_s[i] > outage->from_s) {
        ++outcome.waiting;
      }
    }
  }
  const double total = std::accumulate(work.begin(), work.end(), 0.0);
  outcome.work_max_x = *std::ranges::max_element(work) * static_cast<double>(brokers) / total;
  outcome.jobs = static_cast<double>(jobs.size());
  outcome.p50_s = quantile(took_s, 0.5);
  outcome.p99_s = quantile(took_s, 0.99);
  return outcome;
}

// Medians over runs.
Outcome simulate_many(int runs, std::size_t brokers, const Outage* outage) {
  std::array<std::vector<double>, 7> all;
  for (int run = 0; run < runs; ++run) {
    std::mt19937_64 random(static_cast<std::uint64_t>(run) + 1);
    const Outcome one = simulate(draw_jobs(random), brokers, outage);
    const double values[] = {one.jobs_max_x, one.work_max_x, one.p50_s, one.p99_s,
                             one.waiting,    one.others_x,   one.jobs};
    for (std::size_t i = 0; i < all.size(); ++i) all[i].push_back(values[i]);
  }
  return {.jobs_max_x = median(all[0]),
          .work_max_x = median(all[1]),
          .p50_s = median(all[2]),
          .p99_s = median(all[3]),
          .jobs = median(all[6]),
          .waiting = median(all[4]),
          .others_x = median(all[5])};
}

int run(const Options& options) {
  Report report(options, "Several brokers, jobs placed by the hash of their request id (a model)");
  const int runs = options.quick ? 3 : 21;
  const Outcome single = simulate_many(runs, 1, nullptr);
  report.add("", "1 broker: submission to result, p50", single.p50_s, "s", std::nullopt,
             fmt::format("p99 {:.0f} s, {:.0f} jobs an hour", single.p99_s, single.jobs));
  for (const std::size_t brokers : {2, 4, 8}) {
    const Outcome shared = simulate_many(runs, brokers, nullptr);
    report.add("", fmt::format("{} brokers: work of the fullest against the mean", brokers),
               shared.work_max_x, "×", std::nullopt,
               fmt::format("jobs {:.2f} ×", shared.jobs_max_x));
    report.add("", fmt::format("{} brokers: submission to result, p50 against one", brokers),
               shared.p50_s / single.p50_s, "×", std::nullopt,
               fmt::format("p99 {:.1f} ×", shared.p99_s / single.p99_s));
    const Outage outage{0, kHour / 2, kHour / 2 + kHour / 6};
    const Outcome lost = simulate_many(runs, brokers, &outage);
    report.add("", fmt::format("{} brokers, one away for 10 minutes: jobs that wait", brokers),
               lost.waiting, "jobs", std::nullopt,
               fmt::format("in the hour the others get up to {:.2f} × the work; p99 {:.1f} ×",
                           lost.others_x, lost.p99_s / single.p99_s));
  }
  return 0;
}

}  // namespace
}  // namespace puzzled::bench

int main(int argc, char** argv) {
  return puzzled::bench::run(
      puzzled::bench::parse_options(argc, argv, "Several brokers, in a model"));
}
