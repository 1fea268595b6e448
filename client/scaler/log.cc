#include "client/scaler/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "proto/log_format.h"

namespace puzzled::scaler {

void set_up_log(const std::string& level) {
  auto logger = spdlog::stderr_color_mt("puzzle-scaler");
  logger->set_formatter(make_log_formatter("text", "scaler"));
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace puzzled::scaler
