// Endpoints of the daemon: locks, stale sockets, permissions.
#pragma once

#include <string>
#include <zmq.hpp>

namespace puzzled {

// What makes an endpoint ours. For ipc: a lock on PATH.lock (closed on exec) that keeps other
// daemons away; its folder is made if there is none. For tcp the port itself is the lock, and only
// loopback addresses are allowed unless `insecure_tcp`.
// REQUIRES: outlives the ZeroMQ context, which removes the socket's file at its end: by then the
// file must not be another daemon's.
class EndpointLock {
 public:
  // Throws Fatal: not possible (configuration), or another daemon is there.
  EndpointLock(std::string endpoint, bool insecure_tcp);
  ~EndpointLock();
  EndpointLock(const EndpointLock&) = delete;
  EndpointLock& operator=(const EndpointLock&) = delete;

  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

 private:
  std::string endpoint_;
  int fd_ = -1;
};

// Binds `socket` to the locked endpoint. For ipc: a stale socket is removed, the new one gets mode
// 0600. Returns the endpoint as bound: a wildcard port has become a number. Throws Fatal as above.
std::string listen(zmq::socket_t& socket, const EndpointLock& lock);

// Whether a tcp endpoint names a loopback address ("localhost", 127.0.0.0/8, [::1]).
bool is_loopback(const std::string& tcp_endpoint);

}  // namespace puzzled
