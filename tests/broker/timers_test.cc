#include "daemon/broker/timers.h"

#include <gtest/gtest.h>

namespace puzzled::broker {
namespace {

TEST(Timers, ComeUpInOrderAndNotTooEarly) {
  Timers timers;
  std::int64_t a = kNever;
  std::int64_t b = kNever;
  EXPECT_EQ(timers.next(), kNever);
  timers.arm(30, Timers::Kind::kSession, 1, a);
  timers.arm(20, Timers::Kind::kUpload, 2, b);
  EXPECT_EQ(timers.next(), 20);
  EXPECT_FALSE(timers.pop(19));
  EXPECT_EQ(timers.pop(40)->id, 2U);
  EXPECT_EQ(timers.pop(40)->id, 1U);
  EXPECT_FALSE(timers.pop(40));
}

TEST(Timers, LaterIsFreeEarlierIsAnEntry) {
  Timers timers;
  std::int64_t armed = kNever;
  timers.arm(30, Timers::Kind::kSession, 1, armed);
  timers.arm(50, Timers::Kind::kSession, 1, armed);
  EXPECT_EQ(armed, 30);
  timers.arm(10, Timers::Kind::kSession, 1, armed);
  EXPECT_EQ(armed, 10);
  EXPECT_EQ(timers.next(), 10);
  EXPECT_TRUE(timers.pop(100));
  EXPECT_EQ(timers.pop(100)->at_ms, 30) << "an old entry; its owner knows by the time";
  EXPECT_FALSE(timers.pop(100));
}

}  // namespace
}  // namespace puzzled::broker
