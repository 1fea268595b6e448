#include "tests/support/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace puzzled::testing {
namespace {

namespace fs = std::filesystem;

// Pointers into `strings`, with the final null that exec wants.
std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

// State and parent out of /proc/PID/stat; nullopt: there is no such process. It may end between the
// opening of that file and its reading (ESRCH), which getline() takes for an empty file, as it is
// meant; a streambuf iterator would throw.
struct ProcessState {
  char state = '?';
  pid_t parent = 0;
};
std::optional<ProcessState> state_of(pid_t pid) {
  std::ifstream file(fs::path("/proc") / std::to_string(pid) / "stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t after_name = stat.rfind(')');
  if (after_name == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(after_name + 1));
  ProcessState result;
  fields >> result.state >> result.parent;
  return result;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  // Short, since the paths of sockets may have only 107 bytes.
  std::string pattern = "/tmp/pzXXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

Process::Process(const std::vector<std::string>& command, const Options& options) {
  static std::atomic<int> number{0};
  const std::string stem = std::to_string(::getpid()) + "-" + std::to_string(++number);
  fs::create_directories(options.output_folder);
  out_path_ = options.output_folder / (stem + ".out");
  err_path_ = options.output_folder / (stem + ".err");
  const fs::path in_path = options.output_folder / (stem + ".in");
  write_file(in_path, options.input);

  std::vector<std::string> arguments = command;
  std::vector<std::string> environment;
  for (const auto& [name, value] : options.environment) environment.push_back(name + "=" + value);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const int write_flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&files, 0, in_path.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, out_path_.c_str(), write_flags, 0600);
  posix_spawn_file_actions_addopen(&files, 2, err_path_.c_str(), write_flags, 0600);
  if (!options.working_folder.empty()) {
    posix_spawn_file_actions_addchdir_np(&files, options.working_folder.c_str());
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int error = ::posix_spawn(&pid_, arguments.front().c_str(), &files, &attributes,
                                  pointers(arguments).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    throw std::runtime_error("cannot start " + command.front() + ": " + std::strerror(error));
  }
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      reaped_(std::exchange(other.reaped_, true)),
      status_(other.status_),
      out_path_(std::move(other.out_path_)),
      err_path_(std::move(other.err_path_)) {}

Process::~Process() {
  if (pid_ == 0) return;
  const bool was_running = running();
  ::kill(-pid_, SIGKILL);  // the group outlives its first process
  if (was_running) ::waitpid(pid_, &status_, 0);
}

void Process::signal(int number) const {
  if (!reaped_) ::kill(pid_, number);
}

bool Process::running() {
  if (!reaped_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) reaped_ = true;
  return !reaped_;
}

std::optional<Ended> Process::wait(Duration limit) {
  if (!eventually([this] { return !running(); }, limit)) return std::nullopt;
  Ended ended;
  ended.exit_code = WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  ended.signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
  ended.out = out();
  ended.err = err();
  return ended;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = static_cast<pid_t>(std::stol(name));
    const auto state = state_of(pid);
    if (state && state->parent == parent && state->state != 'Z') children.push_back(pid);
  }
  return children;
}

bool is_alive(pid_t pid) {
  const auto state = state_of(pid);
  return state && state->state != 'Z' && state->state != 'X';
}

void pause_briefly() { std::this_thread::sleep_for(Duration(5)); }

}  // namespace puzzled::testing
