// Memory stays bounded whatever the backlog, and no job is kept out by others for ever.
#include <gtest/gtest.h>

#include "tests/broker/driver.h"

namespace puzzled {
namespace {

BrokerOptions small_window(std::uint64_t all, std::uint64_t of_a_job) {
  BrokerOptions options;
  options.window_bytes_max = all;
  options.job_window_bytes_max = of_a_job;
  return options;
}

TEST(Window, WhatDoesNotFitIsReadAgainInOrder) {
  // Room for two chunks of 100 cases of 10 bytes (1,820 bytes with their bookkeeping).
  Driver d(small_window(100'000, 4'000));
  d.ready(1, 1, 0);
  d.open(1);
  for (ChunkNo i = 0; i < 5; ++i) d.add(1, i, 100);
  EXPECT_TRUE(d.effects.loads.empty());
  d.heartbeat(1, {}, {}, 1);
  std::uint64_t lease = 1;
  std::uint64_t done = 0;
  std::vector<ChunkNo> loaded;
  std::vector<LoadChunk> wanted;
  while (done < 500) {
    ASSERT_LT(lease, 1000U);
    d.results(1, lease, range(0, 100));
    for (const auto& r : d.recorded<record::InsertResults>()) done += r.rows.size();
    const bool next = d.dispatched() > 0;
    wanted = d.effects.loads;
    for (const LoadChunk& load : wanted) {
      loaded.push_back(load.chunk_no);
      EXPECT_FALSE(load.with_done);
      EXPECT_EQ(load.first_case.value, load.chunk_no * 100 + 1);
      d.step(event::ChunkLoaded{load.job, load.chunk_no, make_cases(load.case_count), {}});
    }
    if (next || d.dispatched() > 0) ++lease;
  }
  EXPECT_EQ(loaded, (std::vector<ChunkNo>{2, 3, 4}));
}

TEST(Window, AChunkLargerThanTheWindowStillRuns) {
  Driver d(small_window(100, 100));
  d.ready(1, 1, 1);
  d.submit(1, 10);
  EXPECT_EQ(d.broker->job_view(JobId{1}).leased, 10U);
  d.submit(2, 10);
  d.results(1, 1, range(0, 10));
  ASSERT_EQ(d.effects.loads.size(), 1U);
  d.step(event::ChunkLoaded{JobId{2}, 0, make_cases(10), {}});
  EXPECT_EQ(d.dispatched(), 10U);
}

TEST(Window, HigherPriorityTakesTheRoomOfLower) {
  Driver d(small_window(4'000, 4'000));
  d.ready(1, 1, 0);
  d.open(1, "bishops", 0);
  d.add(1, 0, 100);
  d.add(1, 1, 100);
  d.open(2, "bishops", 5);
  d.add(2, 0, 100);
  ASSERT_EQ(d.effects.loads.size(), 1U) << "its cases were dropped, and room was made";
  EXPECT_EQ(d.effects.loads[0].job, JobId{2});
  d.step(event::ChunkLoaded{JobId{2}, 0, make_cases(100), {}});
  d.heartbeat(1, {}, {}, 1);
  EXPECT_EQ(d.sent_now<message::Dispatch>().at(0).job, JobId{2});
}

TEST(Window, AnEqualJobGetsRoomFromOneThatCanSpareIt) {
  Driver d(small_window(4'000, 4'000));
  d.ready(1, 1, 0);
  d.open(1);
  d.add(1, 0, 100);
  d.add(1, 1, 100);
  d.open(2);
  d.add(2, 0, 100);
  ASSERT_EQ(d.effects.loads.size(), 1U);
  EXPECT_EQ(d.effects.loads[0].job, JobId{2});
  d.open(3);
  d.add(3, 0, 100);
  EXPECT_TRUE(d.effects.loads.empty()) << "nobody has a chunk to spare";
  EXPECT_EQ(d.waiting_for(3), "memory for its cases is taken by jobs of higher or equal priority");
}

TEST(Window, PutAwayCasesThatAreHalfDoneAreReadWithWhatIsDone) {
  Driver d(small_window(4'000, 4'000));
  d.ready(1, 1, 1);
  d.open(1);
  d.add(1, 0, 100);
  d.results(1, 1, range(0, 16), 1, 0, 0);
  d.open(2, "bishops", 5);
  d.add(2, 0, 100);
  d.add(2, 1, 100);
  d.heartbeat(1, {}, {}, 1);
  d.step(event::CancelJob{Driver::kClient, 1, JobId{2}, ""});
  for (const LoadChunk& load : d.effects.loads) {
    EXPECT_EQ(load.job, JobId{1});
    EXPECT_TRUE(load.with_done);
  }
}

TEST(Window, AnUnsolvablePuzzleKeepsNobodyOut) {
  Driver d(small_window(4'000, 4'000));
  d.ready(1, 1, 0, {"duel"});
  d.ready(2, 2, 0, {"bishops"});
  d.open(1, "bishops");
  d.add(1, 0, 100);
  d.add(1, 1, 100);
  d.step(event::WorkerGoodbye{PeerId{2}, ""});
  d.open(2, "duel");
  d.add(2, 0, 100);
  d.heartbeat(1, {}, {}, 1);
  EXPECT_GT(d.dispatched(), 0U) << "it was kept in memory, for there was room";
}

TEST(Window, CancelledWhileReading) {
  Driver d(small_window(2'000, 2'000));
  d.ready(1, 1, 1);
  d.open(1);
  d.add(1, 0, 10);
  d.add(1, 1, 200);
  d.results(1, 1, range(0, 10));
  ASSERT_EQ(d.effects.loads.size(), 1U);
  EXPECT_EQ(d.waiting_for(1), "its cases are being read from the store");
  d.step(event::CancelJob{Driver::kClient, 1, JobId{1}, ""});
  d.step(event::ChunkLoaded{JobId{1}, 1, make_cases(200), {}});
  EXPECT_EQ(d.dispatched(), 0U);
}

}  // namespace
}  // namespace puzzled
