// Who is alive, who came back, who is told to go.
#include <gtest/gtest.h>

#include "tests/broker/driver.h"

namespace puzzled {
namespace {

struct Liveness : testing::Test {
  Liveness() {
    d.ready(1, 1);
    d.submit(1, 10);
  }
  Driver d;
};

TEST_F(Liveness, SilenceQueuesTheCasesAgain) {
  d.ready(2, 2, 0);
  d.tick_after(2'000);
  d.heartbeat(2, {}, {}, 1);
  EXPECT_EQ(d.dispatched(), 0U);
  EXPECT_LE(d.broker->next_deadline(), d.now.steady_ms + 1'000);
  d.tick_after(1'000);
  EXPECT_EQ(d.dispatched(), 10U) << "at once to the other worker";
  EXPECT_EQ(d.effects.now.at(0).to, PeerId{2});
  EXPECT_TRUE(d.recorded<record::InsertAttempt>().empty()) << "nothing was known to be solved";
  EXPECT_EQ(d.workers().size(), 1U);
  d.results(1, 1, range(0, 10));
  EXPECT_EQ(d.sent_now<message::Stale>().size(), 1U);
}

TEST_F(Liveness, WorkersAreListedByPages) {
  BrokerOptions options;
  options.workers_page_bytes_max = 1'000;
  Driver many(options);
  for (std::uint8_t start = 1; start <= 100; ++start) many.ready(start, start);
  std::vector<std::string> names;
  WorkersPage page;
  std::uint32_t pages = 0;
  do {
    page = many.broker->workers(many.now, page.next_after, pages % 2 == 0 ? 7 : 1'000);
    for (const WorkerView& worker : page.workers) names.push_back(worker.name);
    ++pages;
  } while (page.more);
  ASSERT_EQ(names.size(), 100U);
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(names[i], "w" + std::to_string(i + 1));
  EXPECT_EQ(many.broker->workers(many.now, {}, 7).workers.size(), 7U);
  EXPECT_LT(many.broker->workers(many.now, {}, 1'000).workers.size(), 100U) << "by their bytes";
}

TEST_F(Liveness, AnyMessageCountsAndHeartbeatsAreAnswered) {
  for (int i = 0; i < 5; ++i) {
    d.tick_after(2'000);
    d.heartbeat(1, {1});
    EXPECT_EQ(d.sent_now<message::Heartbeat>().size(), 1U);
  }
  d.tick_after(2'000);
  d.results(1, 1, {0});
  d.tick_after(2'000);
  EXPECT_EQ(d.broker->leases(), 1U);
}

// The daemon was stopped, and what the workers said meanwhile comes in one after the other.
TEST_F(Liveness, WhoeverWasNotListenedToIsNotSilent) {
  d.ready(2, 2);
  d.ready(3, 3);
  d.now.steady_ms += 3'600'000;
  d.heartbeat(1, {1});
  EXPECT_EQ(d.broker->workers(d.now, {}, UINT32_MAX).workers.size(), 3U);
  EXPECT_EQ(d.broker->leases(), 1U) << "it has not missed its deadline either";
  d.tick_after(2'000);
  d.heartbeat(2, {});
  d.tick_after(1'000);
  EXPECT_EQ(d.broker->workers(d.now, {}, UINT32_MAX).workers.size(), 1U)
      << "these had their time to speak";
}

TEST_F(Liveness, UnknownPeersAreAskedWhoTheyAre) {
  d.heartbeat(9, {5});
  ASSERT_EQ(d.sent_now<message::Welcome>().size(), 1U);
  EXPECT_EQ(d.sent_now<message::Welcome>()[0].boot, Boot{0});
  d.step(event::WorkerGoodbye{PeerId{9}, ""});
  d.step(event::WorkerGone{PeerId{9}});
  EXPECT_TRUE(d.effects.now.empty());
}

TEST_F(Liveness, ALeaseMissingFromTheHeartbeatIsQueuedAgain) {
  d.tick_after(1'000);
  d.heartbeat(1, {}, {}, 0);
  EXPECT_EQ(d.broker->leases(), 1U) << "the dispatch may still be on its way";
  d.tick_after(1'000);
  d.heartbeat(1, {}, {}, 0);
  EXPECT_EQ(d.broker->leases(), 0U);
  d.heartbeat(1, {}, {}, 1);
  ASSERT_EQ(d.sent_now<message::Dispatch>().size(), 1U);
  EXPECT_EQ(d.sent_now<message::Dispatch>()[0].lease, LeaseId{2});
  EXPECT_EQ(d.sent_now<message::Dispatch>()[0].attempt, 1U);
}

TEST_F(Liveness, AnUnknownLeaseInTheHeartbeatIsStale) {
  d.heartbeat(1, {1, 99});
  ASSERT_EQ(d.sent_now<message::Stale>().size(), 1U);
  EXPECT_EQ(d.sent_now<message::Stale>()[0].lease, LeaseId{99});
}

TEST_F(Liveness, AHeartbeatOfAnotherBootChangesNothing) {
  d.tick_after(2'500);
  d.step(event::WorkerHeartbeat{PeerId{1}, Boot{7}, {LeaseId{5}}, {}, 1});
  EXPECT_TRUE(d.sent_now<message::Stale>().empty());
  EXPECT_EQ(d.broker->leases(), 1U);
}

TEST_F(Liveness, ReconnectKeepsTheLeasesTheWorkerHas) {
  d.submit(2, 5);
  d.heartbeat(1, {1}, {}, 2);
  EXPECT_EQ(d.broker->leases(), 2U);
  d.ready(11, 1, 2, {"bishops"}, Boot{1}, {LeaseId{1}, LeaseId{77}});
  const auto stale = d.sent_now<message::Stale>();
  ASSERT_EQ(stale.size(), 1U);
  EXPECT_EQ(stale[0].lease, LeaseId{77});
  // The other lease was lost with the connection and is dispatched again.
  ASSERT_EQ(d.sent_now<message::Dispatch>().size(), 1U);
  EXPECT_EQ(d.sent_now<message::Dispatch>()[0].job, JobId{2});
  EXPECT_EQ(d.workers().size(), 1U);
  d.results(11, 1, range(0, 10));
  EXPECT_EQ(d.recorded<record::FinishJob>().size(), 1U);
  d.results(1, 3, {0});
  EXPECT_EQ(d.sent_now<message::Stale>().size(), 1U) << "the old connection is forgotten";
}

TEST_F(Liveness, TheNewestConnectionOfAStartIdWins) {
  d.ready(2, 1);
  ASSERT_EQ(d.sent_now<message::Refused>().size(), 1U);
  EXPECT_EQ(d.effects.now.at(0).to, PeerId{1});
}

TEST_F(Liveness, NobodyIsRefusedOnAConnectionThatIsGone) {
  d.step(event::WorkerGone{PeerId{1}});
  EXPECT_EQ(d.broker->leases(), 1U) << "it has until its liveness is over to come back";
  d.ready(2, 1, 1, {"bishops"}, Boot{1}, {LeaseId{1}});
  EXPECT_TRUE(d.sent_now<message::Refused>().empty());
  EXPECT_EQ(d.broker->leases(), 1U);
}

TEST_F(Liveness, NothingIsDispatchedToAConnectionThatIsGone) {
  d.ready(2, 2, 1);
  d.step(event::WorkerGone{PeerId{2}});
  d.submit(2, 5);
  EXPECT_EQ(d.broker->leases(), 1U);
  d.tick_after(3'000);
  EXPECT_TRUE(d.workers().empty());
}

TEST_F(Liveness, AWorkerOfAnotherBootHoldsNothing) {
  d.ready(2, 2, 0, {"bishops"}, Boot{8}, {LeaseId{1}});
  EXPECT_EQ(d.sent_now<message::Welcome>().at(0).boot, Boot{1});
  EXPECT_EQ(d.broker->leases(), 1U) << "the lease with that number is worker 1's";
  d.ready(1, 1, 0, {"bishops"}, Boot{8}, {LeaseId{1}});
  EXPECT_EQ(d.broker->leases(), 0U);
}

TEST_F(Liveness, AnotherProcessOnTheSameConnection) {
  d.loads_at_once = true;
  d.ready(1, 2);
  const auto workers = d.workers();
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_EQ(workers[0].name, "w2");
  EXPECT_EQ(d.sent_now<message::Dispatch>().size(), 1U);
}

TEST_F(Liveness, GoodbyeLeavesTheCasesFree) {
  d.heartbeat(1, {1}, {{LeaseId{1}, 3, 5}});
  d.step(event::WorkerGoodbye{PeerId{1}, "terminated"});
  EXPECT_TRUE(d.effects.records.empty());
  EXPECT_EQ(d.broker->leases(), 0U);
  EXPECT_EQ(d.broker->next_deadline() > d.now.steady_ms, true);
  d.ready(2, 2);
  d.step(event::ChunkLoaded{JobId{1}, 0, make_cases(10), {}});
  EXPECT_EQ(d.dispatched(), 10U);
  EXPECT_FALSE(d.sent_now<message::Dispatch>()[0].alone);
}

TEST_F(Liveness, TooManyWorkersAreRefused) {
  BrokerOptions options;
  options.workers_max = 1;
  Driver e(options);
  e.ready(1, 1);
  e.ready(2, 2);
  EXPECT_EQ(e.sent_now<message::Refused>().size(), 1U);
  e.step(event::WorkerGoodbye{PeerId{1}, ""});
  e.ready(2, 2);
  EXPECT_TRUE(e.sent_now<message::Refused>().empty());
}

TEST_F(Liveness, TimeRunsOutForALeaseWithoutProgress) {
  // 10 x 10 s + 10 s + 30 s, and a rounding millisecond of the limit times ten.
  const std::int64_t lease_ms = 140'010;
  for (std::int64_t t = 0; t + 1'000 < lease_ms; t += 1'000) {
    d.tick_after(1'000);
    d.heartbeat(1, {1}, {{LeaseId{1}, 3, 55}});
  }
  EXPECT_EQ(d.broker->leases(), 1U);
  d.tick_after(1'000);
  ASSERT_EQ(d.sent_now<message::Stale>().size(), 0U) << "progress was first seen after one second";
  d.heartbeat(1, {1}, {{LeaseId{1}, 3, 55}}, 0);
  d.tick_after(1'000);
  ASSERT_EQ(d.sent_now<message::Stale>().size(), 1U);
  EXPECT_EQ(d.broker->leases(), 0U);
  EXPECT_TRUE(d.workers().empty());
  EXPECT_TRUE(d.recorded<record::InsertAttempt>().empty());
  // The case it hung on runs alone from now on; the worker is served last.
  d.ready(1, 1, 1);
  d.ready(2, 2, 1);
  d.step(event::ChunkLoaded{JobId{1}, 0, make_cases(10), {}});
  const auto dispatches = d.sent_now<message::Dispatch>();
  ASSERT_EQ(dispatches.size(), 2U);
  EXPECT_TRUE(dispatches[0].alone);
  EXPECT_EQ(d.effects.now.at(0).to, PeerId{2});
  EXPECT_EQ(dispatches[0].slices[0].first, 3U);
}

TEST_F(Liveness, ProgressKeepsALeaseForAnyTime) {
  for (std::uint64_t t = 0; t < 400; ++t) {
    d.tick_after(1'000);
    d.heartbeat(1, {1}, {{LeaseId{1}, 3, t}});
  }
  EXPECT_EQ(d.broker->leases(), 1U);
}

TEST_F(Liveness, ALeaseWaitsBehindOneThatGetsOn) {
  d.submit(2, 5);
  d.heartbeat(1, {1}, {}, 2);
  for (std::uint64_t t = 0; t < 400; ++t) {
    d.tick_after(1'000);
    d.heartbeat(1, {1, 2}, {{LeaseId{1}, 3, t}}, 2);
  }
  EXPECT_EQ(d.broker->leases(), 2U);
}

TEST(Deadlines, NoneWhenNothingIsGoingOn) {
  Driver d;
  EXPECT_LE(d.broker->next_deadline(), 0) << "the first step is wanted at once";
  d.tick_after(1);
  EXPECT_EQ(d.broker->next_deadline(), kNever);
  d.ready(1, 1);
  EXPECT_EQ(d.broker->next_deadline(), d.now.steady_ms + 3'000);
}

}  // namespace
}  // namespace puzzled
