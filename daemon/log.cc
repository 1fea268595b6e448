#include "daemon/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "proto/base/fatal.h"
#include "proto/log_format.h"

namespace puzzled {

void set_up_log(const DaemonOptions& options) {
  spdlog::sink_ptr sink;
  if (options.log_file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    try {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.log_file);
    } catch (const spdlog::spdlog_ex& error) {
      throw Fatal(kExitConfiguration, fmt::format("log-file: {}", error.what()));
    }
  }
  sink->set_formatter(make_log_formatter(options.log_format, ""));
  auto logger = std::make_shared<spdlog::logger>("puzzled", std::move(sink));
  const std::string level = options.log_level == "warn" ? "warning" : options.log_level;
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace puzzled
