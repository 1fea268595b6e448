// Running real programs from tests: each with its own folder, environment and output files, and
// always with a deadline.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace puzzled::testing {

using Duration = std::chrono::milliseconds;

// A folder that is gone, with all that is in it, when the object is.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::filesystem::path& path);                   // "" if there is none
void write_file(const std::filesystem::path& path, std::string_view text);  // makes its folders

// How a program ended.
struct Ended {
  int exit_code = -1;  // -1: by a signal
  int signal = 0;
  std::string out;
  std::string err;
};

// One running program, in a process group of its own. When the object goes, the program and what it
// has started are killed, if they still run then. The program is killed as well when the thread
// that started it ends. One that cannot be started ends with exit code 127 and says so.
class Process {
 public:
  struct Options {
    std::map<std::string, std::string> environment;  // all of it
    std::filesystem::path output_folder;             // where its output is kept
    std::string input;                               // what it reads; nothing by default
    std::filesystem::path working_folder;            // empty: that of the test
  };
  Process(const std::vector<std::string>& command, const Options& options);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  [[nodiscard]] bool running();
  // nullopt: it still runs after `limit`.
  std::optional<Ended> wait(Duration limit);
  // What it has written so far.
  [[nodiscard]] std::string out() const { return read_file(out_path_); }
  [[nodiscard]] std::string err() const { return read_file(err_path_); }

 private:
  pid_t pid_ = 0;
  bool reaped_ = false;
  int status_ = 0;
  std::filesystem::path out_path_;
  std::filesystem::path err_path_;
};

// Waits until `condition` holds, looking every 5 ms; false after `limit`.
template <class Condition>
bool eventually(Condition condition, Duration limit = std::chrono::seconds(30));

// Process ids of the living children of `parent`.
std::vector<pid_t> children_of(pid_t parent);
// A zombie does not live.
bool is_alive(pid_t pid);

// ---- Below: how.

void pause_briefly();

template <class Condition>
bool eventually(Condition condition, Duration limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    pause_briefly();
  }
  return true;
}

}  // namespace puzzled::testing
