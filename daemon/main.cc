// puzzled: options → store (locked, boot raised) → sockets → workers → loop.
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "daemon/broker/broker.h"
#include "daemon/check_command.h"
#include "daemon/log.h"
#include "daemon/net/access.h"
#include "daemon/net/listen.h"
#include "daemon/net/metrics_endpoint.h"
#include "daemon/net/metrics_request.h"
#include "daemon/net/reactor.h"
#include "daemon/options.h"
#include "daemon/store/store.h"
#include "daemon/store/store_thread.h"
#include "daemon/supervisor.h"
#include "proto/base/fatal.h"
#include "proto/base/paths.h"
#include "proto/base/service_manager.h"

namespace puzzled {
namespace {

constexpr int kExitBug = 70;

// Signals are read from a descriptor. Blocked before any thread starts, so that all inherit it.
int open_signals(bool with_reload) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) ::sigaddset(&signals, signal);
  if (with_reload) ::sigaddset(&signals, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  const int fd = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
  return fd;
}

// Every connection is a descriptor, and ZeroMQ ends the process when there are none left.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    spdlog::warn("cannot raise the limit of open files above {}", limit.rlim_cur);
  }
}

// Chunks and dispatches come and go many times a second. By default the allocator would give their
// memory back to the system each time, and the next one would pay for having it cleared.
void keep_freed_memory() {
  constexpr int kMiB = 1 << 20;
  ::mallopt(M_MMAP_THRESHOLD, 4 * kMiB);
  ::mallopt(M_TRIM_THRESHOLD, 64 * kMiB);
  ::mallopt(M_TOP_PAD, kMiB);
}

std::string worker_endpoint_of(const DaemonOptions& options) {
  if (!options.worker_endpoint.empty()) return options.worker_endpoint;
  // Two wildcards give two ports.
  if (options.endpoint.ends_with(":*")) return options.endpoint;
  const auto derived = worker_endpoint_for(options.endpoint);
  if (!derived) {
    throw Fatal(kExitConfiguration,
                fmt::format("no worker endpoint can be derived from {}; name it with "
                            "--worker-endpoint",
                            options.endpoint));
  }
  return *derived;
}

// Local workers write to our standard error: in the same format, or its lines could not be read.
std::vector<std::string> worker_log_arguments(const DaemonOptions& options) {
  const std::string level = options.log_level == "critical" ? "error" : options.log_level;
  return {"--log-format", options.log_format, "--log-level", level};
}

std::int64_t wall_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::unique_ptr<Access> open_access(const DaemonOptions& options) {
  if (options.key_file.empty() && options.authorized_keys.empty()) return nullptr;
  if (options.key_file.empty() || options.authorized_keys.empty()) {
    throw Fatal(kExitConfiguration,
                "--key and --authorized-keys go together: the daemon's own key, and who may "
                "connect; \"puzzlectl keygen\" makes keys");
  }
  return std::make_unique<Access>(options.key_file, options.authorized_keys);
}

// Local workers need no key: where workers connect over encrypted TCP, they have a socket of their
// own, which only this user can open.
std::string local_worker_endpoint(const std::string& bound) {
  return fmt::format("ipc://{}/local-{}.sock", default_runtime_folder(),
                     bound.substr(bound.rfind(':') + 1));
}

int run(const DaemonOptions& options) {
  const std::string worker_endpoint = worker_endpoint_of(options);
  keep_freed_memory();
  const int signals = open_signals(!options.authorized_keys.empty());
  raise_descriptor_limit();
  codec::silence_protobuf();

  const std::unique_ptr<Access> access = open_access(options);
  const bool any_address = access != nullptr || options.insecure_tcp;
  const EndpointLock client_lock(options.endpoint, any_address);
  const EndpointLock worker_lock(worker_endpoint, any_address);
  std::optional<EndpointLock> local_lock;
  std::unique_ptr<Store> store = Store::open(options.database, options.store);
  Recovery recovery = store->recover();
  const codec::DaemonFacts facts{static_cast<std::uint32_t>(::getpid()), wall_ms(), recovery.boot,
                                 options.database};
  spdlog::info("puzzled {}: database {}, boot {}, {} jobs", PUZZLED_VERSION, options.database,
               recovery.boot.value, recovery.jobs.size());

  Waker waker;
  const auto wake = [&waker] { waker.wake(); };
  BrokerOptions broker_options = options.broker;
  broker_options.answer_cache = options.store.answer_cache_bytes_max > 0;
  Broker broker(broker_options, std::move(recovery));
  StoreThread store_thread(std::move(store), options.store, wake);
  ReadThread read_thread(options.database, options.store, wake);

  zmq::context_t context;
  std::optional<Supervisor> supervisor;
  MetricsRequest metrics(wake);
  Reactor reactor(context, options.net,
                  {broker, store_thread, read_thread, waker, signals, access.get(), &metrics},
                  facts);
  const KeyPair* keys = access == nullptr ? nullptr : &access->keys();
  const std::string clients = listen(reactor.client_socket(), client_lock, keys);
  const std::string workers = listen(reactor.worker_socket(), worker_lock, keys);
  spdlog::info("clients at {}, workers at {}", clients, workers);
  if (access != nullptr) {
    spdlog::info("TCP is encrypted; {} authorized keys", access->key_count());
  } else if (options.insecure_tcp) {
    spdlog::warn(
        "--insecure-tcp: whoever reaches these endpoints can read, submit and work, and "
        "nothing is encrypted");
  }
  std::string local_workers = workers;
  if (access != nullptr && options.supervisor.workers > 0 && !ipc_path(workers)) {
    local_lock.emplace(local_worker_endpoint(workers), false);
    local_workers = listen(reactor.worker_socket(), *local_lock);
  }
  if (options.supervisor.workers > 0) {
    supervisor.emplace(options.supervisor, local_workers, worker_log_arguments(options));
    reactor.set_local_workers(*supervisor);
  }
  // After the endpoints: who finds it ready can connect to them.
  std::optional<MetricsEndpoint> metrics_endpoint;
  if (!options.metrics.empty()) {
    metrics_endpoint.emplace(MetricsEndpoint::Options{options.metrics, options.metrics_timeout_ms},
                             metrics);
    spdlog::info("metrics at {}/metrics", metrics_endpoint->url());
  }
  spdlog::info("ready");
  service_manager::ready(fmt::format("clients at {}, workers at {}", clients, workers));
  const int code = reactor.run();
  metrics_endpoint.reset();
  supervisor.reset();
  spdlog::info("stopped");
  return code;
}

}  // namespace
}  // namespace puzzled

int main(int argc, char** argv) {
  const auto complain = [](const char* text) { std::fprintf(stderr, "puzzled: %s\n", text); };
  try {
    const puzzled::Command command = puzzled::parse_command_line(
        {argv + 1, argv + argc}, [](const std::string& name) -> std::optional<std::string> {
          const char* value = std::getenv(name.c_str());
          return value == nullptr ? std::nullopt : std::optional<std::string>(value);
        });
    if (!command.print.empty()) {
      std::fputs(command.print.c_str(), stdout);
      return std::fflush(stdout) == 0 ? 0 : puzzled::kExitIo;
    }
    if (!command.check.empty()) return puzzled::check_command(command.check, stdout);
    puzzled::set_up_log(command.options);
    if (!command.config_file.empty()) spdlog::info("configuration: {}", command.config_file);
    return puzzled::run(command.options);
  } catch (const puzzled::Fatal& error) {
    complain(error.what());
    return error.exit_code();
  } catch (const std::system_error& error) {
    complain(error.what());
    return puzzled::kExitIo;
  } catch (const std::exception& error) {
    complain(fmt::format("internal error: {}. This is a bug in puzzled; nothing that was "
                         "acknowledged is lost.",
                         error.what())
                 .c_str());
    return puzzled::kExitBug;
  }
}
