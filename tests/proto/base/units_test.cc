#include "proto/base/units.h"

#include <gtest/gtest.h>

namespace puzzled {
namespace {

TEST(Units, ReadsDurations) {
  EXPECT_EQ(parse_duration_us("10s"), 10'000'000U);
  EXPECT_EQ(parse_duration_us("500ms"), 500'000U);
  EXPECT_EQ(parse_duration_us("1.5s"), 1'500'000U);
  EXPECT_EQ(parse_duration_us("2m"), 120'000'000U);
  EXPECT_EQ(parse_duration_us("2min"), 120'000'000U);
  EXPECT_EQ(parse_duration_us("24h"), 86'400'000'000U);
  EXPECT_EQ(parse_duration_us("7us"), 7U);
  EXPECT_EQ(parse_duration_us("0"), 0U);
}

TEST(Units, RefusesWhatIsNoDuration) {
  for (const char* text : {"", "s", "10", "-1s", "+1s", "1 s", "1.s", ".5s", "1.5.5s", "1e3s",
                           "10S", "10sec", "99999999999999999999s", "5000000000000000d", " 1s"}) {
    EXPECT_FALSE(parse_duration_us(text)) << text;
  }
}

TEST(Units, WritesDurationsThatReadBack) {
  EXPECT_EQ(format_duration_us(10'000'000), "10s");
  EXPECT_EQ(format_duration_us(1'500'000), "1500ms");
  EXPECT_EQ(format_duration_us(120'000'000), "2m");
  EXPECT_EQ(format_duration_us(86'400'000'000), "1d");
  EXPECT_EQ(format_duration_us(0), "0s");
  for (std::uint64_t us = 1; us < 1'000'000'000'000; us = us * 7 / 3 + 11) {
    EXPECT_EQ(parse_duration_us(format_duration_us(us)), us);
  }
}

TEST(Units, ReadsSizes) {
  EXPECT_EQ(parse_size("256MiB"), 256U << 20U);
  EXPECT_EQ(parse_size("1.5KiB"), 1536U);
  EXPECT_EQ(parse_size("2GB"), 2'000'000'000U);
  EXPECT_EQ(parse_size("77"), 77U);
  EXPECT_EQ(parse_size("77B"), 77U);
  for (const char* text : {"", "MiB", "-1B", "1mib", "1M", "1 MiB", "4194305TiB", "1.5"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

TEST(Units, WritesSizesThatReadBack) {
  EXPECT_EQ(format_size(256U << 20U), "256MiB");
  EXPECT_EQ(format_size(1000), "1000B");
  EXPECT_EQ(format_size(0), "0B");
  for (std::uint64_t bytes = 1; bytes < 1ULL << 50U; bytes = bytes * 7 / 3 + 11) {
    EXPECT_EQ(parse_size(format_size(bytes)), bytes);
  }
}

TEST(Units, ApproximatesForPeople) {
  EXPECT_EQ(approximate_duration_us(713), "713us");
  EXPECT_EQ(approximate_duration_us(15'230), "15.2ms");
  EXPECT_EQ(approximate_duration_us(9'812'000), "9.81s");
  EXPECT_EQ(approximate_duration_us(250'000'000), "4m 10s");
  EXPECT_EQ(approximate_duration_us(11'520'000'000), "3h 12m");
  EXPECT_EQ(approximate_duration_us(187'200'000'000), "2d 4h");
  EXPECT_EQ(approximate_size(812), "812B");
  EXPECT_EQ(approximate_size(62'771), "61.3KiB");
  EXPECT_EQ(approximate_size(1'509'949), "1.44MiB");
}

}  // namespace
}  // namespace puzzled
