// The command line of puzzle-worker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "proto/base/keys.h"
#include "proto/base/labels.h"

namespace puzzled::host {

inline constexpr int kExitUsage = 2;

struct Options {
  std::string endpoint;           // of the broker's worker socket; never empty after parsing
  std::optional<CurveKeys> keys;  // for a tcp endpoint; none: not encrypted
  std::uint32_t slots = 1;
  std::string name;  // for people; at most wire::kNameBytesMax bytes
  Labels labels;
  std::int64_t idle_timeout_ms = 0;   // 0: never
  std::int64_t give_up_after_ms = 0;  // 0: never
  int exit_with_parent_fd = -1;       // -1: none
  std::string log_level = "info";     // trace debug info warn error off
  std::string log_format = "text";    // text or json
};

// Reads flags and environment into `options`. nullopt: go on; else the exit code of a program that
// is to end now, its help, version or error already printed.
std::optional<int> parse_options(int argc, char** argv, Options& options);

}  // namespace puzzled::host
