// The worker's log on standard error: text for people or JSON lines for machines.
#pragma once

#include <spdlog/formatter.h>

#include <memory>
#include <string>

namespace puzzled::host {

// "text" or "json"; either way the message passes through printable_line().
std::unique_ptr<spdlog::formatter> make_log_formatter(const std::string& format);

// Sets up spdlog's default logger. `level` and `format` are as in Options.
void set_up_log(const std::string& level, const std::string& format);

}  // namespace puzzled::host
