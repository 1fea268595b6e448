// An encrypted endpoint for workers, for benches: keys, the list of them, and a port.
#pragma once

#include <string>
#include <vector>

#include "proto/base/keys.h"
#include "tests/bench/daemon.h"

namespace puzzled::bench {

// Clients keep their ipc socket. All workers share one key: a list of ten thousand keys costs the
// daemon one lookup a connection, as a list of one does.
class SecureEndpoint {
 public:
  // Draws the keys with puzzlectl into `folder`. The port was free a moment ago. Ends the program
  // on failure.
  explicit SecureEndpoint(const Folder& folder);

  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
  [[nodiscard]] const CurveKeys& worker_keys() const { return worker_keys_; }
  // To be given to puzzled, and to puzzle-worker.
  [[nodiscard]] std::vector<std::string> daemon_options() const;
  [[nodiscard]] std::vector<std::string> worker_options() const;

 private:
  std::string key_;
  std::string list_;
  std::string worker_key_;
  std::string endpoint_;
  CurveKeys worker_keys_;
};

}  // namespace puzzled::bench
