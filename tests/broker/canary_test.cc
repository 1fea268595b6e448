// Canaries: how they are mixed in, what a good one proves, what a failed one takes back.
#include <gtest/gtest.h>

#include "proto/base/digest.h"
#include "tests/broker/driver.h"

namespace puzzled {
namespace {

constexpr std::string_view kRight = "right";

BrokerOptions every_dispatch() {
  BrokerOptions options;
  options.canary_rate = 1;
  options.dispatch_cases_max = 5;  // four and a canary, whatever the cost
  return options;
}

// A broker with job 1 done and marked: its two cases are the canaries of bishops/fast.
class CanaryTest : public ::testing::Test {
 protected:
  explicit CanaryTest(BrokerOptions options = every_dispatch()) : d(options) {
    d.loads_at_once = true;
    d.submit(1, 2);
    d.ready(50, 50, 1);
    d.results(50, 1, {0, 1});
    d.step(event::WorkerGoodbye{PeerId{50}, "done"});
    EXPECT_EQ(d.step(event::MarkCanary{Driver::kClient, ++d.request, JobId{1}, false})
                  .canary_loads.size(),
              1U);
    answer_load();
  }

  void answer_load() {
    ASSERT_EQ(d.effects.canary_loads.size(), 1U);
    event::CanariesLoaded loaded;
    loaded.job = d.effects.canary_loads[0].job;
    loaded.chunk_no = d.effects.canary_loads[0].chunk_no;
    loaded.epoch = d.effects.canary_loads[0].epoch;
    loaded.first_case = CaseNo{1};
    loaded.cases = canaries;
    for (std::uint32_t i = 0; i < 2; ++i) {
      loaded.known.push_back({.index = i,
                              .verdict = Verdict::kSolved,
                              .has_answer = true,
                              .answer_bytes = kRight.size(),
                              .answer_digest = wire::digest_of(kRight)});
    }
    d.step(std::move(loaded));
  }

  // Where the canary is in the only dispatch of the last step.
  [[nodiscard]] std::uint32_t canary_position() const {
    const auto dispatches = d.sent_now<message::Dispatch>();
    EXPECT_EQ(dispatches.size(), 1U);
    std::uint32_t position = 0;
    for (const message::Slice& slice : dispatches.at(0).slices) {
      if (slice.cases == canaries) return position;
      position += slice.count;
    }
    ADD_FAILURE() << "there is none";
    return 0;
  }
  [[nodiscard]] std::uint64_t lease() const {
    return d.sent_now<message::Dispatch>().at(0).lease.value;
  }

  // All of a dispatch, with this answer to its canary.
  Effects& answer(std::uint64_t peer, std::uint64_t lease, std::uint32_t count,
                  std::uint32_t canary, std::string_view says, std::uint32_t part = 0) {
    event::WorkerResults e{
        PeerId{peer}, Boot{1}, LeaseId{lease}, 1, part, make_results(range(0, count)), 1'000, 1};
    for (CaseResult& result : e.results.results) {
      if (result.position != canary) continue;
      result.has_answer = true;
      result.answer = says;
    }
    return d.step(std::move(e));
  }

  const ChunkCasesPtr canaries = make_cases(2);
  Driver d;
};

TEST_F(CanaryTest, IsACaseMoreInADispatchAndCountsInNoJob) {
  d.submit(2, 10);
  d.ready(1, 1);
  ASSERT_EQ(d.dispatched(), 5U) << "four cases and the canary";
  const std::uint32_t canary = canary_position();
  answer(1, lease(), 5, canary, kRight);
  const auto inserted = d.recorded<record::InsertResults>();
  ASSERT_EQ(inserted.size(), 1U);
  EXPECT_EQ(inserted[0].job, JobId{2});
  ASSERT_EQ(inserted[0].rows.size(), 4U);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(inserted[0].rows[i].case_no.value, i + 1);
  EXPECT_GT(inserted[0].stretch, 0U) << "nothing has proven them yet";
  EXPECT_EQ(d.sent_when_durable<message::Stored>().size(), 1U);
  EXPECT_EQ(d.workers().at(0).canaries_passed, 1U);
  EXPECT_EQ(d.workers().at(0).cases_done, 4U);
}

TEST_F(CanaryTest, AGoodOneProvesWhatWasStoredBeforeItWentOut) {
  d.submit(2, 30);
  d.ready(1, 1);
  std::uint32_t canary = canary_position();
  answer(1, lease(), d.dispatched(), canary, kRight);
  const std::uint64_t first = d.recorded<record::InsertResults>().at(0).stretch;
  EXPECT_TRUE(d.recorded<record::ForgetStretch>().empty())
      << "these results came after the canary had gone out";
  canary = canary_position();
  answer(1, lease(), d.dispatched(), canary, kRight);
  ASSERT_EQ(d.recorded<record::ForgetStretch>().size(), 1U);
  EXPECT_EQ(d.recorded<record::ForgetStretch>()[0].stretch, first);
  EXPECT_GT(d.recorded<record::InsertResults>().at(0).stretch, first);
}

TEST_F(CanaryTest, WhoFailsOneIsTakenOutAndItsUnprovenResultsAreGradedAgain) {
  d.submit(2, 8);
  d.ready(1, 1);
  std::uint32_t canary = canary_position();
  answer(1, lease(), d.dispatched(), canary, kRight);  // four cases
  canary = canary_position();
  const std::uint32_t count = d.dispatched();
  answer(1, lease(), count, canary, "wrong");
  EXPECT_TRUE(d.recorded<record::InsertResults>().empty()) << "nothing of that part counts";
  EXPECT_TRUE(d.sent_when_durable<message::Stored>().empty());
  const auto revised = d.recorded<record::ReviseResults>();
  ASSERT_EQ(revised.size(), 1U);
  EXPECT_EQ(revised[0].job, JobId{2});
  EXPECT_EQ(revised[0].first_case, CaseNo{1});
  EXPECT_EQ(revised[0].count, 4U);
  EXPECT_TRUE(d.recorded<record::ReopenJob>().empty()) << "it was open";
  ASSERT_EQ(d.recorded<record::BarWorker>().size(), 1U);
  EXPECT_EQ(d.recorded<record::BarWorker>()[0].barred.name, "w1");
  ASSERT_EQ(d.sent_when_durable<message::Refused>().size(), 1U);
  EXPECT_EQ(d.effects.notices.size(), 1U);
  EXPECT_TRUE(d.workers().empty());
  // Another host does all of it.
  event::WorkerReady other;
  other.peer = PeerId{2};
  other.start_id = bytes16(2);
  other.host = "elsewhere";
  other.capacity = 1;
  other.offers.push_back({"bishops", "fast", "v1"});
  d.step(std::move(other));
  std::uint64_t done = 0;
  for (int i = 0; i < 10 && done < 8; ++i) {
    canary = canary_position();
    answer(2, lease(), d.dispatched(), canary, kRight);
    for (const auto& r : d.recorded<record::InsertResults>()) done += r.rows.size();
  }
  EXPECT_EQ(done, 8U);
  EXPECT_EQ(d.recorded<record::FinishJob>().size(), 1U);
}

TEST_F(CanaryTest, AJobThatWasDoneRunsAgain) {
  d.submit(2, 4);
  d.submit(3, 4);
  d.ready(1, 1);
  std::uint32_t canary = canary_position();
  answer(1, lease(), d.dispatched(), canary, kRight);
  ASSERT_EQ(d.recorded<record::FinishJob>().at(0).job, JobId{2});
  canary = canary_position();
  answer(1, lease(), d.dispatched(), canary, "wrong");
  ASSERT_EQ(d.recorded<record::ReopenJob>().size(), 1U);
  EXPECT_EQ(d.recorded<record::ReopenJob>()[0].job, JobId{2});
  EXPECT_EQ(d.broker->open_job_count(), 2U);
  d.step(event::WaitJob{Driver::kClient, ++d.request, JobId{2}});
  EXPECT_TRUE(d.sent_when_durable<message::JobDone>().empty()) << "who asks now waits";
  d.step(event::AdmitWorker{Driver::kClient, ++d.request, "w1"});
  EXPECT_EQ(d.sent_when_durable<message::WorkerAdmitted>().at(0).count, 1U);
  d.ready(2, 2);
  std::size_t finished = 0;
  for (int i = 0; i < 4 && finished < 2; ++i) {
    canary = canary_position();
    answer(2, lease(), d.dispatched(), canary, kRight);
    finished += d.recorded<record::FinishJob>().size();
  }
  EXPECT_EQ(finished, 2U);
}

TEST_F(CanaryTest, ABarredHostComesBackWithAnotherVersionOrWhenItIsLetIn) {
  d.submit(2, 4);
  d.ready(1, 1);
  answer(1, lease(), d.dispatched(), canary_position(), "wrong");
  d.ready(2, 2);
  ASSERT_EQ(d.sent_when_durable<message::Refused>().size(), 1U) << "another process, the same host";
  EXPECT_NE(d.sent_when_durable<message::Refused>()[0].text.find("failed a canary"),
            std::string::npos);
  EXPECT_TRUE(d.workers().empty());
  event::WorkerReady newer;
  newer.peer = PeerId{3};
  newer.start_id = bytes16(3);
  newer.host = "here";
  newer.offers.push_back({"bishops", "fast", "v2"});
  d.step(std::move(newer));
  EXPECT_EQ(d.workers().size(), 1U);
  d.step(event::AdmitWorker{Driver::kClient, ++d.request, "nobody"});
  EXPECT_EQ(d.sent_when_durable<message::WorkerAdmitted>().at(0).count, 0U);
  d.step(event::AdmitWorker{Driver::kClient, ++d.request, "here"});
  EXPECT_EQ(d.sent_when_durable<message::WorkerAdmitted>().at(0).count, 1U);
  d.ready(4, 4);
  EXPECT_EQ(d.workers().size(), 2U);
}

TEST_F(CanaryTest, AJobIsDoneThoughACanaryIsStillOpen) {
  d.submit(2, 4);
  d.ready(1, 1);
  const std::uint64_t id = lease();
  const std::uint32_t canary = canary_position();
  std::vector<std::uint32_t> others;
  for (std::uint32_t i = 0; i < 5; ++i) {
    if (i != canary) others.push_back(i);
  }
  d.results(1, id, others);
  EXPECT_EQ(d.recorded<record::FinishJob>().size(), 1U);
  EXPECT_EQ(d.broker->leases(), 1U) << "the canary is still to come";
  event::WorkerResults late{PeerId{1}, Boot{1}, LeaseId{id}, 1, 1, make_results({canary}), 10, 1};
  late.results.results[0].has_answer = true;
  late.results.results[0].answer = "wrong";
  d.step(std::move(late));
  EXPECT_EQ(d.recorded<record::ReopenJob>().size(), 1U);
  EXPECT_EQ(d.broker->leases(), 0U);
}

TEST_F(CanaryTest, WhatWorkersOfAnUnmarkedJobSayMeansNothing) {
  d.submit(2, 4);
  d.ready(1, 1);
  const std::uint64_t id = lease();
  const std::uint32_t canary = canary_position();
  d.step(event::MarkCanary{Driver::kClient, ++d.request, JobId{1}, true});
  EXPECT_EQ(d.sent_when_durable<message::CanaryMarked>().size(), 1U);
  answer(1, id, 5, canary, "wrong");
  EXPECT_EQ(d.recorded<record::FinishJob>().size(), 1U);
  EXPECT_EQ(d.workers().size(), 1U);
  EXPECT_EQ(d.recorded<record::InsertResults>().at(0).stretch, 0U);
}

TEST_F(CanaryTest, OnlyJobsThatAreDoneAreMarked) {
  d.submit(2, 4);
  d.step(event::MarkCanary{Driver::kClient, ++d.request, JobId{2}, false});
  EXPECT_EQ(d.error(), message::ErrorCode::kInvalidArgument);
  d.step(event::MarkCanary{Driver::kClient, ++d.request, JobId{9}, false});
  EXPECT_EQ(d.error(), message::ErrorCode::kUnknownJob);
  d.step(event::CancelJob{Driver::kClient, ++d.request, JobId{2}, ""});
  d.step(event::MarkCanary{Driver::kClient, ++d.request, JobId{2}, false});
  EXPECT_EQ(d.error(), message::ErrorCode::kJobCancelled);
  d.step(event::MarkCanary{Driver::kClient, ++d.request, JobId{1}, false});
  EXPECT_TRUE(d.recorded<record::MarkCanary>().empty()) << "it is marked already";
  EXPECT_EQ(d.sent_when_durable<message::CanaryMarked>().size(), 1U);
}

TEST_F(CanaryTest, ALimitThatACanaryMightExceedKeepsItOut) {
  JobSpec spec;
  spec.puzzle = "bishops";
  spec.solver = "fast";
  spec.limits.answer_bytes_max = kRight.size() - 1;
  d.step(event::OpenJob{Driver::kClient, ++d.request, bytes16(2), spec});
  d.add(2, 0, 4);
  d.seal(2, 1, 4);
  d.ready(1, 1);
  EXPECT_EQ(d.dispatched(), 4U);
}

TEST_F(CanaryTest, AWorkerThatComesBackIsStillLiableAndTestedFirst) {
  d.submit(2, 12);
  d.ready(1, 1);
  answer(1, lease(), d.dispatched(), canary_position(), kRight);
  d.step(event::WorkerGoodbye{PeerId{1}, "drained"});
  d.ready(2, 1);  // the same process, on another connection
  answer(2, lease(), d.dispatched(), canary_position(), "wrong");
  ASSERT_EQ(d.recorded<record::ReviseResults>().size(), 1U);
  EXPECT_EQ(d.recorded<record::ReviseResults>()[0].count, 4U);
}

TEST_F(CanaryTest, ResultsOfTheCanariesThemselvesAreTakenBackToo) {
  // The canaries were graded by the worker that turns out to be broken.
  Recovery recovery = Driver::first_boot();
  recovery.last_job = JobId{1};
  recovery.last_worker = WorkerNo{7};
  RecoveredJob job;
  job.job = JobId{1};
  job.request_id = bytes16(1);
  auto spec = std::make_shared<JobSpec>();
  spec->puzzle = "bishops";
  spec->solver = "fast";
  job.spec = spec;
  job.sealed = job.finished = job.canary = true;
  job.chunk_count = 1;
  job.case_count = job.done_count = 2;
  job.digest = wire::kEmptyDigest;
  recovery.jobs.push_back(job);
  recovery.last_stretch = 3;
  recovery.runs.push_back({.stretch = 3,
                           .worker = WorkerNo{7},
                           .start_id = bytes16(1),
                           .job = JobId{1},
                           .chunk_no = 0,
                           .chunk_first_case = CaseNo{1},
                           .chunk_case_count = 2,
                           .first = 0,
                           .count = 1});
  d.broker = std::make_unique<Broker>(every_dispatch(), std::move(recovery));
  d.durable = 0;
  d.step(event::Tick{});
  answer_load();
  d.submit(2, 4);
  d.ready(1, 1);
  answer(1, lease(), d.dispatched(), canary_position(), "wrong");
  ASSERT_EQ(d.recorded<record::ReviseResults>().size(), 1U);
  EXPECT_EQ(d.recorded<record::ReviseResults>()[0].job, JobId{1});
  EXPECT_EQ(d.recorded<record::ReopenJob>().at(0).job, JobId{1});
}

class RareCanaryTest : public CanaryTest {
 protected:
  static BrokerOptions rare() {
    BrokerOptions options = every_dispatch();
    options.canary_rate = 10;
    options.dispatch_cases_max = 2;
    return options;
  }
  RareCanaryTest() : CanaryTest(rare()) {}
};

TEST_F(RareCanaryTest, OneDispatchInSoManyHasOne) {
  d.submit(2, 4'000);
  d.ready(1, 1);
  std::uint32_t dispatches = 0;
  std::uint32_t with_canary = 0;
  std::uint32_t longest = 0;
  std::uint32_t since = 0;
  bool first = true;
  while (dispatches < 1'000) {
    ++dispatches;
    ++since;
    const auto dispatch = d.sent_now<message::Dispatch>().at(0);
    bool has = false;
    std::uint32_t count = 0;
    std::uint32_t at = 0;
    for (const message::Slice& slice : dispatch.slices) {
      if (slice.cases == canaries) {
        has = true;
        at = count;
      }
      count += slice.count;
    }
    EXPECT_EQ(has || !first, true) << "the first of a worker has one";
    first = false;
    if (has) {
      ++with_canary;
      longest = std::max(longest, std::exchange(since, 0U));
    }
    answer(1, dispatch.lease.value, count, has ? at : UINT32_MAX, kRight);
  }
  EXPECT_GE(with_canary, 80U);
  EXPECT_LE(with_canary, 125U);
  EXPECT_LE(longest, 15U);
}

}  // namespace
}  // namespace puzzled
