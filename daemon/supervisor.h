// Local workers: started by the daemon, started again when they end, and ended with it, however
// it ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/net/local_workers.h"
#include "daemon/options.h"

namespace puzzled {

class Supervisor : public LocalWorkers {
 public:
  // Starts nothing yet: step() does. `arguments` are given to each worker besides its slot, its
  // endpoint and the descriptor it watches. Throws Fatal if the program cannot be run.
  // REQUIRES: SIGCHLD is blocked in all threads.
  Supervisor(SupervisorOptions options, const std::string& worker_endpoint,
             const std::vector<std::string>& arguments = {});
  // Ends the workers: asks, waits a little, then kills. All are reaped on return.
  ~Supervisor() override;
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  void step(std::int64_t steady_ms) override;
  [[nodiscard]] std::int64_t next_deadline() const override;
  void drain() override { draining_ = true; }

  [[nodiscard]] std::vector<pid_t> running() const;

 private:
  struct Worker {
    pid_t pid = 0;                 // 0: not running
    std::int64_t started_ms = 0;   // steady
    std::int64_t start_at_ms = 0;  // steady; when not running
    std::uint32_t delay_ms = 0;    // before the next start
  };

  void start(Worker& worker, std::int64_t steady_ms);
  void reap(Worker& worker, std::int64_t steady_ms);
  void plan_restart(Worker& worker, std::int64_t steady_ms);
  [[nodiscard]] bool wait_for_all(std::int64_t timeout_ms);

  const SupervisorOptions options_;
  std::vector<std::string> command_;  // program and arguments
  std::vector<Worker> workers_;
  // Workers hold the read end and end when it closes; only the daemon holds the write end.
  int lifeline_read_ = -1;
  int lifeline_write_ = -1;
  bool draining_ = false;
};

}  // namespace puzzled
