#include "tests/sim/jobs.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <system_error>

#include "tests/sim/world.h"

namespace puzzled::sim {
namespace {

// What a process says of its work, in memory that it shares with its parent.
struct Shared {
  std::atomic<std::uint64_t> next;  // the seed being run, or to be run next
  std::atomic<bool> stop;
  Totals totals;  // `failed` is not used
};

void run_until_failure(Shared& shared, std::uint64_t last, std::uint64_t stride,
                       const Settings& settings) {
  for (; shared.next <= last && !shared.stop; shared.next += stride) {
    World world(shared.next, settings.mutation, settings.sweeps, 0);
    world.run(settings.steps);
    Totals& totals = shared.totals;
    ++totals.seeds;
    totals.events += world.sim().events;
    totals.cases += world.cases_done();
    totals.simulated_ms += static_cast<std::uint64_t>(world.sim().now_ms);
    totals.findings += world.findings();
    totals.hash += world.sim().hash;
  }
}

pid_t spawn(Shared& shared, std::uint64_t last, std::uint64_t stride, const Settings& settings) {
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid > 0) return pid;
  // What an assertion says is printed when the seed is run again, with its events.
  if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(2);
  try {
    run_until_failure(shared, last, stride, settings);
  } catch (const Violation&) {
    ::_exit(1);
  }
  ::_exit(0);
}

// The events so far, for when an assertion ends the process.
const Sim* g_running = nullptr;

void print_lines(const Sim& sim) {
  for (const std::string& line : sim.lines()) std::printf("%s\n", line.c_str());
}

void on_abort(int) {
  if (const Sim* sim = std::exchange(g_running, nullptr)) {
    print_lines(*sim);
    std::printf("an assertion has failed\n");
    std::fflush(stdout);
  }
  ::_exit(1);
}

}  // namespace

Totals run_seeds(Range seeds, const Settings& settings, unsigned jobs, std::uint64_t failures_max) {
  void* memory = ::mmap(nullptr, sizeof(Shared) * jobs, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  auto* shared = static_cast<Shared*>(memory);
  std::vector<pid_t> pids;
  for (unsigned i = 0; i < jobs; ++i) {
    new (&shared[i]) Shared{};
    shared[i].next = seeds.first + i;
    pids.push_back(spawn(shared[i], seeds.last, jobs, settings));
  }
  Totals totals;
  for (std::size_t running = jobs; running > 0;) {
    int status = 0;
    const pid_t pid = ::wait(&status);
    if (pid < 0) throw std::system_error(errno, std::generic_category(), "wait");
    const auto at = static_cast<std::size_t>(std::ranges::find(pids, pid) - pids.begin());
    --running;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    Shared& mine = shared[at];
    totals.failed.push_back(mine.next);
    ++mine.totals.seeds;
    if (totals.failed.size() >= failures_max) {
      for (unsigned i = 0; i < jobs; ++i) shared[i].stop = true;
    }
    mine.next += jobs;
    pids[at] = spawn(mine, seeds.last, jobs, settings);
    ++running;
  }
  for (unsigned i = 0; i < jobs; ++i) {
    totals.seeds += shared[i].totals.seeds;
    totals.events += shared[i].totals.events;
    totals.cases += shared[i].totals.cases;
    totals.simulated_ms += shared[i].totals.simulated_ms;
    totals.findings += shared[i].totals.findings;
    totals.hash += shared[i].totals.hash;
  }
  ::munmap(memory, sizeof(Shared) * jobs);
  std::ranges::sort(totals.failed);
  return totals;
}

int replay(std::uint64_t seed, const Settings& settings, std::size_t lines_max) {
  World world(seed, settings.mutation, settings.sweeps, lines_max);
  g_running = &world.sim();
  std::signal(SIGABRT, on_abort);
  int code = 0;
  std::string verdict = "clean";
  try {
    world.run(settings.steps);
  } catch (const Violation& violation) {
    code = 1;
    verdict = violation.invariant > 0
                  ? "invariant " + std::to_string(violation.invariant) + " is broken: "
                  : "a rule is broken: ";
    verdict += violation.text;
  }
  g_running = nullptr;
  print_lines(world.sim());
  std::printf("seed %llu: %s (%llu events, %lld ms, trace %016llx)\n",
              static_cast<unsigned long long>(seed), verdict.c_str(),
              static_cast<unsigned long long>(world.sim().events),
              static_cast<long long>(world.sim().now_ms),
              static_cast<unsigned long long>(world.sim().hash));
  return code;
}

int replay_apart(std::uint64_t seed, const Settings& settings, std::size_t lines_max) {
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid == 0) {
    const int code = replay(seed, settings, lines_max);
    std::fflush(nullptr);
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace puzzled::sim
