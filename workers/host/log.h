// The worker's log on standard error: text for people or JSON lines for machines.
#pragma once

#include <string>

namespace puzzled::host {

// Sets up spdlog's default logger. `level` and `format` are as in Options.
void set_up_log(const std::string& level, const std::string& format);

}  // namespace puzzled::host
