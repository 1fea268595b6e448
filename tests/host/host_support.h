// A worker process (puzzle-worker-test) and the broker it talks to, played by the test.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "proto/worker.pb.h"

namespace puzzled::host {

class WorkerProcess {
 public:
  // `inherited`: descriptors that the worker is to get, under the same numbers.
  explicit WorkerProcess(const std::vector<std::string>& arguments,
                         const std::vector<int>& inherited = {});
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  // Waits for its end; the exit code, or minus the signal.
  int wait();
  // Its solver processes.
  [[nodiscard]] std::vector<pid_t> children() const;

 private:
  pid_t pid_ = 0;
};

// A ROUTER on an ipc path of its own.
class FakeBroker {
 public:
  FakeBroker();
  ~FakeBroker();
  FakeBroker(const FakeBroker&) = delete;
  FakeBroker& operator=(const FakeBroker&) = delete;

  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
  // The next message, from whomever; replies go to its sender. Fails the test after a minute.
  proto::FromWorker receive();
  // The next message of that kind; others are dropped.
  proto::FromWorker receive(proto::FromWorker::BodyCase kind);
  void send(const proto::ToWorker& message);
  // Answers the first Ready with a Welcome of boot 1 and returns it.
  proto::Ready welcome();

 private:
  std::string folder_;
  std::string endpoint_;
  zmq::context_t context_{1};
  zmq::socket_t socket_;
  std::string peer_;
};

// True once `condition` holds; false after a minute.
bool eventually(const std::function<bool()>& condition);

}  // namespace puzzled::host
