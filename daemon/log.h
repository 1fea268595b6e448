// What the daemon writes about itself: text lines, or one JSON object a line. Either way the
// message passes through printable_line().
#pragma once

#include <spdlog/formatter.h>
#include <memory>

#include "daemon/options.h"

namespace puzzled {

// Sets spdlog's default logger up. Throws Fatal if the file cannot be opened.
void set_up_log(const DaemonOptions& options);

// "text" or "json".
std::unique_ptr<spdlog::formatter> make_log_formatter(const std::string& format);

}  // namespace puzzled
