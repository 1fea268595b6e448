// A daemon in this process: real broker, store, threads and reactor over ipc in a temporary folder
// and over TCP on free ports of loopback.
#pragma once

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <zmq.hpp>

#include "daemon/broker/broker.h"
#include "daemon/net/listen.h"
#include "daemon/net/reactor.h"
#include "daemon/store/store.h"
#include "daemon/store/store_thread.h"
#include "tests/net/peers.h"

namespace puzzled::test {

class Folder {
 public:
  Folder() {
    char path[] = "/tmp/puzzled_reactor_XXXXXX";
    path_ = ::mkdtemp(path);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct DaemonSettings {
  // A scripted worker is silent while it grades, and on a busy machine for seconds: it is not gone,
  // unless a test wants it to be.
  BrokerOptions broker{.liveness_ms = 600'000};
  NetOptions net;
  StoreOptions store;
};

class RunningDaemon {
 public:
  explicit RunningDaemon(const std::string& folder, const DaemonSettings& settings = {})
      : client_lock_("ipc://" + folder + "/client.sock", false),
        worker_lock_("ipc://" + folder + "/worker.sock", false) {
    if (::pipe(signals_) != 0) throw std::runtime_error("pipe");
    const std::string database = folder + "/puzzled.db";
    auto store = Store::open(database, settings.store);
    Recovery recovery = store->recover();
    boot_ = recovery.boot.value;
    const auto wake = [this] { waker_.wake(); };
    broker_ = std::make_unique<Broker>(settings.broker, std::move(recovery));
    store_ = std::make_unique<StoreThread>(std::move(store), settings.store, wake);
    reads_ = std::make_unique<ReadThread>(database, settings.store, wake);
    codec::silence_protobuf();
    reactor_ = std::make_unique<Reactor>(
        context_, settings.net, Reactor::Parts{*broker_, *store_, *reads_, waker_, signals_[0]},
        codec::DaemonFacts{1, 2, {boot_}, database});
    listen(reactor_->client_socket(), client_lock_);
    listen(reactor_->worker_socket(), worker_lock_);
    const EndpointLock any_port("tcp://127.0.0.1:*", false);
    client_tcp_ = listen(reactor_->client_socket(), any_port);
    worker_tcp_ = listen(reactor_->worker_socket(), any_port);
    loop_ = std::thread([this] { exit_code_ = reactor_->run(); });
  }
  ~RunningDaemon() {
    if (loop_.joinable()) {
      signal(SIGTERM);
      signal(SIGTERM);  // at once
      loop_.join();
    }
    ::close(signals_[0]);
    ::close(signals_[1]);
  }
  RunningDaemon(const RunningDaemon&) = delete;
  RunningDaemon& operator=(const RunningDaemon&) = delete;

  void signal(int number) const {
    signalfd_siginfo info{};
    info.ssi_signo = static_cast<std::uint32_t>(number);
    if (::write(signals_[1], &info, sizeof info) != sizeof info) throw std::runtime_error("write");
  }
  int wait_for_end() {
    loop_.join();
    return exit_code_;
  }
  [[nodiscard]] std::uint64_t boot() const { return boot_; }
  [[nodiscard]] const std::string& client_endpoint() const { return client_lock_.endpoint(); }
  [[nodiscard]] const std::string& worker_endpoint() const { return worker_lock_.endpoint(); }
  // The same sockets over TCP.
  [[nodiscard]] const std::string& client_tcp() const { return client_tcp_; }
  [[nodiscard]] const std::string& worker_tcp() const { return worker_tcp_; }

 private:
  EndpointLock client_lock_;
  EndpointLock worker_lock_;
  std::string client_tcp_;
  std::string worker_tcp_;
  zmq::context_t context_;
  Waker waker_;
  int signals_[2] = {-1, -1};
  std::uint64_t boot_ = 0;
  int exit_code_ = -1;
  std::unique_ptr<Broker> broker_;
  std::unique_ptr<StoreThread> store_;
  std::unique_ptr<ReadThread> reads_;
  std::unique_ptr<Reactor> reactor_;
  std::thread loop_;
};

}  // namespace puzzled::test
