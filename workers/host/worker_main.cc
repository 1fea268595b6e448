#include "workers/host/worker_main.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <system_error>

#include "workers/host/host.h"
#include "workers/host/log.h"
#include "workers/host/options.h"
#include "workers/host/solver_child.h"

namespace puzzled::host {
namespace {

void draw_random(void* bytes, std::size_t count) {
  if (::getrandom(bytes, count, 0) != static_cast<ssize_t>(count)) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
}

// SIGTERM and SIGINT as a descriptor. To be called before any thread is started.
int open_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const int fd = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
  return fd;
}

// Two descriptors a slot and some for sockets: take what the system allows.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Identity make_identity(const Options& options) {
  Identity identity;
  draw_random(identity.start_id.data(), identity.start_id.size());
  identity.name = options.name;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) identity.host = host.data();
  identity.pid = static_cast<std::uint32_t>(::getpid());
  identity.slots = options.slots;
  identity.labels = options.labels;
  identity.version = PUZZLED_VERSION;
  return identity;
}

int run_host(const Options& options) {
  HostOptions host;
  host.signal_fd = open_signals();
  raise_descriptor_limit();
  host.endpoint = options.endpoint;
  host.keys = options.keys;
  host.identity = make_identity(options);
  host.session.slots = options.slots;
  draw_random(&host.session.seed, sizeof host.session.seed);
  host.session.idle_timeout_ms = options.idle_timeout_ms;
  host.session.give_up_after_ms = options.give_up_after_ms;
  host.slot.show_errors = options.log_level == "debug" || options.log_level == "trace";
  host.exit_with_parent_fd = options.exit_with_parent_fd;
  return Host(host).run();
}

}  // namespace

int worker_main(int argc, char** argv) {
  if (const auto code = run_as_solver_child(argc, argv)) return *code;
  Options options;
  if (const auto code = parse_options(argc, argv, options)) return *code;
  set_up_log(options.log_level, options.log_format);
  try {
    return run_host(options);
  } catch (const std::exception& e) {
    spdlog::critical("cannot go on: {}", e.what());
    return kExitBug;
  }
}

}  // namespace puzzled::host
