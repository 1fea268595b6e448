#include "workers/host/solver_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "proto/base/assert.h"
#include "workers/host/clocks.h"
#include "workers/host/solver_child.h"

extern "C" char** environ;

namespace puzzled::host {
namespace {

// Input beyond this is given back after a dispatch.
constexpr std::size_t kInputKept = 4U << 20U;
// Where descriptors are moved to, out of the way of those the child will get.
constexpr int kHighFd = 10;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

int moved_high(int fd) {
  const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, kHighFd);
  ::close(fd);
  return high;
}

// posix_spawn's two parameter objects, with the rules for our children.
class SpawnRules {
 public:
  SpawnRules(int memory_fd, int socket_fd, bool show_errors) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDWR, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, 0, 1);
    if (!show_errors) ::posix_spawn_file_actions_adddup2(&actions_, 0, 2);
    ::posix_spawn_file_actions_adddup2(&actions_, memory_fd, kChildMemoryFd);
    ::posix_spawn_file_actions_adddup2(&actions_, socket_fd, kChildSocketFd);
    ::posix_spawnattr_init(&attributes_);
    // What others send to ask the worker to end (a terminal to its group; Slurm, systemd or a
    // container's end to every process they find) must not look like a crash: the process has a
    // group of its own, and such signals wait until the host ends it. Blocked, not ignored, so that
    // they never find it before it could say so. The rest is as usual.
    sigset_t ask_to_end;
    sigset_t all;
    ::sigemptyset(&ask_to_end);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
      ::sigaddset(&ask_to_end, signal);
    }
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &ask_to_end);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnRules() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnRules(const SpawnRules&) = delete;
  SpawnRules& operator=(const SpawnRules&) = delete;

  [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &actions_; }
  [[nodiscard]] const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

std::string describe(const ProcessEnd& end) {
  if (!end.by_signal) return fmt::format("ended with exit code {}", end.code);
  return fmt::format("was killed by signal {} ({})", end.code, ::strsignal(end.code));
}

SolverProcess::SolverProcess(bool show_errors) : show_errors_(show_errors) {
  const int fd = ::memfd_create("puzzled-slot", MFD_CLOEXEC);
  if (fd < 0) fail("memfd_create");
  memory_fd_ = moved_high(fd);
  if (memory_fd_ < 0) fail("fcntl");
  void* memory = MAP_FAILED;
  if (::ftruncate(memory_fd_, kAreaBytes) == 0) {
    memory = ::mmap(nullptr, kAreaBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd_, 0);
  }
  if (memory == MAP_FAILED) {
    ::close(memory_fd_);
    fail("mmap");
  }
  memory_ = static_cast<char*>(memory);
}

SolverProcess::~SolverProcess() {
  if (running()) end(true);
  ::munmap(memory_, kAreaBytes);
  ::close(memory_fd_);
}

bool SolverProcess::spawn() {
  ASSERT(!running());
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    error_ = fmt::format("socketpair: {}", std::strerror(errno));
    return false;
  }
  const int child_socket = moved_high(ends[1]);
  socket_ = moved_high(ends[0]);
  const bool spawned = socket_ >= 0 && child_socket >= 0 && spawn_with(child_socket);
  if (child_socket >= 0) ::close(child_socket);
  if (!spawned && socket_ >= 0) ::close(socket_);
  if (!spawned) socket_ = -1;
  return spawned;
}

bool SolverProcess::spawn_with(int child_socket) {
  const SpawnRules rules(memory_fd_, child_socket, show_errors_);
  std::string program = "puzzle-solver";
  std::string argument = kChildArgument;
  std::string parent = std::to_string(::getpid());
  std::array<char*, 4> arguments{program.data(), argument.data(), parent.data(), nullptr};
  pid_t pid = 0;
  const int failure = ::posix_spawn(&pid, "/proc/self/exe", rules.actions(), rules.attributes(),
                                    arguments.data(), environ);
  if (failure != 0) {
    error_ = fmt::format("cannot start /proc/self/exe: {}", std::strerror(failure));
    return false;
  }
  pid_ = pid;
  if (::clock_getcpuclockid(pid_, &cpu_clock_) != 0) cpu_clock_ = CLOCK_MONOTONIC;
  return true;
}

ProcessEnd SolverProcess::end(bool kill) {
  ASSERT(running());
  if (kill) ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ::close(socket_);
  socket_ = -1;
  pid_ = 0;
  if (WIFSIGNALED(status)) return {true, WTERMSIG(status)};
  return {false, WEXITSTATUS(status)};
}

bool SolverProcess::tell(char byte) {
  return ::send(socket_, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

bool SolverProcess::hear(std::optional<char>& byte) {
  char heard = 0;
  ssize_t got = 0;
  do {
    got = ::recv(socket_, &heard, 1, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return false;
  byte = got == 1 ? std::optional(heard) : std::nullopt;
  return true;
}

std::int64_t SolverProcess::cpu_ns() const {
  if (!running() || cpu_clock_ == CLOCK_MONOTONIC) return 0;
  return read_clock_ns(cpu_clock_);
}

void SolverProcess::load_input(std::string_view bytes) {
  ASSERT(bytes.size() <= kInputArea);
  std::memcpy(memory_ + kInputAt, bytes.data(), bytes.size());
}

void SolverProcess::trim_memory(std::size_t input_used) {
  if (input_used <= kInputKept) return;
  ::fallocate(memory_fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kInputAt + kInputKept,
              static_cast<off_t>(input_used - kInputKept));
}

}  // namespace puzzled::host
