// Results and returns: the fence, what counts, what is acknowledged.
#include <gtest/gtest.h>

#include "tests/broker/driver.h"

namespace puzzled {
namespace {

// One job of 10 cases, all of them leased to worker 1 (peer 1) as lease 1.
struct Results : testing::Test {
  Results() {
    d.ready(1, 1);
    d.submit(1, 10);
  }
  Driver d;
};

TEST_F(Results, AreRecordedAndAcknowledgedWithTheCommit) {
  d.step(event::WaitJob{Driver::kClient, 77, JobId{1}});
  d.durable_at_once = false;
  d.results(1, 1, range(0, 10));
  ASSERT_EQ(d.recorded<record::InsertWorker>().size(), 1U);
  ASSERT_EQ(d.recorded<record::InsertResults>().size(), 1U);
  const auto inserted = d.recorded<record::InsertResults>()[0];
  EXPECT_EQ(inserted.rows.size(), 10U);
  EXPECT_EQ(inserted.solver_version, "v1");
  EXPECT_EQ(inserted.worker, d.recorded<record::InsertWorker>()[0].worker);
  EXPECT_EQ(d.recorded<record::FinishJob>().size(), 1U);
  EXPECT_EQ(d.sent_when_durable<message::Stored>().size(), 1U);
  EXPECT_EQ(d.sent_when_durable<message::JobDone>().size(), 1U);
  EXPECT_TRUE(d.effects.now.empty());
  EXPECT_TRUE(std::holds_alternative<record::InsertWorker>(d.effects.records[0]));
}

TEST_F(Results, InParts) {
  d.results(1, 1, {3, 1});
  const auto rows = d.recorded<record::InsertResults>()[0].rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].case_no, CaseNo{2});
  EXPECT_EQ(rows[0].index, 1U);
  EXPECT_EQ(rows[1].case_no, CaseNo{4});
  EXPECT_EQ(d.broker->leases(), 1U);
  d.results(1, 1, {0, 2, 4, 5, 6, 7, 8, 9}, 1, 1);
  EXPECT_EQ(d.broker->leases(), 0U);
  EXPECT_EQ(d.recorded<record::FinishJob>().size(), 1U);
}

TEST_F(Results, APositionCountsOnce) {
  d.results(1, 1, {0, 0, 1});
  EXPECT_EQ(d.recorded<record::InsertResults>()[0].rows.size(), 2U);
  d.results(1, 1, {0, 1});
  EXPECT_TRUE(d.effects.records.empty());
  EXPECT_EQ(d.sent_when_durable<message::Stored>().size(), 1U) << "the part again: stored again";
}

TEST_F(Results, NonsenseOfAPeerIsIgnored) {
  d.results(1, 1, {10, 4'000'000'000U});
  EXPECT_TRUE(d.effects.records.empty());
  auto set = make_results({0, 1}, static_cast<Verdict>(99));
  set.results[1].verdict = Verdict::kCancelled;
  d.step(event::WorkerResults{PeerId{1}, Boot{1}, LeaseId{1}, 1, 0, set, UINT64_MAX, 1});
  const auto inserted = d.recorded<record::InsertResults>().at(0);
  EXPECT_EQ(inserted.results.results[0].verdict, Verdict::kInternalError);
  EXPECT_EQ(inserted.results.results[1].verdict, Verdict::kInternalError);
  d.give_back(1, 1, {{5, 4'000'000'000U}, {4'000'000'000U, 4'000'000'000U}}, 0);
  EXPECT_EQ(d.broker->job_view(JobId{1}).leased, 3U);
}

TEST_F(Results, TheFence) {
  d.results(1, 2, {0});  // no such lease
  EXPECT_EQ(d.sent_now<message::Stale>().size(), 1U);
  d.results(1, 1, {0}, 2);  // another attempt
  EXPECT_EQ(d.sent_now<message::Stale>().size(), 1U);
  d.step(event::WorkerResults{PeerId{1}, Boot{9}, LeaseId{1}, 1, 0, make_results({0}), 1, 1});
  ASSERT_EQ(d.sent_now<message::Stale>().size(), 1U);  // another boot
  EXPECT_EQ(d.sent_now<message::Stale>()[0].boot, Boot{9});
  d.ready(2, 2);
  d.results(2, 1, {0});  // another session
  EXPECT_EQ(d.sent_now<message::Stale>().size(), 1U);
  d.results(3, 1, {0});  // a peer that never said who it is
  EXPECT_EQ(d.sent_now<message::Stale>().size(), 1U);
  EXPECT_TRUE(d.effects.records.empty());
  EXPECT_EQ(d.broker->job_view(JobId{1}).leased, 10U);
}

TEST_F(Results, ALeaseIsKnownUntilItsResultsAreDurable) {
  d.durable_at_once = false;
  d.results(1, 1, range(0, 10));
  EXPECT_EQ(d.broker->leases(), 0U);
  const std::uint64_t step = d.effects.step;
  // The worker still holds it and says so; were it told Stale, a crash now would lose the results.
  d.heartbeat(1, {1});
  EXPECT_TRUE(d.sent_now<message::Stale>().empty());
  d.results(1, 1, range(0, 10));
  EXPECT_TRUE(d.effects.records.empty());
  EXPECT_EQ(d.sent_when_durable<message::Stored>().size(), 1U);
  EXPECT_EQ(d.effects.step, step);
  d.step(event::RecordsDurable{step});
  d.results(1, 1, range(0, 10));
  EXPECT_EQ(d.sent_now<message::Stale>().size(), 1U);
}

TEST_F(Results, ReturnedCasesAreNextAndFree) {
  d.submit(2, 5);
  d.give_back(1, 1, {{4, 3}}, 2);
  auto dispatches = d.sent_now<message::Dispatch>();
  ASSERT_EQ(dispatches.size(), 1U);
  d.give_back(1, 1, {{0, 4096}}, 3);
  EXPECT_TRUE(d.recorded<record::InsertAttempt>().empty());
  for (const auto& dispatch : d.sent_now<message::Dispatch>()) dispatches.push_back(dispatch);
  std::uint32_t cases = 0;
  for (const auto& dispatch : dispatches) {
    EXPECT_EQ(dispatch.attempt, 1U);
    EXPECT_FALSE(dispatch.alone);
    for (const auto& slice : dispatch.slices) cases += slice.count;
  }
  EXPECT_EQ(cases, 15U);
  // A result for a position that was returned does not count.
  d.results(1, 1, {0});
  EXPECT_EQ(d.sent_now<message::Stale>().size(), 1U);
}

TEST_F(Results, ReturnOfAnUnknownLeaseIsStale) {
  d.give_back(1, 5, {{0, 1}});
  EXPECT_EQ(d.sent_now<message::Stale>().size(), 1U);
  d.give_back(9, 1, {{0, 1}});
  EXPECT_EQ(d.sent_now<message::Stale>().size(), 1U);
}

TEST_F(Results, AnUnsealedJobIsNotFinished) {
  Driver e;
  e.ready(1, 1);
  e.open(1);
  e.add(1, 0, 4);
  e.results(1, 1, range(0, 4));
  EXPECT_TRUE(e.recorded<record::FinishJob>().empty());
  e.seal(1, 1, 4);
  EXPECT_EQ(e.recorded<record::FinishJob>().size(), 1U);
}

}  // namespace
}  // namespace puzzled
