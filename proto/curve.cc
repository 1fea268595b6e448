#include "proto/curve.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>

namespace puzzled {
namespace {

constexpr int kEvents = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

std::string describe_protocol_error(std::uint32_t value) {
  switch (value) {
    case ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH:
      return "one side encrypts and the other does not";
    case ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC:
      return "it does not open with our key: the other side has another key for us";
    default:
      return fmt::format("the other side broke the protocol (0x{:x})", value);
  }
}

SocketEvent describe(std::uint16_t event, std::uint32_t value) {
  using Kind = SocketEvent::Kind;
  switch (event) {
    case ZMQ_EVENT_DISCONNECTED:
      return {Kind::kDisconnected, "disconnected", ""};
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      return {Kind::kKeyRefused, fmt::format("the key was refused (status {})", value), ""};
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      return {Kind::kHandshakeFailed, describe_protocol_error(value), ""};
    default:
      return {Kind::kHandshakeFailed,
              fmt::format("cut off ({})",
                          value == 0 ? "no reason given" : std::strerror(static_cast<int>(value))),
              ""};
  }
}

}  // namespace

KeyPair make_key_pair() {
  std::array<char, kKeyTextBytes + 1> public_key{};
  std::array<char, kKeyTextBytes + 1> secret_key{};
  if (::zmq_curve_keypair(public_key.data(), secret_key.data()) != 0) throw zmq::error_t();
  return {public_key.data(), secret_key.data()};
}

void use_curve(zmq::socket_t& socket, const CurveKeys& keys) {
  socket.set(zmq::sockopt::curve_serverkey, keys.server_key);
  socket.set(zmq::sockopt::curve_publickey, keys.own.public_key);
  socket.set(zmq::sockopt::curve_secretkey, keys.own.secret_key);
}

void serve_curve(zmq::socket_t& socket, const KeyPair& keys) {
  socket.set(zmq::sockopt::curve_server, true);
  socket.set(zmq::sockopt::curve_secretkey, keys.secret_key);
}

void serve_plain(zmq::socket_t& socket) { socket.set(zmq::sockopt::curve_server, false); }

SocketEvents::SocketEvents(zmq::context_t& context, zmq::socket_t& socket) {
  static std::atomic<std::uint64_t> serial{0};
  const std::string name = fmt::format("inproc://socket-events-{}", ++serial);
  if (::zmq_socket_monitor(socket.handle(), name.c_str(), kEvents) != 0) throw zmq::error_t();
  reports_ = zmq::socket_t(context, zmq::socket_type::pair);
  reports_.set(zmq::sockopt::linger, 0);
  reports_.connect(name);
}

std::optional<SocketEvent> SocketEvents::next() {
  zmq::message_t what;
  if (!reports_ || !reports_.recv(what, zmq::recv_flags::dontwait)) return std::nullopt;
  zmq::message_t address;
  if (what.more()) static_cast<void>(reports_.recv(address));
  // 16 bits of event and 32 of value, in the machine's order (zmq_socket_monitor(3)).
  std::uint16_t event = 0;
  std::uint32_t value = 0;
  if (what.size() < sizeof event + sizeof value) return std::nullopt;
  std::memcpy(&event, what.data(), sizeof event);
  std::memcpy(&value, what.data<char>() + sizeof event, sizeof value);
  SocketEvent result = describe(event, value);
  result.address = address.to_string();
  return result;
}

}  // namespace puzzled
