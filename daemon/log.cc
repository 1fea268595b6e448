#include "daemon/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "proto/base/fatal.h"
#include "proto/base/printable.h"

namespace puzzled {
namespace {

// UTC, e.g. 2024-05-01T12:00:00.123Z
std::string timestamp(spdlog::log_clock::time_point time) {
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(spdlog::log_clock::to_time_t(time)),
                     ms % 1'000);
}

std::string level_name(spdlog::level::level_enum level) {
  const auto name = spdlog::level::to_string_view(level);
  return {name.data(), name.size()};
}

void append(const std::string& line, spdlog::memory_buf_t& out) {
  out.append(line.data(), line.data() + line.size());
}

class TextFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    append(fmt::format("{} {:<8} {}\n", timestamp(message.time), level_name(message.level),
                       printable_line({message.payload.data(), message.payload.size()})),
           out);
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<TextFormatter>();
  }
};

class JsonFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const nlohmann::ordered_json object = {
        {"time", timestamp(message.time)},
        {"level", level_name(message.level)},
        {"pid", ::getpid()},
        // JSON by itself would let C1 controls and bytes that are not UTF-8 through.
        {"message", printable_line({message.payload.data(), message.payload.size()})},
    };
    append(object.dump() + '\n', out);
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

}  // namespace

std::unique_ptr<spdlog::formatter> make_log_formatter(const std::string& format) {
  if (format == "json") return std::make_unique<JsonFormatter>();
  return std::make_unique<TextFormatter>();
}

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
  sink->set_formatter(make_log_formatter(options.log_format));
  auto logger = std::make_shared<spdlog::logger>("puzzled", std::move(sink));
  const std::string level = options.log_level == "warn" ? "warning" : options.log_level;
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace puzzled
