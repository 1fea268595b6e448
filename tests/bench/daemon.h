// A daemon with workers of its own for a bench: its folder, endpoint and database are its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/connection.h"
#include "proto/client.pb.h"
#include "tests/support/process.h"

namespace puzzled::bench {

// Where the benches keep their databases: $PUZZLED_BENCH_FOLDER, else /tmp. On the disk to be
// measured, please.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// The program of workers, with the benches' solvers.
std::string worker_program();

class Daemon {
 public:
  // Waits until it answers and all its workers are there. Ends the program if they do not come.
  Daemon(const Folder& folder, int workers, const std::vector<std::string>& more = {});
  // Ends it gracefully, so that the next one does not find its work.
  ~Daemon();
  // Ends it as a crash would; nothing but the destructor may be called after it.
  void kill();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  [[nodiscard]] double start_s() const { return start_s_; }      // until it answered
  [[nodiscard]] double workers_s() const { return workers_s_; }  // until the workers were there
  [[nodiscard]] std::uint64_t peak_rss_bytes() const;

  client::Connection& connection() { return *connection_; }
  // One request whose reply must not be an error.
  proto::ClientReply call(proto::ClientRequest& request);
  proto::JobStatus status(std::uint64_t job);
  // Runs puzzlectl with these arguments; its standard output. Ends the program if it fails.
  std::string ctl(const std::vector<std::string>& arguments);

 private:
  testing::Process::Options run_options_;
  std::string endpoint_;
  std::unique_ptr<testing::Process> process_;
  std::unique_ptr<client::Connection> connection_;
  double start_s_ = 0;
  double workers_s_ = 0;
};

}  // namespace puzzled::bench
