// The scaler's log on standard error.
#pragma once

#include <spdlog/formatter.h>

#include <memory>
#include <string>

namespace puzzled::scaler {

// Names of jobs, and what Slurm says, are others' bytes: every message passes through
// printable_line().
std::unique_ptr<spdlog::formatter> make_log_formatter();

// Sets up spdlog's default logger. `level` is as in Options.
void set_up_log(const std::string& level);

}  // namespace puzzled::scaler
