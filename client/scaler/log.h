// The scaler's log on standard error.
#pragma once

#include <string>

namespace puzzled::scaler {

// Sets up spdlog's default logger. `level` is as in Options.
void set_up_log(const std::string& level);

}  // namespace puzzled::scaler
