// Checks a database file with the daemon's own program, which knows what is in it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "proto/client.pb.h"

namespace puzzled::client {

struct DatabaseCheck {
  std::function<void(const proto::Finding&)> found;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  // chunks
};

// Runs "puzzled --check FILE": the program beside this one, else the one in PATH. Throws Failure:
// a daemon uses the file (4), it cannot be read (74), there is no such program (2).
void check_database(const std::string& path, const DatabaseCheck& check);

}  // namespace puzzled::client
