#include "tests/host/host_support.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "proto/wire.h"

extern "C" char** environ;

namespace puzzled::host {
namespace {

constexpr int kPatienceMs = 60'000;

}  // namespace

WorkerProcess::WorkerProcess(const std::vector<std::string>& arguments,
                             const std::vector<int>& inherited) {
  std::vector<std::string> all{PUZZLED_TEST_WORKER};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& argument : all) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  // A descriptor duplicated onto itself loses its close-on-exec flag.
  for (const int fd : inherited) ::posix_spawn_file_actions_adddup2(&actions, fd, fd);
  EXPECT_EQ(::posix_spawn(&pid_, all[0].c_str(), &actions, nullptr, pointers.data(), environ), 0);
  ::posix_spawn_file_actions_destroy(&actions);
}

WorkerProcess::~WorkerProcess() {
  if (pid_ <= 0) return;
  signal(SIGKILL);
  wait();
}

void WorkerProcess::signal(int number) const { ::kill(pid_, number); }

int WorkerProcess::wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = 0;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

std::vector<pid_t> WorkerProcess::children() const {
  std::vector<pid_t> pids;
  std::ifstream in("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children");
  for (pid_t pid = 0; in >> pid;) pids.push_back(pid);
  return pids;
}

FakeBroker::FakeBroker() {
  std::string folder = std::filesystem::temp_directory_path() / "puzzled-host-XXXXXX";
  EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  folder_ = folder;
  endpoint_ = "ipc://" + folder_ + "/worker.sock";
  socket_ = zmq::socket_t(context_, zmq::socket_type::router);
  socket_.set(zmq::sockopt::linger, 0);
  socket_.set(zmq::sockopt::rcvtimeo, kPatienceMs);
  socket_.bind(endpoint_);
}

FakeBroker::~FakeBroker() {
  socket_.close();
  std::filesystem::remove_all(folder_);
}

proto::FromWorker FakeBroker::receive() {
  zmq::message_t peer;
  zmq::message_t frame;
  proto::FromWorker message;
  if (!socket_.recv(peer) || !socket_.recv(frame)) {
    ADD_FAILURE() << "the worker says nothing";
    return message;
  }
  peer_ = peer.to_string();
  EXPECT_EQ(
      wire::decode(frame.to_string_view(), wire::Role::kWorker, wire::kMessageBytesMax, message),
      wire::DecodeError::kNone);
  return message;
}

proto::FromWorker FakeBroker::receive(proto::FromWorker::BodyCase kind) {
  for (;;) {
    proto::FromWorker message = receive();
    if (message.body_case() == kind || testing::Test::HasFailure()) return message;
  }
}

void FakeBroker::send(const proto::ToWorker& message) {
  socket_.send(zmq::buffer(peer_), zmq::send_flags::sndmore);
  socket_.send(zmq::buffer(wire::encode(wire::Role::kBroker, message)), zmq::send_flags::none);
}

proto::Ready FakeBroker::welcome() {
  const proto::FromWorker message = receive(proto::FromWorker::kReady);
  proto::ToWorker reply;
  reply.mutable_welcome()->set_boot(1);
  reply.mutable_welcome()->set_heartbeat_interval_ms(100);
  // The test does not send heartbeats, and a loaded machine may be slow.
  reply.mutable_welcome()->set_liveness_ms(600'000);
  send(reply);
  return message.ready();
}

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace puzzled::host
