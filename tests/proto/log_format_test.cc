#include "proto/log_format.h"

#include <gtest/gtest.h>
#include <spdlog/details/log_msg.h>

#include <nlohmann/json.hpp>

#include "proto/base/printable.h"

namespace puzzled {
namespace {

std::string line_of(const std::string& format, const std::string& who, const std::string& text) {
  const spdlog::details::log_msg message("puzzled", spdlog::level::warn, text);
  spdlog::memory_buf_t out;
  make_log_formatter(format, who)->format(message, out);
  return {out.data(), out.size()};
}

using std::string_literals::operator""s;  // keeps the NUL byte, and counts by itself
// What a peer could put into a name or a refusal.
const std::string kHostile = "a\"b\\c\n\x1b[2J\0\xff\xc2\x9b\xe2\x80\xae {\"level\":\"info\"}"s;

TEST(LogFormat, JsonLinesAreJsonWhateverIsInThem) {
  const std::string line = line_of("json", "worker", kHostile);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_TRUE(is_printable(line.substr(0, line.size() - 1)));
  const auto object = nlohmann::json::parse(line);
  EXPECT_EQ(object["level"], "warning");
  EXPECT_TRUE(object["pid"].is_number_unsigned());
  EXPECT_EQ(object["message"], printable_line(kHostile));
  EXPECT_EQ(object["time"].get<std::string>().size(),
            std::string("2024-05-01T12:00:00.123Z").size());
}

TEST(LogFormat, TextLinesStayOneLineWithoutControls) {
  const std::string line = line_of("text", "", kHostile);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_TRUE(is_printable(line.substr(0, line.size() - 1)));
  EXPECT_NE(line.find(R"(Z warning  a"b\c\x0a\x1b[2J\x00\xff)"), std::string::npos) << line;
}

TEST(LogFormat, TextLinesSayWhoWritesIntoTheLogOfAnother) {
  EXPECT_NE(line_of("text", "scaler", "up").find("Z warning  scaler["), std::string::npos);
}

}  // namespace
}  // namespace puzzled
