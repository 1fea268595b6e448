// Reuse of answers: what is asked with a chunk, what becomes of what is found, and when nothing is.
#include <gtest/gtest.h>

#include "daemon/broker/reuse.h"
#include "tests/broker/driver.h"

namespace puzzled {
namespace {

BrokerOptions with_cache() {
  BrokerOptions options;
  options.answer_cache = true;
  options.answer_cache_cost_us = 200;
  return options;
}

// A store that has answers of "bishops", by version v1.
Recovery with_answers(const std::string& version = "v1") {
  Recovery recovery = Driver::first_boot();
  recovery.has_answers = true;
  recovery.versions.push_back(
      {.puzzle = "bishops", .solver = "fast", .version = version, .last_job = {}});
  return recovery;
}

class ReuseTest : public ::testing::Test {
 protected:
  explicit ReuseTest(Recovery recovery = with_answers()) : t(with_cache(), std::move(recovery)) {}

  Effects& open(std::uint8_t id, bool no_cache = false, const std::string& version = "") {
    JobSpec spec;
    spec.puzzle = "bishops";
    spec.solver = "fast";
    spec.no_cache = no_cache;
    spec.solver_version = version;
    return t.step(event::OpenJob{Driver::kClient, ++t.request, bytes16(id), spec});
  }
  Effects& add_keyed(std::uint8_t id, ChunkNo chunk_no, std::uint32_t count) {
    event::AddChunk chunk{
        Driver::kClient, ++t.request, bytes16(id), chunk_no, {}, make_cases(count), 7};
    chunk.keys = std::string(kAnswerKeyBytes * count, 'k');
    return t.step(std::move(chunk));
  }
  // The store's answer to the last load.
  Effects& loaded(const LoadChunk& load, const std::vector<std::uint32_t>& known) {
    event::ChunkLoaded event{load.job, load.chunk_no, make_cases(load.case_count), {}, load.ask};
    event.look_up = load.look_up;
    for (const std::uint32_t index : known) event.known.push_back({.index = index, .source = 40});
    return t.step(std::move(event));
  }
  LoadChunk only_load() {
    EXPECT_EQ(t.effects.loads.size(), 1U);
    return t.effects.loads.empty() ? LoadChunk{} : t.effects.loads[0];
  }
  bool keys_wanted() { return t.sent_when_durable<message::JobOpened>().at(0).keys_wanted; }

  Driver t;
};

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
  ResultSet results = make_results(range(0, 10));
  for (std::size_t i = 1; i < 10; ++i) results.results[i].cached = true;
  t.step(event::WorkerResults{PeerId{1}, Boot{1}, LeaseId{1}, 1, 0, results, 1'000, 1});
  EXPECT_TRUE(t.recorded<record::InsertResults>().at(0).keeps_answers);
  open(2);
  EXPECT_TRUE(keys_wanted()) << "one case took a millisecond";
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
  EXPECT_EQ(t.dispatched(), 2U);
  open(3);
  add_keyed(3, 0, 1);
  EXPECT_TRUE(only_load().look_up->proven_only);
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
  EXPECT_TRUE(keys_wanted());
}

TEST(OlderVersion, ComparesNumbersAsNumbers) {
  const broker::OlderVersion older;
  const std::vector<std::string> ascending = {"",  "1",  "1.2", "1.2-rc", "1.10",
                                              "2", "10", "v9",  "v10"};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(older(ascending[i], ascending[j]), i < j) << ascending[i] << ", " << ascending[j];
    }
  }
  EXPECT_TRUE(older("01", "1") != older("1", "01"));
}

}  // namespace
}  // namespace puzzled
