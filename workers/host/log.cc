#include "workers/host/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "proto/log_format.h"

namespace puzzled::host {

void set_up_log(const std::string& level, const std::string& format) {
  auto logger = spdlog::stderr_color_mt("puzzle-worker");
  logger->set_formatter(make_log_formatter(format, "worker"));
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace puzzled::host
