// The sweeper: what was forgotten is found, said and put right; what was not is left alone.
#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/broker/canaries.h"
#include "daemon/broker/jobs.h"
#include "daemon/broker/leases.h"
#include "daemon/broker/reuse.h"
#include "daemon/broker/sessions.h"
#include "daemon/broker/suspects.h"
#include "daemon/broker/sweep.h"
#include "daemon/broker/window.h"
#include "tests/broker/driver.h"

namespace puzzled::broker {
namespace {

// The parts of a broker, with their tables open to be damaged.
class SweepTest : public ::testing::Test {
 protected:
  SweepTest() {
    core_.window = &window_;
    core_.jobs = &jobs_;
    core_.leases = &leases_;
    core_.sessions = &sessions_;
    core_.suspects = &suspects_;
    core_.canaries = &canaries_;
    core_.reuse = &reuse_;
  }

  template <class Act>
  void step(const Act& act) {
    effects_.clear();
    core_.step.begin(now_, effects_);
    act();
    sessions_.dispatch();
    window_.refill();
    core_.step.end();
    if (effects_.step <= durable_) return;
    durable_ = effects_.step;
    core_.step.begin(now_, effects_);
    window_.set_durable(durable_);
    leases_.set_durable(durable_);
    sessions_.dispatch();
    window_.refill();
    core_.step.end();
  }
  // A job of `cases` cases, with a worker that holds the first 16 of them in a lease.
  Job& running_job(std::uint32_t cases = 100) {
    JobSpec spec;
    spec.puzzle = "bishops";
    spec.solver = "fast";
    step([&] { jobs_.open_job({PeerId{1}, 1, bytes16(1), spec}); });
    event::WorkerReady ready;
    ready.peer = PeerId{2};
    ready.start_id = bytes16(2);
    ready.capacity = 1;
    ready.offers = {{"bishops", "fast", "v1"}};
    step([&] { sessions_.ready(std::move(ready)); });
    step([&] { jobs_.add_chunk({PeerId{1}, 2, bytes16(1), 0, {}, make_cases(cases), 7}); });
    Job& job = jobs_.open(JobId{1});
    EXPECT_EQ(job.leased_count, 16U);
    return job;
  }
  std::vector<Finding> sweep() {
    step([&] { broker::sweep(core_, {.after = {}, .durable_steps = durable_}); });
    const std::vector<Finding> findings = effects_.findings;
    // Once more: what was put right stays so.
    Effects again;
    core_.step.begin(now_, again);
    broker::sweep(core_, {.after = {}, .durable_steps = durable_});
    core_.step.end();
    EXPECT_TRUE(again.findings.empty()) << again.findings.front().text;
    jobs_.check();
    leases_.check();
    sessions_.check();
    return findings;
  }
  void expect_found(Rule rule) {
    const std::vector<Finding> findings = sweep();
    EXPECT_TRUE(std::ranges::any_of(findings, [&](const Finding& f) { return f.rule == rule; }))
        << "findings: " << findings.size();
  }
  static OpenChunk& chunk(Job& job) { return *job.window.at(0); }

  Now now_{1'000, 1'000};
  Effects effects_;
  std::uint64_t durable_ = 0;
  Core core_{BrokerOptions{}, Boot{1}};
  Window window_{core_};
  Jobs jobs_{core_};
  Leases leases_{core_};
  Sessions sessions_{core_, WorkerNo{0}};
  Suspects suspects_{core_};
  Canaries canaries_{core_};
  Reuse reuse_{core_};
};

TEST_F(SweepTest, WhatIsInOrderIsLeftAlone) {
  running_job();
  EXPECT_TRUE(sweep().empty());
  EXPECT_TRUE(effects_.records.empty() && effects_.now.empty() && effects_.loads.empty());
  EXPECT_EQ(effects_.swept, JobId{}) << "that was the last job";
}

TEST_F(SweepTest, CasesInNoQueueAreQueued) {
  Job& job = running_job();
  chunk(job).queued.clear();
  expect_found(Rule::kQueue);
  EXPECT_EQ(job.queued_count, 84U);
}

TEST_F(SweepTest, CasesInNoLeaseAreQueued) {
  Job& job = running_job();
  std::fill_n(chunk(job).states.begin() + 50, 10, CaseState::kLeased);
  chunk(job).queued = {{60, 40}, {16, 34}};
  chunk(job).leased_count += 10;
  job.leased_count += 10;
  job.queued_count -= 10;
  expect_found(Rule::kLease);
  EXPECT_EQ(job.queued_count, 84U);
  EXPECT_EQ(job.leased_count, 16U);
}

TEST_F(SweepTest, CasesQueuedTwiceAreQueuedOnce) {
  Job& job = running_job();
  chunk(job).queued.push_back({20, 5});
  job.queued_count += 5;
  expect_found(Rule::kQueue);
  EXPECT_EQ(job.queued_count, 84U);
}

TEST_F(SweepTest, AForgottenChunkIsServed) {
  Job& job = running_job();
  job.ready_chunks.clear();
  expect_found(Rule::kQueue);
  EXPECT_EQ(job.ready_chunks.count(0), 1U);
}

TEST_F(SweepTest, AForgottenTurnComes) {
  Job& job = running_job();
  core_.queue.set_ready(job.place, false);
  expect_found(Rule::kQueue);
  EXPECT_TRUE(job.place.ready);
}

TEST_F(SweepTest, AWrongCountIsPutRight) {
  Job& job = running_job();
  job.queued_count = 3;
  expect_found(Rule::kQueue);
  EXPECT_EQ(job.queued_count, 84U);
}

TEST_F(SweepTest, ARefillThatWasForgottenIsMade) {
  Job& job = running_job();
  // As if the chunk had been put away, and nobody had asked for it since.
  const BacklogChunk away{.first_case = CaseNo{101}, .chunk_no = 1, .case_count = 5};
  job.backlog.push_back(away);
  job.case_count += 5;
  job.chunk_count = job.durable_chunks = 2;
  expect_found(Rule::kStore);
  EXPECT_EQ(job.loading_count, 1U) << "it was asked for";
}

TEST_F(SweepTest, AnAnswerOfTheStoreThatWasLostIsAskedForAgain) {
  Job& job = running_job();
  job.backlog.push_back({.first_case = CaseNo{101}, .chunk_no = 1, .case_count = 5});
  job.case_count += 5;
  job.chunk_count = job.durable_chunks = 2;
  step([&] { window_.update_place(job); });
  ASSERT_EQ(effects_.loads.size(), 1U);
  const std::uint64_t first = effects_.loads[0].ask;
  now_.steady_ms += core_.options.load_wait_ms - 1;
  EXPECT_TRUE(sweep().empty()) << "it may still come";
  now_.steady_ms += 1;
  expect_found(Rule::kStore);
  ASSERT_EQ(effects_.loads.size(), 1U);
  const std::uint64_t again = effects_.loads[0].ask;
  ASSERT_NE(first, again);
  const auto answer = [&](std::uint64_t ask) {
    step([&] { window_.set_loaded({JobId{1}, 1, make_cases(5), {}, ask}); });
  };
  answer(first);  // it was only late
  EXPECT_EQ(job.queued_count, 84U) << "the other one counts";
  answer(again);
  EXPECT_EQ(job.queued_count, 89U);
  answer(again);
  EXPECT_EQ(job.queued_count, 89U);
  EXPECT_TRUE(sweep().empty());
}

TEST_F(SweepTest, WhileTheDiskIsFullNothingIsLate) {
  Job& job = running_job();
  job.backlog.push_back({.first_case = CaseNo{101}, .chunk_no = 1, .case_count = 5});
  job.case_count += 5;
  job.chunk_count = job.durable_chunks = 2;
  step([&] { window_.update_place(job); });
  core_.intake_paused = "no room";
  now_.steady_ms += 10 * core_.options.load_wait_ms;
  EXPECT_TRUE(sweep().empty());
  // Nor right afterwards: the answer is on its way.
  core_.intake_paused.clear();
  core_.intake_resumed_ms = now_.steady_ms;
  EXPECT_TRUE(sweep().empty());
  now_.steady_ms += core_.options.load_wait_ms;
  EXPECT_FALSE(sweep().empty());
}

TEST_F(SweepTest, WhatTheStoreSaidAndWasNotHeardIsHeard) {
  running_job();
  effects_.clear();
  core_.step.begin(now_, effects_);
  jobs_.add_chunk({PeerId{1}, 3, bytes16(1), 1, {}, make_cases(5), 7});
  core_.step.end();
  durable_ = effects_.step;  // without a word to the window
  expect_found(Rule::kStore);
  EXPECT_EQ(jobs_.open(JobId{1}).durable_chunks, 2U);
}

TEST_F(SweepTest, ADoneJobIsAnnounced) {
  JobSpec spec;
  spec.puzzle = "bishops";
  spec.solver = "fast";
  step([&] { jobs_.open_job({PeerId{1}, 1, bytes16(1), spec}); });
  step([&] { jobs_.wait({PeerId{1}, 9, JobId{1}}); });
  jobs_.open(JobId{1}).sealed = true;  // as if its end had been forgotten
  step([&] { broker::sweep(core_, {.after = {}, .durable_steps = durable_}); });
  ASSERT_EQ(effects_.findings.size(), 1U);
  EXPECT_EQ(effects_.findings[0].rule, Rule::kDone);
  EXPECT_EQ(jobs_.find_open(JobId{1}), nullptr);
  EXPECT_EQ(effects_.when_durable.size(), 1U);
  ASSERT_EQ(effects_.records.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<record::FinishJob>(effects_.records[0]));
  EXPECT_TRUE(sweep().empty());
}

TEST_F(SweepTest, ManyJobsAreLookedAtInSeveralSteps) {
  JobSpec spec;
  spec.puzzle = "bishops";
  spec.solver = "fast";
  for (std::uint8_t i = 0; i < 250; ++i) {
    step([&] { jobs_.open_job({PeerId{1}, i, bytes16(i), spec}); });
  }
  for (std::uint64_t i = 0; i < 100; ++i) {
    Bytes16 id = bytes16(1);
    id[1] = static_cast<std::uint8_t>(i + 1);
    step([&] { jobs_.open_job({PeerId{1}, 1'000 + i, id, spec}); });
  }
  JobId after;
  int steps = 0;
  do {
    step([&] { broker::sweep(core_, {.after = after, .durable_steps = durable_}); });
    EXPECT_TRUE(effects_.findings.empty());
    after = effects_.swept;
    ASSERT_LT(++steps, 10);
  } while (after != JobId{});
  EXPECT_EQ(steps, 2);
}

}  // namespace
}  // namespace puzzled::broker
