#include "client/scaler/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

namespace puzzled::scaler {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kErrorBytesShown = 300;

// One end of a pipe that the program writes to.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
    if (ends_[0] >= 0) ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int reader() const { return ends_[0]; }
  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_writer() { close_end(ends_[1]); }
  // Takes what is there; closes itself at the end.
  void read_into(std::string& text) {
    std::array<char, 1U << 16U> buffer{};
    const ssize_t got = ::read(ends_[0], buffer.data(), buffer.size());
    if (got > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      close_reader();
    }
  }

 private:
  void close_reader() { close_end(ends_[0]); }
  static void close_end(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// 0 if it was started.
int spawn(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
          const Pipe& out, const Pipe& err, pid_t& pid) {
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.writer(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, err.writer(), 2);
  posix_spawnattr_t attributes{};
  ::posix_spawnattr_init(&attributes);
  // A group of its own: Ctrl-C must not end a submission halfway, and its children end with it.
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int failure = ::posix_spawnp(&pid, arguments[0].c_str(), &actions, &attributes,
                                     pointers(arguments).data(), pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return failure;
}

// Until both ends are closed, or it took too long or said too much.
void read_all(Pipe& out, Pipe& err, Clock::time_point until, std::size_t bytes_max,
              ProgramEnd& end) {
  while (out.reader() >= 0 || err.reader() >= 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    end.timed_out = left <= 0;
    end.too_long = end.out.size() + end.err.size() > bytes_max;
    if (end.timed_out || end.too_long) return;
    std::array<pollfd, 2> items{{{out.reader(), POLLIN, 0}, {err.reader(), POLLIN, 0}}};
    if (::poll(items.data(), items.size(), static_cast<int>(std::min<std::int64_t>(left, 60'000))) <
        0) {
      continue;  // a signal: the time is looked at again
    }
    if (items[0].revents != 0) out.read_into(end.out);
    if (items[1].revents != 0) err.read_into(end.err);
  }
}

// Until it has ended: it may have closed both and go on. False: it took too long.
bool wait_for_end(pid_t pid, Clock::time_point until) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return true;  // waitpid() tells when
  pollfd item{fd, POLLIN, 0};
  int ready = 0;
  while (ready <= 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) break;
    ready = ::poll(&item, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
  }
  ::close(fd);
  return ready > 0;
}

}  // namespace

ProgramEnd run_program(const std::vector<std::string>& arguments,
                       const std::vector<std::string>& environment, std::int64_t timeout_ms,
                       std::size_t output_bytes_max) {
  ProgramEnd end;
  Pipe out;
  Pipe err;
  pid_t pid = 0;
  const int failure =
      out.writer() < 0 || err.writer() < 0 ? EMFILE : spawn(arguments, environment, out, err, pid);
  if (failure != 0) {
    end.err = std::strerror(failure);
    return end;
  }
  end.started = true;
  out.close_writer();
  err.close_writer();
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  read_all(out, err, until, output_bytes_max, end);
  if (!end.timed_out && !end.too_long) end.timed_out = !wait_for_end(pid, until);
  if (end.timed_out || end.too_long) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  end.exit_code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  return end;
}

std::string describe_failure(const std::string& name, const ProgramEnd& end) {
  if (!end.started) return fmt::format("{} cannot be started: {}", name, end.err);
  if (end.timed_out) return fmt::format("{} took too long and was ended", name);
  if (end.too_long) return fmt::format("{} wrote too much and was ended", name);
  if (end.exit_code == 0) return "";
  std::string text = end.err.substr(0, kErrorBytesShown);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  const std::string how = end.exit_code < 0 ? fmt::format("was killed by signal {}", -end.exit_code)
                                            : fmt::format("ended with code {}", end.exit_code);
  return text.empty() ? fmt::format("{} {}", name, how) : fmt::format("{} {}: {}", name, how, text);
}

}  // namespace puzzled::scaler
