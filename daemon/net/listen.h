// Endpoints of the daemon: locks, stale sockets, permissions.
#pragma once

#include <string>
#include <zmq.hpp>

namespace puzzled {

// Binds `socket` and holds what makes the endpoint ours. For ipc: a lock on PATH.lock (closed on
// exec) that keeps other daemons away; only under it is a stale socket removed. The socket gets
// mode 0600. For tcp: only loopback addresses unless `insecure_tcp`. Throws Fatal
// (configuration, or another daemon is there).
class Listener {
 public:
  Listener(zmq::socket_t& socket, const std::string& endpoint, bool insecure_tcp);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // As bound: a wildcard port has become a number.
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

 private:
  void lock(const std::string& socket_path);
  void bind_ipc(zmq::socket_t& socket, const std::string& path);

  std::string endpoint_;
  int lock_fd_ = -1;
};

// Whether a tcp endpoint names a loopback address ("localhost", 127.0.0.0/8, [::1]).
bool is_loopback(const std::string& tcp_endpoint);

}  // namespace puzzled
