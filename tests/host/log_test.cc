#include "workers/host/log.h"

#include <gtest/gtest.h>
#include <spdlog/details/log_msg.h>

#include "proto/base/printable.h"

namespace puzzled::host {
namespace {

using namespace std::string_literals;

// What a daemon could put into a refusal.
const std::string kHostile = "a\"b\\c\n\x1b[2J\0\xff\xc2\x9b\xe2\x80\xae {\"level\":\"info\"}"s;

std::string line_of(const std::string& format) {
  const spdlog::details::log_msg message("puzzle-worker", spdlog::level::warn, kHostile);
  spdlog::memory_buf_t out;
  make_log_formatter(format)->format(message, out);
  return {out.data(), out.size()};
}

TEST(WorkerLog, EitherFormatIsOneLineSafeForATerminal) {
  for (const char* format : {"text", "json"}) {
    std::string line = line_of(format);
    ASSERT_TRUE(line.ends_with('\n')) << format;
    line.pop_back();
    EXPECT_TRUE(is_printable(line)) << format << testing::PrintToString(line);
  }
  EXPECT_NE(line_of("text").find(R"(a"b\c\x0a\x1b[2J\x00\xff)"), std::string::npos);
  EXPECT_NE(line_of("json").find(R"("message":"a\"b\\c\\x0a\\x1b[2J\\x00\\xff)"),
            std::string::npos);
}

}  // namespace
}  // namespace puzzled::host
