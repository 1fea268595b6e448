// How the programs' logs look: text lines for people, or one JSON object a line for machines.
#pragma once

#include <spdlog/formatter.h>

#include <memory>
#include <string>

namespace puzzled {

// `format`: "text" or "json". `who`: what a text line calls the program, beside its process id, for
// those that write to the log of another one; empty: nothing. Times are UTC. Messages hold bytes of
// others (names, what Slurm says): each passes through printable_line().
std::unique_ptr<spdlog::formatter> make_log_formatter(const std::string& format,
                                                      const std::string& who);

}  // namespace puzzled
