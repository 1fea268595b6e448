// Which case goes where, and how many at a time.
#include <gtest/gtest.h>

#include "tests/broker/driver.h"

namespace puzzled {
namespace {

// Most tests here do not care whether cases were kept in memory or read again.
struct LoadingDriver : Driver {
  explicit LoadingDriver(BrokerOptions options = {}) : Driver(options) { loads_at_once = true; }
};

TEST(Dispatch, OnlyDurableChunksAreDispatched) {
  Driver d;
  d.durable_at_once = false;
  d.ready(1, 1);
  d.open(1);
  d.add(1, 0, 3);
  d.tick_after(1);
  EXPECT_EQ(d.dispatched(), 0U);
  EXPECT_EQ(d.waiting_for(1), "its cases are being written to the store");
  d.step(event::RecordsDurable{1});
  EXPECT_EQ(d.dispatched(), 0U) << "the job is on disk, its chunk is not";
  d.step(event::RecordsDurable{2});
  EXPECT_EQ(d.dispatched(), 3U) << "an unsealed job runs";
}

TEST(Dispatch, TheNextOneDoesNotWaitForTheResultsCommit) {
  LoadingDriver d;
  d.submit(1, 40);
  d.ready(1, 1);
  EXPECT_EQ(d.dispatched(), 16U);
  d.durable_at_once = false;
  d.results(1, 1, range(0, 16));
  EXPECT_EQ(d.sent_when_durable<message::Stored>().size(), 1U);
  EXPECT_GT(d.dispatched(), 0U);
}

TEST(Dispatch, StopsWhileTooManyResultsWaitForTheDisk) {
  BrokerOptions options;
  options.undurable_results_bytes_max = 1000;
  LoadingDriver d(options);
  d.submit(1, 40);
  d.ready(1, 1);
  d.durable_at_once = false;
  d.results(1, 1, range(0, 16));
  EXPECT_EQ(d.dispatched(), 0U);
  EXPECT_EQ(d.waiting_for(1), "results wait for the disk, which is full or slow");
  d.step(event::RecordsDurable{d.effects.step});
  EXPECT_GT(d.dispatched(), 0U);
}

TEST(Dispatch, CreditIsCapacityLessLeases) {
  LoadingDriver d;
  d.submit(1, 1000);
  d.ready(1, 1, 3);
  EXPECT_EQ(d.sent_now<message::Dispatch>().size(), 3U);
  d.heartbeat(1, {1, 2, 3}, {}, 4);
  EXPECT_EQ(d.sent_now<message::Dispatch>().size(), 1U);
  d.heartbeat(1, {1, 2, 3, 4}, {}, 0);
  d.results(1, 1, range(0, 16), 1, 0, 0);
  EXPECT_EQ(d.dispatched(), 0U);
  EXPECT_EQ(d.broker->leases(), 3U);
}

TEST(Dispatch, ZeroCapacityIsLegal) {
  LoadingDriver d;
  d.submit(1, 10);
  d.ready(1, 1, 0);
  EXPECT_EQ(d.dispatched(), 0U);
  EXPECT_EQ(d.waiting_for(1), "the workers that could solve it accept no cases now");
}

TEST(Dispatch, AClaimedCapacityIsLimited) {
  BrokerOptions options;
  options.worker_leases_max = 2;
  options.dispatch_cases_first = 1;
  LoadingDriver d(options);
  d.submit(1, 100);
  d.ready(1, 1, 4'000'000'000U);
  EXPECT_EQ(d.broker->leases(), 2U);
}

TEST(Dispatch, OnlyToWorkersThatOfferTheSolver) {
  Driver d;
  d.ready(1, 1, 5, {"duel"});
  d.submit(1, 5, "bishops");
  EXPECT_EQ(d.broker->leases(), 0U);
  EXPECT_EQ(d.waiting_for(1), "no connected worker offers fast for bishops");
  d.ready(2, 2, 1, {"shuttle", "bishops"});
  // It was not kept in memory while nobody could solve it.
  ASSERT_EQ(d.effects.loads.size(), 1U);
  EXPECT_FALSE(d.effects.loads[0].with_done);
  d.step(event::ChunkLoaded{JobId{1}, 0, make_cases(5), {}});
  ASSERT_EQ(d.sent_now<message::Dispatch>().size(), 1U);
  EXPECT_EQ(d.effects.now[0].to, PeerId{2});
}

TEST(Dispatch, NobodyAndNothingHaveAReason) {
  Driver d;
  d.submit(1, 5);
  EXPECT_EQ(d.waiting_for(1), "no worker is connected");
  d.open(2);
  EXPECT_EQ(d.waiting_for(2),
            "the upload is not finished: go on with \"submit --resume\", or cancel the job");
  d.ready(1, 1);
  d.step(event::ChunkLoaded{JobId{1}, 0, make_cases(5), {}});
  EXPECT_EQ(d.waiting_for(1), "");
  EXPECT_EQ(d.broker->job_view(JobId{1}).leased, 5U);
  d.submit(3, 5);
  EXPECT_EQ(d.waiting_for(3),
            "all 1 slots that could solve it are busy with jobs of higher or equal priority");
  d.step(event::DrainWorkers{});
  EXPECT_EQ(d.waiting_for(3), "the daemon is shutting down");
}

TEST(Dispatch, WorkersWithMostFreeCreditFirstThenInTurn) {
  BrokerOptions options;
  options.dispatch_cases_first = 1;
  LoadingDriver d(options);
  d.ready(1, 1, 1);
  d.ready(2, 2, 3);
  d.ready(3, 3, 1);
  d.submit(1, 5);
  std::vector<std::uint64_t> order;
  for (const Send& send : d.effects.now) order.push_back(send.to.value);
  // submit() ends with the seal; the dispatches came with the chunk.
  EXPECT_EQ(d.broker->leases(), 5U);
  LoadingDriver e(options);
  e.ready(1, 1, 1);
  e.ready(2, 2, 3);
  e.ready(3, 3, 1);
  e.open(1);
  e.add(1, 0, 5);
  for (const Send& send : e.effects.now) order.push_back(send.to.value);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{2, 2, 1, 3, 2}));
}

TEST(Dispatch, SizeFollowsTheLearnedCost) {
  LoadingDriver d;
  d.submit(1, 10'000);
  d.ready(1, 1);
  EXPECT_EQ(d.dispatched(), 16U);
  // 100 us a case: 200 of them make 20 ms.
  d.step(event::WorkerResults{PeerId{1}, Boot{1}, LeaseId{1}, 1, 0, make_results(range(0, 16)),
                              1600, 1});
  EXPECT_EQ(d.dispatched(), 200U);
  // A new job of the same puzzle and solver starts with what is known.
  d.submit(2, 10'000, "bishops", 10);
  d.ready(2, 2);
  EXPECT_EQ(d.dispatched(), 200U);
}

TEST(Dispatch, BoundedByCasesAndBytes) {
  BrokerOptions options;
  options.dispatch_cases_first = 1'000'000;
  options.dispatch_cases_max = 50;
  options.dispatch_bytes_max = 1000;
  LoadingDriver d(options);
  d.ready(1, 1, 1);
  d.submit(1, 1000);
  EXPECT_EQ(d.broker->job_view(JobId{1}).leased, 50U);
  LoadingDriver e(options);
  e.ready(1, 1, 1);
  e.open(1);
  e.add(1, 0, 100, 7, 90);
  EXPECT_EQ(e.dispatched(), 11U);
  e.results(1, 1, range(0, 11));
  EXPECT_EQ(e.dispatched(), 11U);
  LoadingDriver f(options);
  f.ready(1, 1, 1);
  f.open(1);
  f.add(1, 0, 100, 7, 5000);
  EXPECT_EQ(f.dispatched(), 1U) << "a case larger than the limit goes on its own";
}

TEST(Dispatch, TheEndOfTheWorkIsShared) {
  BrokerOptions options;
  options.dispatch_cases_first = 1000;
  LoadingDriver d(options);
  d.ready(1, 1, 2);
  d.ready(2, 2, 2);
  d.open(1);
  d.add(1, 0, 40);
  std::vector<std::uint32_t> sizes;
  for (const auto& dispatch : d.sent_now<message::Dispatch>()) {
    sizes.push_back(dispatch.slices.at(0).count);
  }
  EXPECT_EQ(sizes, (std::vector<std::uint32_t>{10, 10, 10, 10}));
}

TEST(Dispatch, ASpansChunks) {
  BrokerOptions options;
  options.dispatch_cases_first = 100;
  Driver d(options);
  d.open(1);
  d.add(1, 0, 30);
  d.add(1, 1, 30);
  d.seal(1, 2, 60);
  d.ready(1, 1);
  d.step(event::ChunkLoaded{JobId{1}, 0, make_cases(30), {}});
  EXPECT_EQ(d.dispatched(), 30U);
  d.step(event::ChunkLoaded{JobId{1}, 1, make_cases(30), {}});
  d.give_back(1, 1, {{0, 30}});
  ASSERT_EQ(d.sent_now<message::Dispatch>().size(), 1U);
  EXPECT_EQ(d.sent_now<message::Dispatch>()[0].slices.size(), 2U);
  d.results(1, 2, range(0, 60));
  ASSERT_EQ(d.recorded<record::InsertResults>().size(), 1U);
  const auto rows = d.recorded<record::InsertResults>()[0].rows;
  ASSERT_EQ(rows.size(), 60U);
  for (std::uint64_t i = 0; i < 60; ++i) {
    EXPECT_EQ(rows[i].case_no.value, i + 1);
    EXPECT_EQ(rows[i].chunk_no, i / 30);
    EXPECT_EQ(rows[i].index, i);
  }
  EXPECT_EQ(d.recorded<record::FinishJob>().size(), 1U);
}

TEST(Order, HigherPriorityFirst) {
  LoadingDriver d;
  d.ready(1, 1, 0);
  d.submit(1, 5, "bishops", 0);
  d.submit(2, 5, "bishops", 1);
  d.submit(3, 5, "bishops", -1);
  std::vector<std::uint64_t> order;
  std::uint64_t lease = 0;
  d.heartbeat(1, {}, {}, 1);
  for (int i = 0; i < 3; ++i) {
    order.push_back(d.sent_now<message::Dispatch>().at(0).job.value);
    d.results(1, ++lease, range(0, 5));
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{2, 1, 3}));
}

TEST(Order, ASmallJobWaitsAboutOneDispatchBehindALargeOne) {
  LoadingDriver d;
  d.ready(1, 1, 1);
  d.open(1);
  for (ChunkNo i = 0; i < 10; ++i) d.add(1, i, 1000);
  std::uint64_t lease = 0;
  for (int i = 0; i < 5; ++i) {
    ++lease;
    d.results(1, lease, range(0, 16));
    d.results(1, lease, range(0, 4096));
  }
  d.submit(2, 1);
  d.results(1, ++lease, range(0, 4096));
  ASSERT_EQ(d.sent_now<message::Dispatch>().size(), 1U);
  EXPECT_EQ(d.sent_now<message::Dispatch>()[0].job, JobId{2});
}

TEST(Order, EqualJobsTakeTurns) {
  LoadingDriver d;
  d.ready(1, 1, 0);
  d.submit(1, 64);
  d.submit(2, 64);
  d.heartbeat(1, {}, {}, 1);
  std::vector<std::uint64_t> order;
  for (std::uint64_t lease = 1; lease <= 4; ++lease) {
    order.push_back(d.sent_now<message::Dispatch>().at(0).job.value);
    d.give_back(1, lease, {{0, 4096}});
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 2, 1, 2}));
}

TEST(Drain, TellsAllWorkersAndThoseThatComeLater) {
  LoadingDriver d;
  d.submit(1, 100);
  d.ready(1, 1);
  d.step(event::DrainWorkers{});
  EXPECT_EQ(d.sent_now<message::Drain>().size(), 1U);
  d.results(1, 1, range(0, 16));
  EXPECT_EQ(d.dispatched(), 0U);
  EXPECT_EQ(d.recorded<record::InsertResults>().size(), 1U) << "what runs still counts";
  d.ready(2, 2);
  EXPECT_EQ(d.sent_now<message::Drain>().size(), 1U);
  EXPECT_EQ(d.dispatched(), 0U);
  EXPECT_TRUE(d.workers().at(0).draining);
  d.step(event::DrainWorkers{});
  EXPECT_TRUE(d.effects.now.empty());
}

}  // namespace
}  // namespace puzzled
