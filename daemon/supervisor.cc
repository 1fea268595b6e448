#include "daemon/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "daemon/broker/types.h"
#include "proto/base/fatal.h"
#include "proto/base/paths.h"

namespace puzzled {
namespace {

constexpr int kLifelineFd = 3;              // in the worker
constexpr std::int64_t kStopMs = 3'000;     // between SIGTERM and SIGKILL
constexpr std::int64_t kKilledMs = 10'000;  // for the kernel to end what was killed

std::string find_program(const std::string& given) {
  std::string program = given;
  if (program.empty()) {
    program = program_folder() + "/puzzle-worker";
  }
  if (::access(program.c_str(), X_OK) != 0) {
    throw Fatal(kExitConfiguration,
                fmt::format("{} cannot be run ({}); name the worker with --worker-program, or use "
                            "--workers 0",
                            program, std::strerror(errno)));
  }
  return program;
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

// What systemd tells a service is meant for its main process: a worker that took it up would notify
// in the daemon's name.
std::vector<char*> environment_of_workers() {
  constexpr std::string_view kOurs[] = {"NOTIFY_SOCKET=", "WATCHDOG_PID=", "WATCHDOG_USEC="};
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const auto is_it = [&](std::string_view name) {
      return std::string_view(*entry).starts_with(name);
    };
    if (std::ranges::none_of(kOurs, is_it)) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

// A process with default signals, its own process group (so that Ctrl-C reaches only the daemon,
// which drains), no input, and no descriptor of ours but the lifeline. Returns an errno.
int spawn(const std::vector<std::string>& arguments, int lifeline, pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, lifeline, kLifelineFd);
  ::posix_spawn_file_actions_addclosefrom_np(&files, kLifelineFd + 1);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> environment = environment_of_workers();
  const int error =
      ::posix_spawn(&pid, argv[0], &files, &attributes, argv.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

Supervisor::Supervisor(SupervisorOptions options, const std::string& worker_endpoint,
                       const std::vector<std::string>& arguments)
    : options_(std::move(options)) {
  if (options_.workers == 0) return;
  command_ = {find_program(options_.worker_program),
              "--slots",
              "1",
              "--endpoint",
              worker_endpoint,
              "--exit-with-parent",
              std::to_string(kLifelineFd)};
  command_.insert(command_.end(), arguments.begin(), arguments.end());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Fatal(kExitIo, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  lifeline_read_ = ends[0];
  lifeline_write_ = ends[1];
  workers_.resize(options_.workers);
  for (Worker& worker : workers_) worker.delay_ms = options_.restart_ms;
}

Supervisor::~Supervisor() {
  draining_ = true;
  if (lifeline_write_ >= 0) ::close(lifeline_write_);
  for (const pid_t pid : running()) ::kill(pid, SIGTERM);
  if (!wait_for_all(kStopMs)) {
    for (const pid_t pid : running()) {
      spdlog::warn("worker {} did not end in time; killing it", pid);
      ::kill(pid, SIGKILL);
    }
    if (!wait_for_all(kKilledMs)) spdlog::error("some workers cannot be killed");
  }
  if (lifeline_read_ >= 0) ::close(lifeline_read_);
}

std::vector<pid_t> Supervisor::running() const {
  std::vector<pid_t> pids;
  for (const Worker& worker : workers_) {
    if (worker.pid != 0) pids.push_back(worker.pid);
  }
  return pids;
}

void Supervisor::step(std::int64_t steady_ms) {
  for (Worker& worker : workers_) {
    if (worker.pid != 0) reap(worker, steady_ms);
    if (worker.pid == 0 && !draining_ && worker.start_at_ms <= steady_ms) start(worker, steady_ms);
  }
}

std::int64_t Supervisor::next_deadline() const {
  std::int64_t next = kNever;
  if (draining_) return next;
  for (const Worker& worker : workers_) {
    if (worker.pid == 0) next = std::min(next, worker.start_at_ms);
  }
  return next;
}

void Supervisor::start(Worker& worker, std::int64_t steady_ms) {
  const int error = spawn(command_, lifeline_read_, worker.pid);
  if (error != 0) {
    worker.pid = 0;
    plan_restart(worker, steady_ms);
    spdlog::error("cannot start {}: {}; next try in {} ms", command_[0], std::strerror(error),
                  worker.start_at_ms - steady_ms);
    return;
  }
  worker.started_ms = steady_ms;
  spdlog::debug("started worker {}", worker.pid);
}

void Supervisor::plan_restart(Worker& worker, std::int64_t steady_ms) {
  worker.start_at_ms = steady_ms + worker.delay_ms;
  worker.delay_ms = std::min(2 * worker.delay_ms, options_.restart_ms_max);
}

void Supervisor::reap(Worker& worker, std::int64_t steady_ms) {
  int status = 0;
  if (::waitpid(worker.pid, &status, WNOHANG) != worker.pid) return;
  const pid_t pid = std::exchange(worker.pid, 0);
  if (draining_) {
    spdlog::debug("worker {} ended: {}", pid, describe_end(status));
    return;
  }
  if (steady_ms - worker.started_ms >= options_.settled_ms) worker.delay_ms = options_.restart_ms;
  plan_restart(worker, steady_ms);
  spdlog::warn("worker {} ended: {}; starting another in {} ms", pid, describe_end(status),
               worker.start_at_ms - steady_ms);
}

bool Supervisor::wait_for_all(std::int64_t timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  while (true) {
    for (Worker& worker : workers_) {
      if (worker.pid != 0) reap(worker, 0);
    }
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(end - Clock::now());
    if (running().empty()) return true;
    if (left.count() <= 0) return false;
    // SIGCHLD is blocked, so one that comes before this call is not missed. One for two children
    // that end together is enough: all are looked at.
    const timespec wait{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    ::sigtimedwait(&child, nullptr, &wait);
  }
}

}  // namespace puzzled
