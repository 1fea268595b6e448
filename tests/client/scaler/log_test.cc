#include "client/scaler/log.h"

#include <gtest/gtest.h>
#include <spdlog/details/log_msg.h>

namespace puzzled::scaler {
namespace {

TEST(ScalerLog, BytesOfOthersAreShownAsTextInOneLine) {
  const auto formatter = make_log_formatter();
  spdlog::memory_buf_t out;
  formatter->format({"logger", spdlog::level::warn, "sbatch: \x1b[2J\nfake line"}, out);
  const std::string line(out.data(), out.size());
  EXPECT_TRUE(line.ends_with("fake line\n")) << line;
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_NE(line.find("Z warning  scaler["), std::string::npos) << line;
}

}  // namespace
}  // namespace puzzled::scaler
