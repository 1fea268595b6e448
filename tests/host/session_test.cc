// The Session's rules one by one.
#include "workers/host/session.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/host/session_support.h"

namespace puzzled::host {
namespace {

using Lines = std::vector<std::string>;

bool contains(const Lines& lines, const std::string& part) {
  return std::ranges::any_of(lines, [&](const std::string& l) { return l.find(part) != l.npos; });
}

TEST(Session, WantsTwiceItsSlots) {
  TextSession s("options slots=3");
  s.step("0 tick");
  EXPECT_EQ(s.step("1 connected"), Lines{"send Ready boot=0 leases=[] capacity=6"});
}

TEST(Session, SaysNothingBeforeTheSocketIsThere) {
  TextSession s;
  EXPECT_EQ(s.step("0 tick"), Lines{"open"});
  EXPECT_EQ(s.step("1 tick"), Lines{});
}

TEST(Session, MoreThanItsCapacityIsReturned) {
  TextSession s("options slots=1");
  s.connect();
  s.step("20 dispatch lease=1");
  s.step("20 dispatch lease=2");
  EXPECT_EQ(s.step("20 dispatch lease=3 cases=7"),
            Lines{"send Return boot=1 lease=3 attempt=1 [0+7] capacity=2"});
}

TEST(Session, TheSameLeaseTwiceIsOneLease) {
  TextSession s("options slots=1");
  s.connect();
  EXPECT_EQ(s.step("20 dispatch lease=1"), Lines{"start slot=0 lease=1"});
  EXPECT_EQ(s.step("20 dispatch lease=1"), Lines{});
  EXPECT_EQ(s.session.held_leases().size(), 1U);
}

TEST(Session, WaitingLeasesRunInOrderOnWhicheverSlotIsFree) {
  TextSession s;
  s.connect();
  for (const char* line : {"20 dispatch lease=5", "20 dispatch lease=3", "20 dispatch lease=9",
                           "20 dispatch lease=4"}) {
    s.step(line);
  }
  EXPECT_TRUE(
      contains(s.step("30 results slot=1 lease=3 bytes=9 finished"), "start slot=1 lease=9"));
  EXPECT_TRUE(
      contains(s.step("31 results slot=1 lease=9 bytes=9 finished"), "start slot=1 lease=4"));
}

// If a worker dies of a suspect, it must be known that it was this one.
TEST(Session, ASuspectRunsBesideNothingElse) {
  TextSession s("options slots=3");
  s.connect();
  s.step("20 dispatch lease=1");
  s.step("20 dispatch lease=2 alone");
  EXPECT_EQ(s.session.capacity(), 2U) << "what would wait behind it is better off elsewhere";
  EXPECT_TRUE(contains(s.step("20 dispatch lease=3"), "send Return boot=1 lease=3"));
  EXPECT_TRUE(
      contains(s.step("30 results slot=0 lease=1 bytes=9 finished"), "start slot=0 lease=2"));
  EXPECT_EQ(s.session.capacity(), 2U);
  EXPECT_FALSE(contains(s.step("40 dispatch lease=4"), "start"));
  EXPECT_TRUE(
      contains(s.step("50 results slot=0 lease=2 bytes=9 finished"), "start slot=0 lease=4"));
  EXPECT_EQ(s.session.capacity(), 6U);
}

TEST(Session, NothingWaitsBehindASuspectThatTakesLong) {
  TextSession s("options slots=2");
  s.connect();
  s.step("20 dispatch lease=1 alone");
  s.step("20 dispatch lease=2");
  EXPECT_TRUE(contains(s.step("300 late slot=0 lease=1"), "send Return boot=1 lease=2"));
  EXPECT_EQ(s.session.capacity(), 1U);
}

TEST(Session, TooManyUnansweredResultsStopNewLeases) {
  TextSession s("options slots=1 kept=100");
  s.connect();
  s.step("20 dispatch lease=1");
  EXPECT_EQ(s.step("30 results slot=0 lease=1 bytes=101 finished"),
            Lines{"send Results boot=1 lease=1 attempt=1 part=0 bytes=101 capacity=0"});
  EXPECT_EQ(s.step("40 stored lease=1 part=0"),
            Lines{"send Heartbeat boot=1 leases=[] capacity=2"});
}

TEST(Session, AFreedSlotIsToldInOneMessage) {
  TextSession s("options slots=1");
  s.connect();
  s.step("20 dispatch lease=1");
  s.step("300 late slot=0 lease=1");
  EXPECT_EQ(s.session.capacity(), 1U);
  EXPECT_EQ(s.step("400 results slot=0 lease=1 bytes=9 finished"),
            Lines{"send Results boot=1 lease=1 attempt=1 part=0 bytes=9 capacity=2"});
}

TEST(Session, ALeaseOfWhichNothingIsLeftIsForgotten) {
  TextSession s("options slots=1");
  s.connect();
  s.step("20 dispatch lease=1 cases=4");
  s.step("30 returned slot=0 lease=1 first=0 count=4");
  s.step("30 results slot=0 lease=1 bytes=0 finished");
  EXPECT_TRUE(s.session.held_leases().empty());
}

TEST(Session, OldEventsOfASlotAreIgnored) {
  TextSession s("options slots=1");
  s.connect();
  s.step("20 dispatch lease=1");
  s.step("21 revoke leases=1");
  s.step("22 dispatch lease=2");
  EXPECT_EQ(s.step("23 results slot=0 lease=1 bytes=9 finished"), Lines{});
  EXPECT_EQ(s.step("23 returned slot=0 lease=1 first=0 count=1"), Lines{});
  EXPECT_EQ(s.step("23 late slot=0 lease=1"), Lines{});
  EXPECT_EQ(s.session.held_leases(), std::vector<LeaseId>{LeaseId{2}});
}

TEST(Session, AnswersOfAnotherBootAreIgnored) {
  TextSession s("options slots=1");
  s.connect();
  s.step("20 dispatch lease=1");
  s.step("30 results slot=0 lease=1 bytes=9 finished");
  s.step("40 stored lease=1 part=0 boot=2");
  s.step("40 stale lease=1 boot=2");
  s.step("40 revoke leases=1 boot=2");
  EXPECT_EQ(s.session.held_leases().size(), 1U);
  s.step("40 stored lease=1 part=7");
  EXPECT_EQ(s.session.held_leases().size(), 1U);
  s.step("40 stored lease=1 part=0");
  EXPECT_TRUE(s.session.held_leases().empty());
}

TEST(Session, ResultsOfACutOffTimeGoOutAfterTheWelcome) {
  TextSession s("options slots=1");
  s.connect();
  s.step("20 dispatch lease=1 cases=2");
  s.step("3020 tick");  // lost
  EXPECT_EQ(s.step("3021 results slot=0 lease=1 bytes=9"), Lines{});
  s.step("3200 tick");
  EXPECT_EQ(s.step("3201 connected"), Lines{"send Ready boot=1 leases=[1] capacity=2"});
  EXPECT_EQ(s.step("3202 welcome"),
            Lines{"send Results boot=1 lease=1 attempt=1 part=0 bytes=9 capacity=2"});
}

TEST(Session, AnyMessageIsASignOfLife) {
  TextSession s;
  s.connect();
  s.step("2000 stored lease=99 part=0");
  EXPECT_FALSE(contains(s.step("3010 tick"), "close"));
  EXPECT_TRUE(contains(s.step("5000 tick"), "close"));
}

TEST(Session, AHeartbeatOfAnotherBootIsAnsweredWithReady) {
  TextSession s;
  s.connect();
  EXPECT_EQ(s.step("20 broker-heartbeat boot=2"), Lines{"send Ready boot=1 leases=[] capacity=4"});
}

TEST(Session, PausesGrowUpToALimitAndAreDrawnFromTheSeed) {
  SessionOptions options;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    options.seed = seed;
    Session session(options, 0);
    Effects effects;
    std::int64_t now = 0;
    session.step(now, event::Tick{}, effects);
    for (std::uint32_t failure = 0; failure < 12; ++failure) {
      // The patience grows as well: what the daemon has spent on a handshake is not thrown away.
      ASSERT_EQ(session.next_deadline() - now,
                std::int64_t{options.liveness_ms} << std::min(failure, 4U));
      now = session.next_deadline();
      session.step(now, event::Tick{}, effects);
      ASSERT_TRUE(effects.close);
      const std::int64_t pause = session.next_deadline() - now;
      const std::int64_t full =
          std::min<std::int64_t>(options.backoff_max_ms, options.backoff_first_ms << failure);
      EXPECT_LE(pause, full);
      EXPECT_GE(pause, full / 2);
      now += pause;
      session.step(now, event::Tick{}, effects);
      ASSERT_TRUE(effects.open);
    }
  }
}

TEST(Session, AnIdleWorkerEndsEvenWithoutABroker) {
  TextSession s("options slots=1 idle=2000");
  s.step("0 tick");
  EXPECT_EQ(s.session.next_deadline(), 2000);
  EXPECT_EQ(s.step("2000 tick"), Lines{"exit 0 \"idle\""});
}

TEST(Session, ADrainWithoutABrokerEndsInBoundedTime) {
  TextSession s("options slots=1");
  s.connect();
  s.step("20 dispatch lease=1");
  s.step("30 results slot=0 lease=1 bytes=9 finished");
  s.step("40 terminate");
  std::int64_t now = 40;
  for (int i = 0; i < 1000 && s.session.state() != Session::State::kStopped; ++i) {
    now = s.session.next_deadline();
    s.step(std::to_string(now) + " tick");
  }
  EXPECT_EQ(s.session.state(), Session::State::kStopped);
  EXPECT_LE(now, 40 + 10'000);
}

TEST(Session, AStoppedSessionDoesNothing) {
  TextSession s("options slots=1");
  s.connect();
  s.step("20 terminate");
  EXPECT_EQ(s.session.state(), Session::State::kStopped);
  EXPECT_EQ(s.session.next_deadline(), Session::kNever);
  EXPECT_EQ(s.step("21 dispatch lease=1"), Lines{});
}

}  // namespace
}  // namespace puzzled::host
