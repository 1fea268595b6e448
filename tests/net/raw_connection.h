// Connections without ZeroMQ, and bytes to send over them that are nothing it knows.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/net/frames.h"

namespace puzzled::test {

// PUZZLED_SEED, or one that is drawn; printed either way.
inline std::uint64_t seed() {
  const char* given = std::getenv("PUZZLED_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cout << "PUZZLED_SEED=" << seed << '\n';
  return seed;
}

// To "tcp://127.0.0.1:PORT" or "ipc://PATH".
class RawConnection {
 public:
  explicit RawConnection(const std::string& endpoint) {
    if (endpoint.starts_with("ipc://")) {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      const std::string path = endpoint.substr(6);
      if (path.size() >= sizeof address.sun_path) throw std::runtime_error("a long path");
      std::memcpy(address.sun_path, path.data(), path.size());
      connect(AF_UNIX, address);
    } else {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      const int port = std::atoi(endpoint.substr(endpoint.rfind(':') + 1).c_str());
      address.sin_port = htons(static_cast<std::uint16_t>(port));
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      connect(AF_INET, address);
    }
  }
  ~RawConnection() { ::close(fd_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;
  // As much as the other side takes: it may have hung up.
  void send(std::string_view bytes) const {
    static_cast<void>(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }

 private:
  template <class Address>
  void connect(int family, const Address& address) {
    fd_ = ::socket(family, SOCK_STREAM, 0);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("connect");
    }
  }

  int fd_ = -1;
};

inline std::vector<std::string> garbage(std::uint64_t seed) {
  using namespace std::string_literals;
  std::mt19937_64 random(seed);
  const std::string greeting = "\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL"s + std::string(48, '\0');
  std::vector<std::string> all = {
      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s,  // a TLS hello
      std::string(1U << 16U, '\0'),
      std::string(1U << 16U, '\xff'),
      frame(open_job(1)),  // ours, but without ZMTP
      greeting.substr(0, 11),
      greeting,                                            // and then nothing
      greeting + "\x06\xff\xff\xff\xff\xff\xff\xff\xff"s,  // a command of 2^64 bytes
      greeting + "\x04\x05\x05READY"s + "\x02\x7f\xff\xff\xff\xff\xff\xff\xff"s,
  };
  for (int i = 0; i < 30; ++i) {
    std::string bytes(1 + random() % 300, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    all.push_back((i % 2 == 0 ? greeting : "") + bytes);
  }
  return all;
}

}  // namespace puzzled::test
