// One solver child process and the memory file shared with it: starting, signalling, ending. What
// the child is asked and what its end means is Slot's business.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "workers/host/shared_area.h"

namespace puzzled::host {

struct ProcessEnd {
  bool by_signal = false;
  int code = 0;  // the signal or the exit code
};
// "was killed by signal 11 (Segmentation fault)", "ended with exit code 1".
std::string describe(const ProcessEnd& end);

class SolverProcess {
 public:
  // Makes the memory file. Throws std::system_error if the system does not let us.
  // `show_errors`: the child's standard error is ours, else it goes nowhere.
  explicit SolverProcess(bool show_errors);
  ~SolverProcess();
  SolverProcess(const SolverProcess&) = delete;
  SolverProcess& operator=(const SolverProcess&) = delete;

  // Starts this program again as a solver process. False: the system refuses, see error().
  // REQUIRES: none is running.
  bool spawn();
  [[nodiscard]] bool running() const { return pid_ > 0; }
  // Kills it if it runs, and takes its end. REQUIRES: running().
  ProcessEnd end(bool kill);

  // One byte to the child; false if it is gone.
  bool tell(char byte);
  // Takes what the child has said, nullopt if it is gone. False: nothing. It never waits: the
  // descriptor may have been readable when it was another process's.
  bool hear(std::optional<char>& byte);
  // Readable when the child has said something or is gone; -1 if none is running.
  [[nodiscard]] int fd() const { return socket_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // CPU time since it was started, nanoseconds; 0 if that cannot be read.
  [[nodiscard]] std::int64_t cpu_ns() const;

  [[nodiscard]] SharedHeader& header() { return *reinterpret_cast<SharedHeader*>(memory_); }
  [[nodiscard]] const SharedHeader& header() const {
    return *reinterpret_cast<const SharedHeader*>(memory_);
  }
  [[nodiscard]] const char* output() const { return memory_ + kOutputAt; }
  // REQUIRES: bytes.size() <= kInputArea.
  void load_input(std::string_view bytes);
  // Gives memory that only large dispatches need back to the system.
  void trim_memory(std::size_t input_used);

  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  bool spawn_with(int child_socket);

  bool show_errors_;
  int memory_fd_ = -1;
  char* memory_ = nullptr;
  int socket_ = -1;
  pid_t pid_ = 0;
  clockid_t cpu_clock_{};
  std::string error_;
};

}  // namespace puzzled::host
