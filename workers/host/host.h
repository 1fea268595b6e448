// The worker's one thread: moves frames between the broker and the Session, carries out what the
// Session wants, and waits for sockets, slots, signals and deadlines.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "proto/base/keys.h"
#include "proto/curve.h"
#include "proto/wire.h"
#include "workers/host/codec.h"
#include "workers/host/session.h"
#include "workers/host/slot.h"

namespace puzzled::host {

struct HostOptions {
  std::string endpoint;
  std::optional<CurveKeys> keys;  // for a tcp endpoint; none: not encrypted
  Identity identity;
  SessionOptions session;  // its slots are those of the identity
  SlotOptions slot;
  int exit_with_parent_fd = -1;
  // Readable when SIGTERM or SIGINT has come (a signalfd); not owned.
  int signal_fd = -1;
};

inline constexpr int kExitBug = 70;

class Host {
 public:
  // Throws std::system_error or zmq::error_t if the system does not give us what we need.
  explicit Host(const HostOptions& options);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Until the worker is to end; returns its exit code.
  int run();

 private:
  void wait();
  [[nodiscard]] std::int64_t next_deadline_ns() const;
  void read_signals();
  void read_socket();
  void read_handshakes();
  void serve_slots();
  void tick();
  void tell_alive();
  void step(const Event& event);
  void carry_out(Effects& effects);
  void carry_out(const command::Start& c);
  void carry_out(const command::Trim& c);
  void carry_out(const command::Abort& c);
  void carry_out(const command::Kill& c);
  void handle_slot_events();
  void open_socket();
  void close_socket(int linger_ms);
  void flush();
  void warn_of_old_daemon(wire::Version daemon);
  void check_slots();

  HostOptions options_;
  zmq::context_t context_;
  zmq::socket_t socket_;       // empty while there is no connection
  SocketEvents events_;        // of the socket, while there is one
  bool told_failure_ = false;  // a failed handshake is logged once a socket
  bool told_old_daemon_ = false;
  std::int64_t alive_ns_ = Slot::kNever;  // when a watchdog is told that the loop turns
  bool connecting_ = false;               // Connected is still to be told
  std::deque<std::string> outbox_;        // frames that the socket did not take yet
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Event> slot_events_;
  Session session_;
  Session::State state_ = Session::State::kConnecting;  // last logged
  std::optional<int> exit_code_;

  std::vector<zmq::pollitem_t> poll_items_;
};

}  // namespace puzzled::host
