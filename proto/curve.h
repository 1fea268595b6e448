// Encrypted connections as ZeroMQ does them (CURVE), and what a socket reports about handshakes:
// what all three programs need of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <zmq.hpp>

#include "proto/base/keys.h"

namespace puzzled {

// Draws a new key pair. Throws zmq::error_t if the library was built without CURVE.
KeyPair make_key_pair();

// For what the socket connects to from now on.
void use_curve(zmq::socket_t& socket, const CurveKeys& keys);
// For what it binds to from now on; connections of endpoints bound before stay as they are. No ZAP
// domain: it could not be taken back, and plain endpoints of the socket would then ask ZAP too. The
// context's ZAP endpoint is asked without one, so it must be there before this.
void serve_curve(zmq::socket_t& socket, const KeyPair& keys);
// What it binds to from now on is plain again.
void serve_plain(zmq::socket_t& socket);

struct SocketEvent {
  enum class Kind : std::uint8_t {
    kDisconnected,
    kKeyRefused,       // the other side said that this key may not connect
    kHandshakeFailed,  // anything else: no common language, wrong keys, cut off
  };
  Kind kind = Kind::kDisconnected;
  std::string text;     // what happened, for people
  std::string address;  // as ZeroMQ names the connection
};

// The reports about a socket; must be destroyed before its context. Non-blocking.
class SocketEvents {
 public:
  SocketEvents() = default;
  // Throws zmq::error_t.
  SocketEvents(zmq::context_t& context, zmq::socket_t& socket);

  // To poll; readable when next() may have something.
  [[nodiscard]] void* handle() { return reports_.handle(); }
  [[nodiscard]] bool open() const { return static_cast<bool>(reports_); }
  std::optional<SocketEvent> next();
  void close() { reports_.close(); }

 private:
  zmq::socket_t reports_;
};

}  // namespace puzzled
