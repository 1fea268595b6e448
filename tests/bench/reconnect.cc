// Ten thousand workers over encrypted TCP lose their daemon and come back: how long it takes until
// all are at work again, what that costs, and whether heartbeats are kept afterwards. The workers
// are the product's Sessions on sockets of their own, in a few processes; only their solvers are
// left out, since the daemon has no cases for them.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <deque>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <zmq.hpp>

#include "client/calls.h"
#include "proto/curve.h"
#include "tests/bench/daemon.h"
#include "tests/bench/secure.h"
#include "tests/bench/support.h"
#include "workers/host/codec.h"
#include "workers/host/session.h"

namespace puzzled::bench {
namespace {

constexpr std::uint64_t kWorkers = 10'000;
constexpr double kPatienceS = 300;
constexpr double kSteadyS = 15;  // five times the liveness
// Descriptors of a ZeroMQ socket and its connection, twice: a closed one is only gone some time
// later.
constexpr std::uint64_t kFilesAWorker = 4;
constexpr std::uint64_t kOtherFiles = 500;
constexpr auto kLower = Report::Better::kLower;

std::int64_t now_ms() { return static_cast<std::int64_t>(wall_s() * 1000); }

// The limit of file descriptors of this process, and of those it starts, as high as it may be.
std::uint64_t files_allowed() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

class SimulatedWorker {
 public:
  SimulatedWorker(zmq::context_t& context, const SecureEndpoint& to, std::uint64_t number)
      : context_(context), to_(to), session_({.slots = 1, .seed = number}, now_ms()) {
    std::mt19937_64 random(number);
    for (auto& byte : identity_.start_id) byte = static_cast<std::uint8_t>(random());
    identity_.name = fmt::format("simulated-{}", number);
    identity_.host = "bench";
    identity_.pid = static_cast<std::uint32_t>(number);
    identity_.version = "bench";
  }

  void step(const host::Event& event) {
    session_.step(now_ms(), event, effects_);
    if (effects_.exit) give_up("a worker ends: " + effects_.exit->text);
    if (effects_.close) close();
    if (effects_.open) open();
    for (const host::Message& message : effects_.messages) {
      outbox_.push_back(host::encode_message(identity_, message));
    }
    flush();
  }

  void on_time() {
    if (now_ms() >= session_.next_deadline()) step(host::event::Tick{});
  }

  // Takes what has come. How often it was welcomed is counted by the boot that said so.
  void on_socket() {
    if (!socket_) return;
    const int events = socket_.get(zmq::sockopt::events);
    if (connecting_ && (events & ZMQ_POLLOUT) != 0) {
      connecting_ = false;
      step(host::event::Connected{});
    }
    zmq::message_t frame;
    while (socket_ && socket_.recv(frame, zmq::recv_flags::dontwait)) {
      auto decoded = host::decode_frame(frame.to_string_view());
      if (auto* text = std::get_if<std::string>(&decoded)) give_up(*text);
      const auto& event = std::get<host::Event>(decoded);
      if (const auto* welcome = std::get_if<host::event::Welcome>(&event)) {
        if (welcome->boot != host::Boot{}) {
          boot_ = welcome->boot;
          ++welcomes_;
        }
      }
      step(event);
    }
    if (socket_ && !connecting_) flush();
  }

  [[nodiscard]] zmq::pollitem_t poll_item() {
    const bool write = connecting_ || !outbox_.empty();
    return {socket_ ? socket_.handle() : nullptr, -1,
            static_cast<short>(ZMQ_POLLIN | (write ? ZMQ_POLLOUT : 0)), 0};
  }
  [[nodiscard]] bool has_socket() const { return static_cast<bool>(socket_); }
  [[nodiscard]] host::Boot boot() const { return boot_; }
  [[nodiscard]] std::uint64_t welcomes() const { return welcomes_; }

 private:
  void open() {
    socket_ = zmq::socket_t(context_, zmq::socket_type::dealer);
    socket_.set(zmq::sockopt::immediate, true);
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::reconnect_ivl, 50);  // as the worker host's
    socket_.set(zmq::sockopt::reconnect_ivl_max, 1'000);
    use_curve(socket_, to_.worker_keys());
    socket_.connect(to_.endpoint());
    connecting_ = true;
  }
  void close() {
    outbox_.clear();
    connecting_ = false;
    socket_.close();
  }
  void flush() {
    while (socket_ && !connecting_ && !outbox_.empty()) {
      const zmq::const_buffer frame(outbox_.front().data(), outbox_.front().size());
      if (!socket_.send(frame, zmq::send_flags::dontwait)) return;
      outbox_.pop_front();
    }
  }

  zmq::context_t& context_;
  const SecureEndpoint& to_;
  host::Session session_;
  host::Effects effects_;
  host::Identity identity_;
  zmq::socket_t socket_;
  bool connecting_ = false;
  std::deque<std::string> outbox_;
  host::Boot boot_{};
  std::uint64_t welcomes_ = 0;
};

class Crowd {
 public:
  Crowd(const SecureEndpoint& to, std::uint64_t first, std::uint64_t count) : context_(1) {
    // A closed socket is only gone some time later.
    context_.set(zmq::ctxopt::max_sockets, static_cast<int>(2 * count) + 10);
    for (std::uint64_t i = first; i < first + count; ++i) {
      all_.push_back(std::make_unique<SimulatedWorker>(context_, to, i));
    }
  }

  // One turn for everybody.
  void turn() {
    items_.clear();
    for (const auto& worker : all_) {
      if (worker->has_socket()) items_.push_back(worker->poll_item());
    }
    constexpr int kTurnMs = 5;
    ::zmq_poll(items_.data(), static_cast<int>(items_.size()), kTurnMs);
    for (const auto& worker : all_) {
      worker->on_socket();
      worker->on_time();
    }
  }

  // The daemon's start that all have been welcomed by last; Boot{}: not all by the same.
  [[nodiscard]] host::Boot boot() const {
    const host::Boot first = all_.front()->boot();
    const bool same =
        std::ranges::all_of(all_, [&](const auto& worker) { return worker->boot() == first; });
    return same ? first : host::Boot{};
  }
  [[nodiscard]] std::uint64_t welcomes() const {
    std::uint64_t sum = 0;
    for (const auto& worker : all_) sum += worker->welcomes();
    return sum;
  }

 private:
  zmq::context_t context_;
  std::vector<std::unique_ptr<SimulatedWorker>> all_;
  std::vector<zmq::pollitem_t> items_;
};

// What a process full of workers tells the one that measures; in memory that both see.
struct Told {
  std::atomic<host::Boot> boot{};
  std::atomic<std::uint64_t> welcomes{};
};

// A process has too few descriptors for ten thousand workers: several share them.
class Crowds {
 public:
  // Must be made before this process has threads.
  Crowds(const SecureEndpoint& to, std::uint64_t count, std::uint64_t each) {
    const std::uint64_t processes = (count + each - 1) / each;
    void* const memory = ::mmap(nullptr, sizeof(Told) * processes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) give_up("no shared memory");
    for (std::uint64_t i = 0; i < processes; ++i) {
      told_.push_back(new (static_cast<Told*>(memory) + i) Told);
      const std::uint64_t first = 1 + i * each;
      const pid_t parent = ::getpid();
      pids_.push_back(::fork());
      if (pids_.back() < 0) give_up("no process can be made");
      if (pids_.back() > 0) continue;
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      Crowd crowd(to, first, std::min(each, count + 1 - first));
      while (true) {
        crowd.turn();
        told_.back()->boot = crowd.boot();
        told_.back()->welcomes = crowd.welcomes();
      }
    }
  }
  ~Crowds() {
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  Crowds(const Crowds&) = delete;
  Crowds& operator=(const Crowds&) = delete;

  // Until all have been welcomed by one boot that `old` is not; seconds.
  double come(host::Boot old) {
    const double start = wall_s();
    while (!std::ranges::all_of(told_, [&](const Told* told) {
      return told->boot.load() != host::Boot{} && told->boot.load() != old;
    })) {
      if (wall_s() - start > kPatienceS) give_up("the workers do not come back");
      wait(0.01);
    }
    return wall_s() - start;
  }
  // Ends the program if one of the processes has given up.
  void wait(double seconds) {
    const double end = wall_s() + seconds;
    do {
      for (const pid_t pid : pids_) {
        if (::waitpid(pid, nullptr, WNOHANG) != 0) give_up("a process of workers has ended");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } while (wall_s() < end);
  }

  [[nodiscard]] host::Boot boot() const { return told_.front()->boot; }
  [[nodiscard]] std::uint64_t welcomes() const {
    std::uint64_t sum = 0;
    for (const Told* told : told_) sum += told->welcomes;
    return sum;
  }

 private:
  std::vector<Told*> told_;
  std::vector<pid_t> pids_;
};

std::uint64_t connected(Daemon& daemon) {
  std::uint64_t count = 0;
  proto::WorkersPage page;
  do {
    page = client::list_workers(daemon.connection(), page.next_after());
    count += static_cast<std::uint64_t>(page.workers_size());
  } while (page.more());
  return count;
}

int run(const Options& options) {
  const std::uint64_t wanted = options.scaled(kWorkers);
  const std::uint64_t files = files_allowed();
  const std::uint64_t count = std::min(wanted, files - kOtherFiles);  // the daemon's connections
  Report report(options, fmt::format("{} workers over encrypted TCP lose their daemon", count));
  if (count < wanted) {
    report.add("", "workers that the limit of file descriptors allows", static_cast<double>(count),
               "");
  }
  const Folder folder;
  const SecureEndpoint secure(folder);
  Crowds crowd(secure, count, (files - kOtherFiles) / kFilesAWorker);
  auto daemon = std::make_unique<Daemon>(folder, 0, secure.daemon_options());
  const double first_s = crowd.come({});
  crowd.wait(1);
  const host::Boot old = crowd.boot();
  daemon->kill();
  daemon = std::make_unique<Daemon>(folder, 0, secure.daemon_options());
  const double back_s = crowd.come(old);
  const double back_cpu_s = tree_cpu_s(daemon->pid());
  const std::uint64_t welcomes = crowd.welcomes();
  crowd.wait(kSteadyS);
  const double steady_cpu = (tree_cpu_s(daemon->pid()) - back_cpu_s) / kSteadyS;
  const std::uint64_t again = crowd.welcomes() - welcomes;
  if (const std::uint64_t now = connected(*daemon); now != count) {
    give_up(fmt::format("{} of {} workers are connected", now, count));
  }
  daemon->kill();  // its drain would end the workers
  report.add("", "all connected to a new daemon", first_s, "s");
  report.add("reconnect_s", "all back after kill -9 and restart", back_s, "s",
             Report::Target{kLower, 60});
  report.add("", "the daemon's CPU time for that", back_cpu_s, "s");
  report.add("",
             fmt::format("welcomes in the {} s after it (workers that had been lost)", kSteadyS),
             static_cast<double>(again), "", Report::Target{kLower, 0});
  report.add("", "the daemon's CPU time for their heartbeats, a second", steady_cpu, "s");
  return 0;
}

}  // namespace
}  // namespace puzzled::bench

int main(int argc, char** argv) {
  return puzzled::bench::run(
      puzzled::bench::parse_options(argc, argv, "Many workers that come back after a restart"));
}
