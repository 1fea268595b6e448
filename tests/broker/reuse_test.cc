// Reuse of answers: what is asked with a chunk, what becomes of what is found, and when nothing is.
#include <gtest/gtest.h>

#include "tests/broker/reuse_fixture.h"

namespace puzzled {
namespace {

TEST_F(ReuseTest, KnownCasesAreDoneAndTheOthersDispatched) {
  t.ready(1, 1);
  open(1);
  EXPECT_TRUE(keys_wanted());
  add_keyed(1, 0, 4);
  EXPECT_EQ(t.dispatched(), 0U) << "first the store looks";
  const LoadChunk load = only_load();
  ASSERT_TRUE(load.look_up.has_value());
  EXPECT_EQ(load.look_up->solver_version, "v1");
  t.seal(1, 1, 4);
  loaded(load, {0, 2});
  const auto cached = t.recorded<record::InsertCached>();
  ASSERT_EQ(cached.size(), 1U);
  EXPECT_EQ(cached[0].answers.size(), 2U);
  EXPECT_EQ(cached[0].solver_version, "v1");
  EXPECT_EQ(t.dispatched(), 2U);
  EXPECT_TRUE(t.sent_now<message::Dispatch>().at(0).keys_wanted);
  t.results(1, 1, {0, 1});
  EXPECT_EQ(t.recorded<record::FinishJob>().size(), 1U);
}

TEST_F(ReuseTest, WhatIsLeftOfManyLargeAnswersIsAskedForAgain) {
  t.ready(1, 1);
  open(1);
  add_keyed(1, 0, 4);
  const LoadChunk load = only_load();
  t.seal(1, 1, 4);
  event::ChunkLoaded some{load.job, load.chunk_no, make_cases(4), {}, load.ask};
  some.look_up = load.look_up;
  some.known.push_back({.index = 1, .source = 40, .answer_bytes = 5'000'000});
  some.more_known = true;
  t.step(std::move(some));
  EXPECT_EQ(t.recorded<record::InsertCached>().size(), 1U);
  EXPECT_EQ(t.dispatched(), 0U);
  const LoadChunk again = only_load();
  EXPECT_TRUE(again.with_done && again.look_up.has_value());
  event::ChunkLoaded rest{again.job, again.chunk_no, make_cases(4), {1}, again.ask};
  rest.look_up = again.look_up;
  rest.known.push_back({.index = 2, .source = 41});
  t.step(std::move(rest));
  EXPECT_EQ(t.dispatched(), 2U);
  t.results(1, 1, {0, 1});
  EXPECT_EQ(t.recorded<record::FinishJob>().size(), 1U);
}

TEST_F(ReuseTest, AChunkThatIsSmallerThanThoughtLeavesRoomWhileItIsAskedForAgain) {
  BrokerOptions options = with_cache();
  options.job_window_bytes_max = 1'000'000;
  Recovery recovery = with_answers();
  RecoveredJob& job = recovery.jobs.emplace_back();
  job.job = recovery.last_job = JobId{1};
  job.request_id = bytes16(1);
  JobSpec spec;
  spec.puzzle = "bishops";
  spec.solver = "fast";
  job.spec = std::make_shared<const JobSpec>(spec);
  job.sealed = true;
  job.chunk_count = 2;
  job.case_count = 4;
  job.open_chunks = {
      {.chunk_no = 0, .first_case = CaseNo{1}, .case_count = 2, .bytes = 999'500, .keyed = true},
      {.chunk_no = 1, .first_case = CaseNo{3}, .case_count = 2, .bytes = 20, .keyed = true}};
  t.broker = std::make_unique<Broker>(options, recovery);
  t.ready(1, 1);
  const LoadChunk load = only_load();
  ASSERT_TRUE(load.look_up.has_value());
  event::ChunkLoaded some{load.job, load.chunk_no, make_cases(2), {}, load.ask};
  some.look_up = load.look_up;
  some.known.push_back({.index = 1, .source = 40, .answer_bytes = 5'000'000});
  some.more_known = true;
  t.step(std::move(some));
  ASSERT_EQ(t.effects.loads.size(), 2U);
  EXPECT_EQ(t.effects.loads[0].chunk_no, 0U);
  EXPECT_EQ(t.effects.loads[1].chunk_no, 1U);
}

// While nobody knows the cost, keys are wanted as long as most of what was looked up is found:
// what is asked for again was not looked up in vain.
TEST_F(ReuseTest, ManyLargeAnswersAreNotTakenForMisses) {
  open(1);
  for (ChunkNo no = 0; no < 70; ++no) {
    add_keyed(1, no, 12);
    ASSERT_TRUE(t.sent_when_durable<message::ChunkAccepted>().at(0).keys_wanted) << no;
    std::vector<std::uint32_t> done;
    while (!t.effects.loads.empty()) {
      const LoadChunk load = only_load();
      event::ChunkLoaded one{load.job, load.chunk_no, make_cases(12), done, load.ask};
      one.look_up = load.look_up;
      const auto next = static_cast<std::uint32_t>(done.size());
      one.known.push_back({.index = next, .source = 40, .answer_bytes = 5'000'000});
      one.more_known = true;
      done.push_back(next);
      t.step(std::move(one));
    }
    ASSERT_EQ(done.size(), 12U);
  }
}

TEST_F(ReuseTest, AJobThatIsKnownNeedsNoWorker) {
  open(1);
  add_keyed(1, 0, 2);
  const LoadChunk load = only_load();
  t.seal(1, 1, 2);
  t.step(event::WaitJob{Driver::kClient, ++t.request, JobId{1}});
  loaded(load, {0, 1});
  EXPECT_EQ(t.recorded<record::FinishJob>().size(), 1U);
  EXPECT_TRUE(t.sent_now<message::JobDone>().empty()) << "before it is on the disk";
  EXPECT_EQ(t.sent_when_durable<message::JobDone>().size(), 1U);
  EXPECT_EQ(t.broker->open_job_count(), 0U);
}

TEST_F(ReuseTest, WithoutAWorkerEachChunkIsLookedUpOnce) {
  open(1);
  std::vector<LoadChunk> loads;
  const auto gather = [&] {
    loads.insert(loads.end(), t.effects.loads.begin(), t.effects.loads.end());
  };
  for (ChunkNo no = 0; no < 5; ++no) {
    add_keyed(1, no, 2);
    gather();
  }
  for (std::size_t i = 0; i < loads.size(); ++i) {
    loaded(LoadChunk(loads[i]), {0});
    gather();
  }
  ASSERT_EQ(loads.size(), 5U);
  for (ChunkNo no = 0; no < 5; ++no) EXPECT_EQ(loads[no].chunk_no, no);
  // A worker comes: now their other cases are read, and may be known by then.
  t.ready(1, 1);
  EXPECT_FALSE(t.effects.loads.empty());
  EXPECT_TRUE(t.effects.loads[0].look_up.has_value());
  EXPECT_TRUE(t.effects.loads[0].with_done);
}

TEST_F(ReuseTest, AJobMaySayNo) {
  t.ready(1, 1);
  open(1, true);
  EXPECT_FALSE(keys_wanted());
  add_keyed(1, 0, 2);
  EXPECT_TRUE(t.recorded<record::InsertChunk>().at(0).keys.empty()) << "sent before it knew";
  EXPECT_TRUE(t.effects.loads.empty());
  EXPECT_EQ(t.dispatched(), 2U);
  EXPECT_FALSE(t.sent_now<message::Dispatch>().at(0).keys_wanted);
}

TEST_F(ReuseTest, CheapCasesAreNotLookedUp) {
  t.ready(1, 1);
  t.submit(1, 10);
  t.results(1, 1, range(0, 10));  // a millisecond each
  open(2);
  EXPECT_TRUE(keys_wanted());
  std::uint64_t lease = 1;
  for (std::uint8_t id = 3; id < 13; ++id) {
    t.open(id);
    t.add(id, 0, 64);
    while (t.dispatched() > 0) {
      t.step(event::WorkerResults{PeerId{1}, Boot{1}, LeaseId{++lease}, 1, 0,
                                  make_results(range(0, t.dispatched())), t.dispatched(), 1});
    }
  }
  open(20);
  EXPECT_FALSE(keys_wanted()) << "a microsecond each";
}

TEST_F(ReuseTest, ChunksSayWhenKeysAreNoLongerWanted) {
  t.ready(1, 1);
  open(1);
  add_keyed(1, 0, 10);
  EXPECT_TRUE(t.sent_when_durable<message::ChunkAccepted>().at(0).keys_wanted);
  loaded(only_load(), {});
  t.step(event::WorkerResults{PeerId{1}, Boot{1}, LeaseId{1}, 1, 0, make_results(range(0, 10)), 10,
                              1});
  add_keyed(1, 1, 10);
  EXPECT_FALSE(t.sent_when_durable<message::ChunkAccepted>().at(0).keys_wanted);
  EXPECT_TRUE(t.recorded<record::InsertChunk>().at(0).keys.empty());
}

TEST_F(ReuseTest, WhatCostsNothingSinceItsEqualWasSolvedDoesNotCount) {
  t.ready(1, 1);
  t.submit(1, 10);
  results_with_keys(1, 10, 1'000, true);
  EXPECT_TRUE(t.recorded<record::InsertResults>().at(0).keeps_answers);
  open(2);
  EXPECT_TRUE(keys_wanted()) << "one case took a millisecond";
}

TEST_F(ReuseTest, KeysThatNobodyHasAskedForMeanNothing) {
  t.ready(1, 1);
  open(1, true);
  t.add(1, 0, 10);
  results_with_keys(1, 10, 1'000, true);
  const auto inserted = t.recorded<record::InsertResults>();
  EXPECT_FALSE(inserted.at(0).keeps_answers);
  EXPECT_TRUE(inserted.at(0).results.results.at(0).key.empty());
  EXPECT_FALSE(inserted.at(0).results.results.at(1).cached);
  open(2);
  EXPECT_FALSE(keys_wanted()) << "ten cases took a tenth of a millisecond each";
}

TEST_F(ReuseTest, OnlyAnswersAreKept) {
  std::uint64_t lease = 0;
  t.ready(1, 1);
  const auto is_kept = [&](Verdict verdict) {
    t.submit(static_cast<std::uint8_t>(++lease), 1);
    results_with_keys(lease, 1, 1'000, false, verdict);
    const auto inserted = t.recorded<record::InsertResults>();
    EXPECT_EQ(inserted.at(0).keeps_answers, !inserted[0].results.results[0].key.empty());
    return inserted[0].keeps_answers;
  };
  EXPECT_TRUE(is_kept(Verdict::kSolved) && is_kept(Verdict::kAccepted) &&
              is_kept(Verdict::kWrongAnswer) && is_kept(Verdict::kInvalidAnswer));
  for (const Verdict verdict :
       {Verdict::kInvalidInstance, Verdict::kTimeLimit, Verdict::kMemoryLimit,
        Verdict::kOutputLimit, Verdict::kCrashed, Verdict::kInternalError}) {
    EXPECT_FALSE(is_kept(verdict)) << verdict_name(verdict);
  }
}

TEST_F(ReuseTest, UntilTheCostIsKnownKeysAreWantedWhereTheyFindSomething) {
  for (const bool is_known : {false, true}) {
    const std::uint8_t id = is_known ? 2 : 1;
    open(id);
    for (ChunkNo no = 0; no < 100; ++no) {
      add_keyed(id, no, 2);
      const bool wanted = t.sent_when_durable<message::ChunkAccepted>().at(0).keys_wanted;
      EXPECT_EQ(wanted, is_known || no + 1 < 64) << no;
      EXPECT_EQ(t.recorded<record::InsertChunk>().at(0).keys.empty(), !is_known && no >= 64);
      while (!t.effects.loads.empty()) {
        loaded(LoadChunk(only_load()), is_known ? range(0, 2) : std::vector<std::uint32_t>{});
      }
    }
  }
}

TEST_F(ReuseTest, WhatNobodyCouldLookUpIsLookedUpOnceSomebodyCan) {
  Recovery recovery = Driver::first_boot();
  RecoveredJob job;
  job.job = JobId{1};
  job.request_id = bytes16(1);
  job.sealed = true;
  JobSpec spec;
  spec.puzzle = "bishops";
  spec.solver = "fast";
  job.spec = std::make_shared<const JobSpec>(spec);
  job.chunk_count = 1;
  job.case_count = 2;
  job.open_chunks = {{.first_case = CaseNo{1}, .case_count = 2, .bytes = 20, .keyed = true}};
  recovery.jobs = {job};
  recovery.last_job = JobId{1};
  t.broker = std::make_unique<Broker>(with_cache(), recovery);
  t.ready(2, 2, 0);
  const LoadChunk load = only_load();
  EXPECT_FALSE(load.look_up) << "no answer was ever kept";
  loaded(load, {});
  t.step(event::WorkerGoodbye{PeerId{2}, ""});
  EXPECT_TRUE(t.effects.loads.empty());
  t.ready(1, 1, 1, {"duel"});
  t.submit(2, 1, "duel");
  results_with_keys(1, 1, 1'000);
  t.step(event::Sweep{});
  EXPECT_TRUE(only_load().look_up.has_value());
  EXPECT_EQ(only_load().job, JobId{1});
}

TEST_F(ReuseTest, ThePinnedVersionCountsOrTheNewestThatIsThere) {
  open(1, false, "v0");
  add_keyed(1, 0, 1);
  EXPECT_EQ(only_load().look_up->solver_version, "v0");
  const auto come = [&](std::uint64_t peer, const std::string& version) {
    event::WorkerReady e;
    e.peer = PeerId{peer};
    e.start_id = bytes16(static_cast<std::uint8_t>(peer));
    e.name = "w" + std::to_string(peer);
    e.offers = {{"bishops", "fast", version}};
    e.capacity = 0;
    t.step(std::move(e));
  };
  const auto version_of = [&](std::uint8_t id) {
    open(id);
    add_keyed(id, 0, 1);
    return only_load().look_up->solver_version;
  };
  come(1, "v9");
  EXPECT_EQ(version_of(2), "v9");
  come(2, "v10");
  EXPECT_EQ(version_of(3), "v10");
  t.step(event::WorkerGoodbye{PeerId{2}, ""});
  EXPECT_EQ(version_of(4), "v9") << "nobody else would solve it by v10";
  t.step(event::WorkerGoodbye{PeerId{1}, ""});
  EXPECT_EQ(version_of(5), "v9") << "the last that there was";
}

TEST_F(ReuseTest, WhatWasFoundBeforeAMarkCountsNoMore) {
  t.ready(1, 1);
  t.submit(1, 1);
  t.results(1, 1, {0});
  open(2);
  add_keyed(2, 0, 2);
  const LoadChunk load = only_load();
  EXPECT_FALSE(load.look_up->proven_only);
  t.step(event::MarkCanary{Driver::kClient, ++t.request, JobId{1}, false});
  loaded(load, {0, 1});
  EXPECT_TRUE(t.recorded<record::InsertCached>().empty());
  EXPECT_EQ(t.dispatched(), 0U);
  const LoadChunk again = only_load();
  EXPECT_TRUE(again.look_up->proven_only);
  loaded(load, {0, 1});
  EXPECT_TRUE(t.recorded<record::InsertCached>().empty()) << "that was the first question";
  loaded(again, {1});
  EXPECT_EQ(t.recorded<record::InsertCached>().at(0).answers.size(), 1U);
  EXPECT_EQ(t.dispatched(), 1U);
}

TEST_F(ReuseTest, WithoutAWorkerItIsLookedUpAgainAfterAMark) {
  t.ready(1, 1);
  t.submit(1, 1);
  t.results(1, 1, {0});
  t.step(event::WorkerGoodbye{PeerId{1}, ""});
  open(2);
  add_keyed(2, 0, 2);
  const LoadChunk load = only_load();
  t.seal(2, 1, 2);
  t.step(event::MarkCanary{Driver::kClient, ++t.request, JobId{1}, false});
  loaded(load, {0, 1});
  loaded(LoadChunk(only_load()), {0, 1});
  EXPECT_EQ(t.recorded<record::FinishJob>().size(), 1U);
}

TEST_F(ReuseTest, ACancelledJobGetsNothing) {
  open(1);
  add_keyed(1, 0, 2);
  const LoadChunk load = only_load();
  t.step(event::CancelJob{Driver::kClient, ++t.request, JobId{1}, ""});
  loaded(load, {0, 1});
  EXPECT_TRUE(t.effects.records.empty());
}

class EmptyStoreTest : public ReuseTest {
 protected:
  EmptyStoreTest() : ReuseTest(Driver::first_boot()) {}
};

TEST_F(EmptyStoreTest, NothingIsLookedUpWhereNothingIsKept) {
  t.ready(1, 1);
  open(1);
  EXPECT_FALSE(keys_wanted());
  t.open(2);
  t.add(2, 0, 1);
  EXPECT_TRUE(t.sent_now<message::Dispatch>().at(0).keys_wanted) << "so that there will be some";
  t.results(1, 1, {0});
  open(3);
  EXPECT_FALSE(keys_wanted()) << "that worker sends none";
  t.add(3, 0, 1);
  results_with_keys(2, 1, 1'000);
  open(4);
  EXPECT_TRUE(keys_wanted());
}

}  // namespace
}  // namespace puzzled
