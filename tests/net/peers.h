// Peers that speak the protocol by hand.
#pragma once

#include <chrono>
#include <deque>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <zmq.hpp>

#include "tests/net/frames.h"

namespace puzzled::test {

// A DEALER that sends frames and waits for them.
class Dealer {
 public:
  static constexpr int kUnreadMax = 1'000;  // ZeroMQ's default
  // At most `unread_max` messages wait here until they are received: with ZeroMQ's default a peer
  // that "reads nothing" takes a thousand.
  explicit Dealer(const std::string& endpoint, int unread_max = kUnreadMax)
      : socket_(context_, zmq::socket_type::dealer) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvhwm, unread_max);
    socket_.set(zmq::sockopt::rcvtimeo, 60'000);
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
    for (int silences = 0; silences < 1'200;) {
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
