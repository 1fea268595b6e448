#include "daemon/log.h"

#include <gtest/gtest.h>
#include <spdlog/details/log_msg.h>

#include <nlohmann/json.hpp>

#include "proto/base/printable.h"

namespace puzzled {
namespace {

std::string line_of(const std::string& format, const std::string& text) {
  const spdlog::details::log_msg message("puzzled", spdlog::level::warn, text);
  spdlog::memory_buf_t out;
  make_log_formatter(format)->format(message, out);
  return {out.data(), out.size()};
}

using std::string_literals::operator""s;  // keeps the NUL byte, and counts by itself
const std::string kHostile = "a\"b\\c\n\x1b[2J\0\xff\xc2\x9b\xe2\x80\xae {\"level\":\"info\"}"s;

TEST(Log, JsonLinesAreJsonWhateverIsInThem) {
  const std::string line = line_of("json", kHostile);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_TRUE(is_printable(line.substr(0, line.size() - 1)));
  const auto object = nlohmann::json::parse(line);
  EXPECT_EQ(object["level"], "warning");
  EXPECT_EQ(object["message"].get<std::string>().substr(0, 5), "a\"b\\c");
  EXPECT_EQ(object["time"].get<std::string>().size(),
            std::string("2024-05-01T12:00:00.123Z").size());
}

TEST(Log, TextLinesStayOneLineWithoutControls) {
  const std::string line = line_of("text", kHostile);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_TRUE(is_printable(line.substr(0, line.size() - 1)));
  EXPECT_NE(line.find("warning"), std::string::npos);
}

}  // namespace
}  // namespace puzzled
