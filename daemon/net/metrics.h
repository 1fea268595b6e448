// The daemon's figures as Prometheus reads them (text exposition format 0.0.4).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "daemon/broker/broker.h"
#include "daemon/net/codec.h"
#include "daemon/store/commit_counts.h"

namespace puzzled {

// One moment of the daemon, as the reactor gives it. Counts are since the daemon's start.
struct Metrics {
  codec::DaemonFacts facts;
  codec::DaemonLoad load;
  Demand demand;
  CommitCounts commits;
  std::uint64_t answer_bytes = 0;  // of answers that can be found again
  bool is_draining = false;
  std::uint64_t refused_client_messages = 0;  // that could not be read
  std::uint64_t refused_worker_messages = 0;
  std::uint64_t refused_connections = 0;  // over a limit, or for want of descriptors
};

// What the system says about this process.
struct ProcessFigures {
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t open_files = 0;
  std::uint64_t open_files_max = 0;
};
ProcessFigures process_figures();

// Every figure with its help and type, in an order that does not change.
std::string metrics_text(const Metrics& metrics, const ProcessFigures& process);

}  // namespace puzzled
