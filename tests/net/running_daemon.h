// A daemon in this process: real broker, store, threads and reactor over ipc in a temporary folder
// and over TCP on free ports of loopback; and peers that speak the protocol by hand.
#pragma once

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <zmq.hpp>

#include "daemon/broker/broker.h"
#include "daemon/net/listen.h"
#include "daemon/net/reactor.h"
#include "daemon/store/store.h"
#include "daemon/store/store_thread.h"
#include "tests/net/frames.h"

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
  BrokerOptions broker;
  NetOptions net;
};

class RunningDaemon {
 public:
  explicit RunningDaemon(const std::string& folder, const DaemonSettings& settings = {})
      : client_lock_("ipc://" + folder + "/client.sock", false),
        worker_lock_("ipc://" + folder + "/worker.sock", false) {
    if (::pipe(signals_) != 0) throw std::runtime_error("pipe");
    const std::string database = folder + "/puzzled.db";
    auto store = Store::open(database, {});
    Recovery recovery = store->recover();
    boot_ = recovery.boot.value;
    const auto wake = [this] { waker_.wake(); };
    broker_ = std::make_unique<Broker>(settings.broker, std::move(recovery));
    store_ = std::make_unique<StoreThread>(std::move(store), StoreOptions{}, wake);
    reads_ = std::make_unique<ReadThread>(database, StoreOptions{}, wake);
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

// A DEALER that sends frames and waits for them.
class Dealer {
 public:
  explicit Dealer(const std::string& endpoint) : socket_(context_, zmq::socket_type::dealer) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvtimeo, 20'000);
    socket_.connect(endpoint);
  }
  void send(const std::string& frame) { socket_.send(zmq::buffer(frame), zmq::send_flags::none); }
  std::string receive() {
    zmq::message_t frame;
    if (!socket_.recv(frame)) throw std::runtime_error("no message came");
    return frame.to_string();
  }
  // Nothing came within `ms`.
  bool is_silent_for(int ms) {
    zmq::pollitem_t item{socket_.handle(), 0, ZMQ_POLLIN, 0};
    return zmq::poll(&item, 1, std::chrono::milliseconds(ms)) == 0;
  }
  zmq::socket_t& socket() { return socket_; }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
};

class ScriptedClient : public Dealer {
 public:
  using Dealer::Dealer;
  proto::ClientReply reply() {
    proto::ClientReply reply;
    if (wire::decode(receive(), wire::Role::kBroker, 64U << 20U, reply) !=
        wire::DecodeError::kNone) {
      throw std::runtime_error("the reply cannot be decoded");
    }
    return reply;
  }
  proto::ClientReply ask(const proto::ClientRequest& request) {
    send(frame(request));
    return reply();
  }
};

class ScriptedWorker : public Dealer {
 public:
  using Dealer::Dealer;
  proto::ToWorker message() {
    proto::ToWorker message;
    if (wire::decode(receive(), wire::Role::kBroker, 64U << 20U, message) !=
        wire::DecodeError::kNone) {
      throw std::runtime_error("the message cannot be decoded");
    }
    return message;
  }
  // Waits for a message with this body and gives signs of life meanwhile. Dispatches that come
  // before it are kept for later, other messages are not.
  proto::ToWorker wait_for(proto::ToWorker::BodyCase body) {
    if (body == proto::ToWorker::kDispatch && !kept_.empty()) {
      proto::ToWorker first = std::move(kept_.front());
      kept_.pop_front();
      return first;
    }
    for (int silences = 0; silences < 400;) {
      if (is_silent_for(50)) {
        ++silences;
        if (boot_ != 0) heartbeat();
        continue;
      }
      proto::ToWorker found = message();
      if (found.has_welcome()) boot_ = found.welcome().boot();
      if (found.has_dispatch()) leases_.insert(found.dispatch().lease());
      if (found.has_stored()) leases_.erase(found.stored().lease());
      if (found.body_case() == body) return found;
      if (found.has_dispatch()) kept_.push_back(std::move(found));
    }
    throw std::runtime_error("the message did not come");
  }
  void heartbeat() {
    proto::FromWorker out;
    out.mutable_heartbeat()->set_boot(boot_);
    for (const std::uint64_t lease : leases_) out.mutable_heartbeat()->add_leases(lease);
    out.mutable_heartbeat()->set_capacity(2);
    send(frame(out));
  }
  // Grades dispatches until this many cases are done.
  void grade_all(std::uint32_t cases) {
    for (std::uint32_t done = 0; done < cases;) {
      const auto dispatch = wait_for(proto::ToWorker::kDispatch).dispatch();
      grade(dispatch);
      done += dispatch.case_count();
    }
  }
  // SOLVED for every case, with its instance as its answer.
  void grade(const proto::Dispatch& dispatch) {
    proto::CaseList cases;
    cases.ParseFromString(dispatch.cases());
    proto::CaseResultList list;
    for (int i = 0; i < cases.cases_size(); ++i) {
      proto::CaseResult& result = *list.add_results();
      result.set_position(static_cast<std::uint32_t>(i));
      result.set_verdict(proto::SOLVED);
      result.set_has_answer(true);
      result.set_answer(cases.cases(i).instance());
      result.set_time_us(5);
    }
    send(frame(results(list, dispatch.boot(), dispatch.lease(), dispatch.attempt())));
  }

 private:
  std::uint64_t boot_ = 0;
  std::set<std::uint64_t> leases_;  // held: dispatched and not yet stored
  std::deque<proto::ToWorker> kept_;
};

}  // namespace puzzled::test
