// Cases that take workers with them: isolation, charges, quarantine; and what costs nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/broker/driver.h"

namespace puzzled {
namespace {

// A job of 10 cases in one chunk. Workers are `n` on peer `n`; each is dispatched what there is.
struct Poison : testing::Test {
  Poison() {
    d.submit(1, 10);
    d.ready(1, 1);
    load();
  }
  void load() {
    if (!d.effects.loads.empty()) {
      d.step(event::ChunkLoaded{JobId{1}, 0, make_cases(10), {}});
    }
  }
  // The worker says that it is solving `position` of `lease`, and then nothing more.
  void die(std::uint64_t peer, std::uint64_t lease, std::uint32_t position) {
    d.heartbeat(peer, {lease}, {{LeaseId{lease}, position, 1}});
    d.tick_after(3'000);
  }
  Driver d;
};

TEST_F(Poison, OnlyTheSuspectIsChargedAndRunsAlone) {
  die(1, 1, 4);
  const auto attempts = d.recorded<record::InsertAttempt>();
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].case_no, CaseNo{5});
  EXPECT_EQ(attempts[0].attempt, 1U);
  EXPECT_EQ(attempts[0].start_id, bytes16(1));
  EXPECT_TRUE(std::holds_alternative<record::InsertWorker>(d.effects.records[0]));
  d.ready(2, 2, 2);
  load();
  const auto dispatches = d.sent_now<message::Dispatch>();
  ASSERT_EQ(dispatches.size(), 2U);
  EXPECT_TRUE(dispatches[0].alone);
  EXPECT_EQ(dispatches[0].attempt, 2U);
  EXPECT_EQ(dispatches[0].slices[0].first, 4U);
  EXPECT_EQ(dispatches[0].slices[0].count, 1U);
  EXPECT_FALSE(dispatches[1].alone);
  ASSERT_EQ(dispatches[1].slices.size(), 2U);
  EXPECT_EQ(dispatches[1].slices[0].first, 0U);
  EXPECT_EQ(dispatches[1].slices[1].first, 5U);
  d.results(2, 2, {0}, 2, 0, 0);
  EXPECT_EQ(d.recorded<record::InsertResults>().at(0).attempt, 2U);
}

TEST_F(Poison, QuarantinedAfterDeathsUnderDifferentStarts) {
  die(1, 1, 4);
  d.ready(2, 2);
  load();
  die(2, 2, 0);
  EXPECT_EQ(d.recorded<record::InsertAttempt>().at(0).attempt, 2U);
  d.ready(3, 3);
  load();
  die(3, 3, 0);
  ASSERT_EQ(d.recorded<record::InsertAttempt>().size(), 1U);
  const auto results = d.recorded<record::InsertResults>();
  ASSERT_EQ(results.size(), 1U);
  ASSERT_EQ(results[0].rows.size(), 1U);
  EXPECT_EQ(results[0].rows[0].case_no, CaseNo{5});
  EXPECT_EQ(results[0].attempt, 3U);
  EXPECT_EQ(results[0].results.results[0].verdict, Verdict::kInternalError);
  EXPECT_EQ(results[0].results.results[0].message,
            "quarantined: 3 workers died on this case: w1 (here, pid 0); w2 (here, pid 0); "
            "w3 (here, pid 0)");
  // The others are graded, and the job ends.
  d.ready(4, 4);
  ASSERT_EQ(d.effects.loads.size(), 1U);
  EXPECT_TRUE(d.effects.loads[0].with_done);
  d.step(event::ChunkLoaded{JobId{1}, 0, make_cases(10), {4}});
  EXPECT_EQ(d.dispatched(), 9U);
  d.results(4, 4, range(0, 9));
  EXPECT_EQ(d.recorded<record::FinishJob>().size(), 1U);
}

TEST_F(Poison, TheLastCaseQuarantinedFinishesTheJob) {
  d.results(1, 1, {0, 1, 2, 3, 5, 6, 7, 8, 9});
  d.step(event::WaitJob{Driver::kClient, 5, JobId{1}});
  const auto load_done = [&] {
    d.step(event::ChunkLoaded{JobId{1}, 0, make_cases(10), {0, 1, 2, 3, 5, 6, 7, 8, 9}});
  };
  die(1, 1, 4);
  d.ready(2, 2);
  load_done();
  die(2, 2, 0);
  d.ready(3, 3);
  load_done();
  die(3, 3, 0);
  EXPECT_EQ(d.recorded<record::FinishJob>().size(), 1U);
  EXPECT_EQ(d.sent_when_durable<message::JobDone>().size(), 1U);
}

TEST_F(Poison, SilenceOfAProcessThatComesBackCostsNothing) {
  die(1, 1, 4);
  d.ready(11, 1);
  load();
  die(11, 2, 0);
  d.ready(2, 2);
  load();
  die(2, 3, 0);
  d.ready(12, 1);  // the first worker again: it lives, so its charge is taken back
  load();
  ASSERT_EQ(d.sent_now<message::Dispatch>().size(), 1U);
  EXPECT_TRUE(d.sent_now<message::Dispatch>()[0].alone);
  EXPECT_EQ(d.sent_now<message::Dispatch>()[0].attempt, 4U);
  d.step(event::WorkerGoodbye{PeerId{12}, ""});
  d.ready(3, 3);
  load();
  die(3, 5, 0);
  EXPECT_TRUE(d.recorded<record::InsertResults>().empty()) << "two deaths that count";
  d.ready(4, 4);
  load();
  die(4, 6, 0);
  EXPECT_EQ(d.recorded<record::InsertResults>().size(), 1U);
}

TEST_F(Poison, WhatIsTakenBackIsTakenBackOnTheDiskToo) {
  die(1, 1, 4);
  d.ready(11, 1);
  const auto retracted = d.recorded<record::RetractAttempt>();
  ASSERT_EQ(retracted.size(), 1U);
  EXPECT_EQ(retracted[0].job, JobId{1});
  EXPECT_EQ(retracted[0].case_no, CaseNo{5});
  EXPECT_EQ(retracted[0].start_id, bytes16(1));
  d.ready(12, 1);
  EXPECT_TRUE(d.recorded<record::RetractAttempt>().empty()) << "once";
}

// A case that kills its worker before a heartbeat can name it is found by ever smaller dispatches.
TEST_F(Poison, KillingWithoutAWordIsFoundAndQuarantined) {
  constexpr std::uint64_t kPoison = 7;
  std::set<std::uint32_t> done;
  int deaths = 0;
  for (std::uint8_t worker = 2; worker < 30; ++worker) {
    d.tick_after(3'000);
    if (!d.recorded<record::InsertResults>().empty()) break;  // the broker's own: the quarantine
    ++deaths;
    d.ready(worker, worker);
    bool dead = false;
    while (!dead) {
      if (!d.effects.loads.empty()) {
        d.step(event::ChunkLoaded{JobId{1}, 0, make_cases(10), {done.begin(), done.end()}});
      }
      const auto dispatches = d.sent_now<message::Dispatch>();
      ASSERT_EQ(dispatches.size(), 1U);
      std::vector<std::uint32_t> cases;
      for (const auto& slice : dispatches[0].slices) {
        for (const std::uint32_t i : range(slice.first, slice.count)) cases.push_back(i);
      }
      dead = std::ranges::find(cases, kPoison) != cases.end();
      if (dead) continue;
      done.insert(cases.begin(), cases.end());
      d.results(worker, dispatches[0].lease.value,
                range(0, static_cast<std::uint32_t>(cases.size())), dispatches[0].attempt);
    }
  }
  const auto results = d.recorded<record::InsertResults>();
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].rows.at(0).case_no, CaseNo{kPoison + 1});
  EXPECT_EQ(results[0].results.results[0].verdict, Verdict::kInternalError);
  EXPECT_LE(deaths, 8);
}

TEST_F(Poison, DrainedAndReplacedWorkersCostNothing) {
  d.heartbeat(1, {1}, {{LeaseId{1}, 4, 1}});
  d.step(event::WorkerGoodbye{PeerId{1}, "terminated"});
  EXPECT_TRUE(d.recorded<record::InsertAttempt>().empty());
  d.ready(2, 2);
  load();
  d.heartbeat(2, {2}, {{LeaseId{2}, 4, 1}});
  d.ready(3, 2);
  EXPECT_TRUE(d.recorded<record::InsertAttempt>().empty());
  d.give_back(3, 3, {{0, 10}}, 0);
  EXPECT_TRUE(d.recorded<record::InsertAttempt>().empty());
}

// It finishes what it has begun, and may be killed before it is through with that.
TEST_F(Poison, TheDeathOfAWorkerOnItsWayOutIsChargedToNobody) {
  d.heartbeat(1, {1}, {{LeaseId{1}, 4, 1}}, 0);
  d.tick_after(3'000);
  EXPECT_TRUE(d.recorded<record::InsertAttempt>().empty());
  d.ready(2, 2);
  load();
  EXPECT_EQ(d.dispatched(), 10U) << "and nothing of it is a suspect";
}

TEST_F(Poison, AChargeIsTakenBackThoughAnotherWorkerHasGradedTheCase) {
  die(1, 1, 4);
  d.ready(2, 2);
  load();
  d.results(2, 2, {0}, 2);
  d.ready(11, 1);
  EXPECT_EQ(d.recorded<record::RetractAttempt>().size(), 1U);
}

TEST_F(Poison, TheHistoryOfAQuarantinedCaseStaysThoughAWorkerComesBack) {
  for (std::uint8_t worker = 1; worker <= 3; ++worker) {
    if (worker > 1) d.ready(worker, worker);
    load();
    die(worker, worker, worker == 1 ? 4 : 0);
  }
  ASSERT_EQ(d.recorded<record::InsertResults>().size(), 1U);
  d.ready(12, 2);
  EXPECT_TRUE(d.recorded<record::RetractAttempt>().empty());
}

// A worker runs a suspect by itself, so one behind other leases has not begun, nor have those
// behind a suspect: a death without a word is not theirs.
TEST_F(Poison, ASuspectBehindOthersHasNotBegun) {
  Driver one;
  one.loads_at_once = true;
  one.submit(1, 2);
  one.ready(1, 1, 2);
  one.heartbeat(1, {1}, {{LeaseId{1}, 0, 1}}, 2);
  one.tick_after(3'000);
  ASSERT_EQ(one.recorded<record::InsertAttempt>().size(), 1U);
  one.submit(2, 1, "bishops", 5);  // goes first
  one.ready(2, 2, 2);
  const auto dispatches = one.sent_now<message::Dispatch>();
  ASSERT_EQ(dispatches.size(), 2U);
  ASSERT_FALSE(dispatches[0].alone);
  ASSERT_TRUE(dispatches[1].alone);
  one.tick_after(3'000);
  EXPECT_TRUE(one.recorded<record::InsertAttempt>().empty());
}

TEST_F(Poison, AnAnsweredCaseIsNoSuspect) {
  d.heartbeat(1, {1}, {{LeaseId{1}, 4, 1}});
  d.results(1, 1, {4});
  d.tick_after(3'000);
  EXPECT_TRUE(d.recorded<record::InsertAttempt>().empty());
}

TEST_F(Poison, AReturnedSuspectStaysAlone) {
  die(1, 1, 4);
  d.ready(2, 2);
  load();
  d.give_back(2, 2, {{0, 1}}, 1, 2);
  ASSERT_EQ(d.sent_now<message::Dispatch>().size(), 1U);
  EXPECT_TRUE(d.sent_now<message::Dispatch>()[0].alone);
  EXPECT_EQ(d.sent_now<message::Dispatch>()[0].attempt, 2U);
}

TEST_F(Poison, NonsenseInSlotsIsIgnored) {
  d.heartbeat(1, {1},
              {{LeaseId{1}, 4'000'000'000U, 1},
               {LeaseId{9}, 0, 1},
               {LeaseId{1}, 4, 1},
               {LeaseId{1}, 4, 1}});
  d.tick_after(3'000);
  EXPECT_EQ(d.recorded<record::InsertAttempt>().size(), 1U);
}

}  // namespace
}  // namespace puzzled
