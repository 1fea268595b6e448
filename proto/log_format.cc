#include "proto/log_format.h"

#include <spdlog/pattern_formatter.h>

#include "proto/base/printable.h"

namespace puzzled {
namespace {

// %*: the message as printable_line() gives it; in a JSON string also with what that escapes.
class SafeMessage : public spdlog::custom_flag_formatter {
 public:
  explicit SafeMessage(bool json) : json_(json) {}
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    for (const char c : printable_line({message.payload.data(), message.payload.size()})) {
      if (json_ && (c == '"' || c == '\\')) out.push_back('\\');
      out.push_back(c);
    }
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<SafeMessage>(json_);
  }

 private:
  bool json_;
};

}  // namespace

std::unique_ptr<spdlog::formatter> make_log_formatter(const std::string& format,
                                                      const std::string& who) {
  const bool json = format == "json";
  const std::string text =
      "%Y-%m-%dT%H:%M:%S.%eZ %^%-8l%$ " + (who.empty() ? "" : who + "[%P] ") + "%*";
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<SafeMessage>('*', json).set_pattern(
      json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","pid":%P,"message":"%*"})" : text);
  return formatter;
}

}  // namespace puzzled
