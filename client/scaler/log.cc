#include "client/scaler/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "proto/base/printable.h"

namespace puzzled::scaler {
namespace {

// %*: the message as printable_line() gives it.
class SafeMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string text = printable_line({message.payload.data(), message.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<SafeMessage>();
  }
};

}  // namespace

std::unique_ptr<spdlog::formatter> make_log_formatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<SafeMessage>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%-8l%$ scaler[%P] %*");
  return formatter;
}

void set_up_log(const std::string& level) {
  auto logger = spdlog::stderr_color_mt("puzzle-scaler");
  logger->set_formatter(make_log_formatter());
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace puzzled::scaler
