// Runs another program to its end and takes what it writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace puzzled::scaler {

struct ProgramEnd {
  bool started = false;
  bool timed_out = false;  // it was killed, with all that it had started
  bool too_long = false;   // likewise: it wrote more than was allowed
  int exit_code = 0;       // of a program that ended by itself; -N: by signal N
  std::string out;
  std::string err;
};

// `arguments[0]` is looked for in PATH. `environment`: NAME=VALUE, all that it gets.
ProgramEnd run_program(const std::vector<std::string>& arguments,
                       const std::vector<std::string>& environment, std::int64_t timeout_ms,
                       std::size_t output_bytes_max);

// What went wrong, for people: the first lines of its standard error if there are any. Empty if it
// ended with code 0.
std::string describe_failure(const std::string& name, const ProgramEnd& end);

}  // namespace puzzled::scaler
