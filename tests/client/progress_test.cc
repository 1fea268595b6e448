#include "client/progress.h"

#include <gtest/gtest.h>

namespace puzzled::client {
namespace {

TEST(RateMeter, LooksAtTheLastSecondsOnly) {
  RateMeter meter;
  EXPECT_EQ(meter.per_second(), 0);
  meter.add(0, 0);
  EXPECT_EQ(meter.per_second(), 0);
  meter.add(1'000, 10);
  EXPECT_DOUBLE_EQ(meter.per_second(), 10);
  for (int second = 2; second <= 60; ++second) meter.add(second * 1'000, 10 + 100 * (second - 1));
  EXPECT_DOUBLE_EQ(meter.per_second(), 100);
}

TEST(ProgressText, RateAndTimeLeftOnceKnown) {
  EXPECT_EQ(progress_text("job 7", 0, 1000, 0, 120),
            "job 7 [>                       ]   0.0%  0/1000 cases");
  EXPECT_EQ(progress_text("job 7", 500, 1000, 50, 120),
            "job 7 [============>           ]  50.0%  500/1000 cases  50/s  10s left");
  EXPECT_EQ(progress_text("job 7", 500, 1000, 5, 120),
            "job 7 [============>           ]  50.0%  500/1000 cases  5.0/s  1m 40s left");
  EXPECT_EQ(progress_text("job 7", 1000, 1000, 1234, 120),
            "job 7 [========================] 100.0%  1000/1000 cases  1.2k/s");
}

TEST(ProgressText, TheBarFitsTheTerminal) {
  EXPECT_EQ(progress_text("job 7", 500, 1000, 50, 60),
            "job 7 [======>     ]  50.0%  500/1000 cases  50/s  10s left");
  EXPECT_EQ(progress_text("job 7", 500, 1000, 50, 20),
            "job 7 [===>  ]  50.0%  500/1000 cases  50/s  10s left");
}

TEST(ShortNumber, AboutTwoDigits) {
  EXPECT_EQ(short_number(0.25), "0.2");
  EXPECT_EQ(short_number(42), "42");
  EXPECT_EQ(short_number(4'500), "4.5k");
  EXPECT_EQ(short_number(123'456), "123k");
  EXPECT_EQ(short_number(1.25e6), "1.2M");
}

}  // namespace
}  // namespace puzzled::client
