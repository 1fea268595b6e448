// Canaries: how they are mixed in, what a good one proves, what a failed one takes back.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/broker/canary_fixture.h"

namespace puzzled {
namespace {

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

// What it took is known of another process, perhaps one that had its tables already.
TEST_F(CanaryTest, ALimitConvictsNobodyAndProvesNothing) {
  d.submit(2, 30);
  d.ready(1, 1);
  std::uint32_t canary = canary_position();
  answer(1, lease(), d.dispatched(), canary, kRight);
  for (const Verdict verdict :
       {Verdict::kTimeLimit, Verdict::kMemoryLimit, Verdict::kOutputLimit, Verdict::kCrashed}) {
    canary = canary_position();
    event::WorkerResults e{PeerId{1}, Boot{1}, LeaseId{lease()},
                           1,         0,       make_results(range(0, d.dispatched())),
                           1'000,     1};
    e.results.results[canary].verdict = verdict;
    d.step(std::move(e));
    EXPECT_EQ(d.recorded<record::InsertResults>().size(), 1U) << "what else it says counts";
    EXPECT_TRUE(d.recorded<record::BarWorker>().empty());
    EXPECT_TRUE(d.recorded<record::ForgetStretch>().empty());
  }
  canary = canary_position();
  answer(1, lease(), d.dispatched(), canary, kRight);
  EXPECT_FALSE(d.recorded<record::ForgetStretch>().empty());
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
  EXPECT_NE(d.waiting_for(2).find("failed a canary, among them w1"), std::string::npos);
  // Another host does all of it.
  ready(2, "elsewhere");
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
  ready(3, "here", {}, "v2", 0);
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
  Recovery recovery = recovered_canary(plain_spec());
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
  restart(every_dispatch(), std::move(recovery));
  answer_load();
  d.submit(2, 4);
  d.ready(1, 1);
  answer(1, lease(), d.dispatched(), canary_position(), "wrong");
  ASSERT_EQ(d.recorded<record::ReviseResults>().size(), 1U);
  EXPECT_EQ(d.recorded<record::ReviseResults>()[0].job, JobId{1});
  EXPECT_EQ(d.recorded<record::ReopenJob>().at(0).job, JobId{1});
}

// ---- Answers of the store from before results were taken back.

TEST_F(CanaryTest, AnAnswerFromBeforeAJobWasReopenedIsNotItsAnswer) {
  d.loads_at_once = false;
  d.submit(2, 4);
  d.ready(1, 1);
  const std::uint64_t first = d.effects.loads.at(0).ask;
  d.now.steady_ms += BrokerOptions{}.load_wait_ms;
  d.heartbeat(1, {});
  d.step(event::Sweep{JobId{}, d.durable});
  ASSERT_EQ(d.effects.loads.size(), 1U) << "the store is late";
  d.step(event::ChunkLoaded{JobId{2}, 0, make_cases(4), {}, d.effects.loads[0].ask});
  answer(1, lease(), d.dispatched(), canary_position(), kRight);
  ASSERT_EQ(d.recorded<record::FinishJob>().size(), 1U);
  d.open(3);
  d.add(3, 0, 4);
  answer(1, lease(), d.dispatched(), canary_position(), "wrong");
  ASSERT_EQ(d.recorded<record::ReopenJob>().size(), 1U);
  d.step(event::AdmitWorker{Driver::kClient, ++d.request, "w1"});
  d.ready(2, 2);
  ASSERT_FALSE(d.effects.loads.empty());
  const auto of_job = std::ranges::find(d.effects.loads, JobId{2}, &LoadChunk::job);
  ASSERT_NE(of_job, d.effects.loads.end());
  const std::uint64_t last = of_job->ask;
  d.step(event::ChunkLoaded{JobId{2}, 0, make_cases(4), {0, 1, 2, 3}, first});
  EXPECT_EQ(d.dispatched(), 0U);
  d.step(event::ChunkLoaded{JobId{2}, 0, make_cases(4), {}, last});
  EXPECT_EQ(d.dispatched(), 5U) << "all four, and a canary";
  d.step(event::ChunkLoaded{JobId{2}, 0, make_cases(4), {}, last});
  EXPECT_EQ(d.dispatched(), 0U);
}

TEST_F(CanaryTest, WhatIsTakenBackWhileItsChunkIsReadIsAskedForAnew) {
  d.loads_at_once = false;
  d.ready(1, 1);
  d.open(2);
  d.add(2, 0, 8);
  answer(1, lease(), d.dispatched(), canary_position(), kRight);  // the first four
  d.step(event::WorkerGoodbye{PeerId{1}, ""});
  d.seal(2, 1, 8);
  ready(2, "elsewhere", {}, "v1", 0);
  ASSERT_EQ(d.effects.loads.size(), 1U);
  ASSERT_TRUE(d.effects.loads[0].with_done);
  const std::uint64_t first = d.effects.loads[0].ask;
  d.submit(3, 4);
  d.ready(3, 1);
  answer(3, lease(), d.dispatched(), canary_position(), "wrong");
  ASSERT_EQ(d.recorded<record::ReviseResults>().size(), 1U);
  ASSERT_EQ(d.effects.loads.size(), 1U);
  EXPECT_EQ(d.effects.loads[0].job, JobId{2});
  EXPECT_FALSE(d.effects.loads[0].with_done) << "nothing of it has a result any more";
  const std::uint64_t again = d.effects.loads[0].ask;
  d.step(event::CancelJob{Driver::kClient, ++d.request, JobId{3}, ""});
  d.heartbeat(2, {});
  // As many as were done: it looks like the right answer.
  d.step(event::ChunkLoaded{JobId{2}, 0, make_cases(8), {0, 1, 2, 3}, first});
  EXPECT_EQ(d.dispatched(), 0U);
  d.step(event::ChunkLoaded{JobId{2}, 0, make_cases(8), {}, again});
  ASSERT_EQ(d.dispatched(), 5U) << "four, and a canary";
  answer(2, lease(), 5, canary_position(), kRight);
  ASSERT_EQ(d.dispatched(), 5U);
  answer(2, lease(), 5, canary_position(), kRight);
  EXPECT_EQ(d.recorded<record::FinishJob>().size(), 1U);
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

class KeyedCanaryTest : public CanaryTest {
 protected:
  KeyedCanaryTest() : CanaryTest(with_cache()) {}
  static BrokerOptions with_cache() {
    BrokerOptions options = every_dispatch();
    options.answer_cache = true;
    return options;
  }
};

// What its worker merged with an equal case took no time of its own.
TEST_F(KeyedCanaryTest, TheTimeOfOneThatWasNotSolvedIsNotTakenOff) {
  d.submit(2, 4);
  d.ready(1, 1);
  ASSERT_EQ(d.dispatched(), 5U);
  event::WorkerResults e{PeerId{1}, Boot{1}, LeaseId{lease()}, 1, 0, make_results(range(0, 5)),
                         4'000,     1};
  for (CaseResult& result : e.results.results) {
    result.time_us = 4'000;
    result.has_answer = true;
    result.answer = kRight;
    result.key = "0123456789abcdef";
    result.cached = result.position > 0;
  }
  const std::uint32_t canary = canary_position();
  if (canary == 0) std::swap(e.results.results[0].cached, e.results.results[1].cached);
  d.step(std::move(e));
  EXPECT_EQ(d.workers().at(0).canaries_passed, 1U);
  // The cases before took 1 ms each, this one 4.
  EXPECT_GT(d.broker->demand(1'000, 10).lanes.at(0).case_us, 1'000);
}

TEST_F(KeyedCanaryTest, CasesThatAreOpenAgainAreLookedUp) {
  d.open(2);
  event::AddChunk chunk{Driver::kClient, ++d.request, bytes16(2), 0, {}, make_cases(4), 7};
  chunk.keys = std::string(4 * kAnswerKeyBytes, 'k');
  // An answer was kept, so keys are wanted.
  d.submit(3, 4);
  d.ready(1, 1);
  event::WorkerResults kept{PeerId{1}, Boot{1}, LeaseId{lease()}, 1, 0, make_results(range(0, 5)),
                            50'000,    1};
  for (CaseResult& result : kept.results.results) {
    result.has_answer = true;
    result.answer = kRight;
    result.key = "0123456789abcdef";
  }
  d.step(std::move(kept));
  d.step(std::move(chunk));
  answer(1, lease(), d.dispatched(), canary_position(), kRight);
  d.open(4);
  d.add(4, 0, 4);
  d.loads_at_once = false;
  answer(1, lease(), d.dispatched(), canary_position(), "wrong");
  EXPECT_EQ(d.recorded<record::BarWorker>().size(), 1U);
  ASSERT_EQ(d.effects.loads.size(), 1U);
  EXPECT_EQ(d.effects.loads[0].job, JobId{2});
  EXPECT_TRUE(d.effects.loads[0].look_up.has_value());
}

}  // namespace
}  // namespace puzzled
