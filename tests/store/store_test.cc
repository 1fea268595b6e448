#include "daemon/store/store.h"

#include <gtest/gtest.h>

#include "proto/wire.h"
#include "tests/store/support.h"

namespace puzzled {
namespace {

class StoreTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string path_ = folder_.file("puzzled.db");
  std::unique_ptr<Store> store_ = Store::open(path_, {});
};

TEST_F(StoreTest, LoadsAChunkAsItWasGiven) {
  write(*store_, {insert_job(1), insert_chunk(1, 0, 1, 3), insert_chunk(1, 1, 4, 5)});
  const event::ChunkLoaded loaded = store_->load_chunk(
      {.job = {1}, .chunk_no = 1, .first_case = {4}, .case_count = 5, .with_done = true, .ask = 7});
  EXPECT_EQ(loaded.job, JobId{1});
  EXPECT_EQ(loaded.ask, 7U);
  EXPECT_EQ(loaded.chunk_no, 1U);
  EXPECT_EQ(loaded.cases->bytes, chunk_cases(4, 5)->bytes);
  EXPECT_EQ(loaded.cases->offsets, chunk_cases(4, 5)->offsets);
  EXPECT_TRUE(loaded.done.empty());
}

TEST_F(StoreTest, ComparesTheHashOfAChunk) {
  write(*store_, {insert_job(1), insert_chunk(1, 0, 1, 3)});
  const CompareChunk compare{.peer = {4},
                             .request = 5,
                             .job = {1},
                             .chunk_no = 0,
                             .hash = wire::chunk_hash(chunk_cases(1, 3)->bytes, {})};
  const event::ChunkCompared same = store_->compare_chunk(compare);
  EXPECT_EQ(same.peer, PeerId{4});
  EXPECT_EQ(same.request, 5U);
  EXPECT_EQ(same.chunk_no, 0U);
  EXPECT_TRUE(same.same);
  CompareChunk other = compare;
  other.hash += 1;
  EXPECT_FALSE(store_->compare_chunk(other).same);
  other.chunk_no = 1;
  EXPECT_THROW(store_->compare_chunk(other), sqlite::Error);
}

TEST_F(StoreTest, ALoadSeesTheOpenTransaction) {
  const LoadChunk load{
      .job = {1}, .chunk_no = 0, .first_case = {1}, .case_count = 4, .with_done = true};
  write(*store_, {insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 4),
                  insert_results(1, {{.case_no = 2}})});
  store_->begin();
  store_->apply(insert_results(1, {{.case_no = 4}}));
  EXPECT_EQ(store_->load_chunk(load).done, (std::vector<std::uint32_t>{1, 3}));
  store_->rollback();
  EXPECT_EQ(store_->load_chunk(load).done, (std::vector<std::uint32_t>{1}));
}

TEST_F(StoreTest, DoneIsNotReadUnlessAskedFor) {
  write(*store_, {insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 2),
                  insert_results(1, {{.case_no = 1}})});
  EXPECT_TRUE(store_->load_chunk({.job = {1}, .first_case = {1}, .case_count = 2}).done.empty());
}

TEST_F(StoreTest, AMissingChunkIsCorruption) {
  write(*store_, {insert_job(1)});
  EXPECT_THROW(store_->load_chunk({.job = {1}, .first_case = {1}, .case_count = 2}), sqlite::Error);
}

TEST_F(StoreTest, ARollbackLeavesNothing) {
  write(*store_, {insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 2)});
  store_->begin();
  store_->apply(insert_job(2));
  store_->apply(insert_results(1, {{.case_no = 1}, {.case_no = 2}}));
  store_->rollback();
  // A later transaction must not carry anything of it, counters and solver versions included.
  write(*store_, {insert_results(1, {{.case_no = 2}})});
  EXPECT_EQ(look(path_, "SELECT count(*) FROM jobs"), 1);
  EXPECT_EQ(look(path_, "SELECT count(*) FROM results"), 1);
  EXPECT_EQ(look(path_, "SELECT done FROM progress"), 1);
  EXPECT_EQ(look(path_, "SELECT solved FROM totals"), 1);
  EXPECT_EQ(look(path_, "SELECT hex(verdicts) = '0001' FROM progress"), 1);
  EXPECT_EQ(look(path_,
                 "SELECT count(*) FROM results r JOIN solver_versions v "
                 "ON v.id = r.solver_version WHERE v.version = 'solver 1'"),
            1);
}

TEST_F(StoreTest, CountsEachVerdictOfEachJob) {
  std::vector<Graded> all;
  for (const Verdict verdict : kCountedVerdicts) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(verdict); ++i) {
      all.push_back({.case_no = all.size() + 1, .verdict = verdict});
    }
  }
  const auto count = static_cast<std::uint32_t>(all.size());
  write(*store_, {insert_job(1), insert_job(2), insert_worker(1), insert_chunk(1, 0, 1, count),
                  insert_chunk(2, 0, 1, 1), insert_results(1, {all.begin(), all.begin() + 9}),
                  insert_results(2, {{.case_no = 1, .verdict = Verdict::kCrashed}})});
  write(*store_, {insert_results(1, {all.begin() + 9, all.end()})});
  EXPECT_EQ(look(path_, "SELECT done FROM totals WHERE id >> 7 = 1"), count);
  EXPECT_EQ(look(path_, "SELECT solved FROM totals WHERE id >> 7 = 1"), 1);
  EXPECT_EQ(look(path_, "SELECT invalid_answer FROM totals WHERE id >> 7 = 1"), 5);
  EXPECT_EQ(look(path_, "SELECT crashed FROM totals WHERE id >> 7 = 1"), 9);
  EXPECT_EQ(look(path_, "SELECT internal_error FROM totals WHERE id >> 7 = 1"), 11);
  EXPECT_EQ(look(path_, "SELECT crashed FROM totals WHERE id >> 7 = 2"), 1);
  EXPECT_EQ(look(path_, "SELECT done FROM totals WHERE id >> 7 = 2"), 1);
}

TEST_F(StoreTest, KeepsTheLargestKeysApart) {
  const std::uint64_t job = (1U << 24U) - 1;
  const std::uint64_t last = 0xffffffffU;
  write(*store_, {insert_job(job), insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 1),
                  insert_chunk(job, 0, last, 1), insert_results(1, {{.case_no = 1}}),
                  insert_results(job, {{.case_no = last}})});
  EXPECT_EQ(look(path_, "SELECT max(id) = 9223372036854775807 - (126 << 32) FROM results"), 1);
  EXPECT_EQ(
      store_->load_chunk({.job = {job}, .first_case = {last}, .case_count = 1, .with_done = true})
          .done.size(),
      1U);
}

TEST_F(StoreTest, KeepsTextsThatAreNotText) {
  const std::string odd("a\0b\xff'; DROP TABLE jobs; --", 26);
  write(*store_, {insert_job(1, odd), insert_chunk(1, 0, 1, 0, 1, {{odd, 1, 0}})});
  store_ = nullptr;
  store_ = Store::open(path_, {});
  EXPECT_EQ(store_->recover().jobs.at(0).spec->name, odd);
}

TEST_F(StoreTest, EmptyFilesTakeTheirPlaceInTheOrder) {
  write(*store_, {insert_job(1), insert_chunk(1, 0, 1, 3, 1, {{"a", 0, 0}, {"b", 1, 3}}),
                  insert_chunk(1, 1, 4, 2, 3, {{"c", 0, 0}, {"d", 4, 2}})});
  EXPECT_EQ(look(path_, "SELECT group_concat(first_case, '') = '1144' FROM files"), 1);
}

TEST_F(StoreTest, MovesTheLogIntoTheDatabase) {
  store_ = nullptr;
  StoreOptions options;
  options.checkpoint_wal_bytes = 64 << 10;
  store_ = Store::open(path_, options);
  write(*store_, {insert_job(1)});
  std::uint64_t largest = 0;
  for (ChunkNo i = 0; i < 200; ++i) {
    write(*store_, {insert_chunk(1, i, 1 + i * std::uint64_t{50}, 50)});
    store_->log().checkpoint_if_due();
    largest = std::max(largest, store_->log().bytes());
  }
  EXPECT_LT(largest, 256U << 10U);
  EXPECT_GT(largest, 0U);
}

using StoreDeathTest = StoreTest;
TEST_F(StoreDeathTest, ASecondResultOfACaseIsABug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  write(*store_, {insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 2),
                  insert_results(1, {{.case_no = 1}})});
  store_->begin();
  EXPECT_DEATH(store_->apply(insert_results(1, {{.case_no = 1}})), "assertion failed");
  EXPECT_DEATH(store_->apply(insert_results(1, {{.case_no = 3}})), "assertion failed");
  store_->rollback();
}

}  // namespace
}  // namespace puzzled
