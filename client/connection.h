// The connection to a daemon: requests out, replies in, whatever happens in between.
//
// Every request stays here until its reply has come. When the connection breaks, or the daemon is
// silent for too long, a new socket is opened and all unanswered requests are sent again in their
// old order with their old ids; the protocol is made so that repeating any request is harmless.
// One thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/keys.h"
#include "proto/client.pb.h"

namespace puzzled::client {

struct ConnectionOptions {
  std::vector<std::string> endpoints;  // candidates, at least one; the first that answers is used
  std::uint32_t connect_timeout_ms = 5'000;  // until the first reply ever
  std::uint32_t patience_ms = 5'000;         // silence afterwards, over all reconnects
  std::uint32_t ping_ms = 2'000;             // silence after which the daemon is asked for life
  std::uint32_t liveness_ms = 5'000;         // silence after which a new socket is opened
  std::uint32_t repeat_ms = 30'000;          // a request is repeated although the daemon lives
  std::uint32_t retry_ms = 100;              // between attempts to connect
  std::optional<CurveKeys> keys;             // for tcp endpoints; none: not encrypted
  // Told when the daemon is lost and when it is back, for people. May be empty.
  std::function<void(std::string_view)> notice;
};

class Connection {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws Failure(2) if an endpoint cannot be used.
  explicit Connection(ConnectionOptions options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Takes a request on; its id is set here and returned. Throws Failure(2) if it is over the size
  // limit. `prompt`: a reply is due soon (all but WaitJob).
  std::uint64_t send(proto::ClientRequest& request, bool prompt = true);
  // The next reply to any unanswered request; nullopt once `until` has passed. With nothing
  // unanswered this is a pause. Throws Failure(3) if the daemon stays silent beyond the timeouts,
  // Failure(130) at an interrupt.
  std::optional<proto::ClientReply> receive(Clock::time_point until);
  // One request and its reply, which may be an Error. Other replies are kept for receive().
  proto::ClientReply call(proto::ClientRequest& request);
  // Drops a request; its reply will be ignored.
  void forget(std::uint64_t id);

  [[nodiscard]] std::size_t unanswered() const { return unanswered_.size(); }
  // The endpoint in use.
  [[nodiscard]] const std::string& endpoint() const;
  // Of the protocol, as the daemon last said it. REQUIRES: it has answered something.
  [[nodiscard]] std::uint8_t daemon_minor() const { return daemon_minor_; }
  // Silence after the first reply, from now on.
  void set_patience_ms(std::uint32_t ms) { options_.patience_ms = ms; }

 private:
  struct Request {
    std::string frame;
    bool prompt = true;
    bool sent = false;  // on the present socket
    Clock::time_point sent_at;
  };
  struct Sockets;

  void open_socket();
  void choose_endpoint();
  void send_pending();
  void send_ping();
  // Waits for the sockets, at most until `until`; true if a reply arrived in `reply`.
  bool poll_once(Clock::time_point until, proto::ClientReply& reply);
  bool read_reply(proto::ClientReply& reply);
  bool read_events();  // true: the connection broke
  void lost(std::string_view why);
  // Acts on silence; the time at which it wants to look again.
  Clock::time_point check_silence();
  [[noreturn]] void give_up() const;

  ConnectionOptions options_;
  std::unique_ptr<Sockets> sockets_;
  std::size_t endpoint_ = 0;                     // index of the one in use
  std::map<std::uint64_t, Request> unanswered_;  // by id, which is their order
  std::deque<proto::ClientReply> stash_;         // for receive()
  std::uint64_t next_id_ = 1;
  bool ever_heard_ = false;
  std::uint8_t daemon_minor_ = 0;
  bool told_lost_ = false;
  bool ping_sent_ = false;
  std::string handshake_failure_;   // the last one on a connection that never came to be
  Clock::time_point silent_since_;  // last sign of life, or when a first request was sent
  Clock::time_point opened_at_;
  Clock::time_point looked_at_;  // at the silence, the last time
};

}  // namespace puzzled::client
