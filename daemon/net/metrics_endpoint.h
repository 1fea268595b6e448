// A small HTTP server on a thread of its own (libmicrohttpd):
//   /metrics   the daemon's figures, for Prometheus
//   /healthz   200 if the daemon's loop turns
//   /readyz    200 if it does and the daemon is not about to end. A pause of intake is no reason to
//              send peers away: reads go on, and workers have results to hand in
// No encryption and no password: bind it where only those reach it who may know the figures.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "daemon/net/metrics_request.h"

namespace puzzled {

class MetricsEndpoint {
 public:
  struct Options {
    std::string address;         // of parse_metrics_address(); port 0: any
    std::uint32_t timeout_ms{};  // until a request that the loop has not answered fails
  };
  // Listens. Throws Fatal (configuration: that address is not ours, or taken).
  MetricsEndpoint(const Options& options, MetricsRequest& request);
  ~MetricsEndpoint();
  MetricsEndpoint(const MetricsEndpoint&) = delete;
  MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;

  [[nodiscard]] std::string url() const;  // "http://127.0.0.1:7402"

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace puzzled
