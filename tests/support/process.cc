#include "tests/support/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
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

// What a child needs between fork() and exec(), where it may allocate nothing.
struct Image {
  char* const* arguments;
  char* const* environment;
  const char* folder;
  const char* in;
  const char* out;
  const char* err;
  pid_t parent;
};

// Makes this process the program. In a group of its own, so that what it starts can be killed with
// it; killed when the test is, however that ends.
[[noreturn]] void become(const Image& image) {
  constexpr int kFailed = 127;  // as shells say it
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != image.parent) ::_exit(kFailed);
  const int write_flags = O_WRONLY | O_CREAT | O_TRUNC;
  const int files[] = {::open(image.in, O_RDONLY), ::open(image.out, write_flags, 0600),
                       ::open(image.err, write_flags, 0600)};
  for (int target = 0; target < 3; ++target) {
    if (::dup2(files[target], target) < 0) ::_exit(kFailed);
    if (files[target] > 2) ::close(files[target]);
  }
  if (::chdir(image.folder) == 0) ::execve(image.arguments[0], image.arguments, image.environment);
  for (const char* text : {"cannot start ", static_cast<const char*>(image.arguments[0]), "\n"}) {
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  }
  ::_exit(kFailed);
}

struct ProcessState {
  char state = '?';
  pid_t parent = 0;
};

// Out of /proc/PID/stat; nullopt: there is no such process. It may end between the opening of that
// file and its reading (ESRCH), which getline() takes for an empty file, as it is meant; a
// streambuf iterator would throw.
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

  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  const std::string folder = options.working_folder.empty() ? "." : options.working_folder;
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (pid_ == 0) {
    become({argv.data(), envp.data(), folder.c_str(), in_path.c_str(), out_path_.c_str(),
            err_path_.c_str(), parent});
  }
  ::setpgid(pid_, pid_);  // here too: whoever comes first
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
