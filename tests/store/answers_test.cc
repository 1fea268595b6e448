// Reuse of answers: what is kept, who may have it, and what a failed canary leaves of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "daemon/store/keys.h"
#include "daemon/store/reader.h"
#include "proto/wire.h"
#include "tests/store/support.h"

namespace puzzled {
namespace {

// A key of the tests.
std::string key(char of) { return std::string(kAnswerKeyBytes, of); }

class AnswersTest : public ::testing::Test {
 protected:
  // Job 1 with three cases, of which worker 1 has solved two; their keys are a and b.
  void SetUp() override { open({}); }
  void open(StoreOptions options) {
    store.reset();
    options.snapshot_ms_max = 3'600'000;
    store = Store::open(path, options);
    store->recover();
  }
  void fill(std::uint64_t stretch = 0) {
    write(*store, {insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 3)});
    solve(1, 0, {{1, 0, Verdict::kSolved, "one"}, {2, 0, Verdict::kWrongAnswer, "two"}}, "ab",
          stretch);
  }
  // One letter a case: its key.
  void solve(std::uint64_t job, ChunkNo chunk_no, std::vector<Graded> cases,
             const std::string& keys, std::uint64_t stretch = 0) {
    for (Graded& one : cases) one.chunk_no = chunk_no;
    auto results = insert_results(job, cases);
    std::vector<std::string> texts;
    for (const char of : keys) texts.push_back(key(of));
    for (std::size_t i = 0; i < keys.size(); ++i) results.results.results[i].key = texts[i];
    results.stretch = stretch;
    results.keeps_answers = true;
    write(*store, {results});
  }
  // A job whose cases have these claims, and these keys; '-' for none.
  void submit(std::uint64_t job, const std::string& keys, const std::vector<std::string>& claims) {
    auto cases = std::make_shared<ChunkCases>();
    std::string all;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      // Fields 1 and 2 of a Case: an instance, and an expected answer.
      std::string one = std::string("\x0a\x01") + keys[i];
      if (!claims[i].empty()) {
        one += std::string("\x12") + static_cast<char>(claims[i].size()) + claims[i];
      }
      wire::append_case(one, cases->bytes);
      all += keys[i] == '-' ? std::string(kAnswerKeyBytes, '\0') : key(keys[i]);
    }
    cases->offsets = wire::split_cases(cases->bytes).value();
    record::InsertChunk chunk = insert_chunk(job, 0, 1, 1);
    chunk.hash = wire::chunk_hash(cases->bytes, {});
    chunk.cases = std::move(cases);
    chunk.keys = all;
    write(*store, {insert_job(job), chunk});
  }
  LoadChunk load(std::uint64_t job, std::uint32_t count) {
    return {.job = {job},
            .chunk_no = 0,
            .first_case = {1},
            .case_count = count,
            .with_done = true,
            .look_up = LookUp{.solver_version = "solver 1",
                              .limits = {.time_limit_us = 1'000,
                                         .memory_limit_bytes = 10'000,
                                         .answer_bytes_max = 100}}};
  }
  // The positions of which an answer is known.
  std::string found(const LoadChunk& load) {
    std::string text;
    for (const KnownAnswer& known : store->load_chunk(load).known) {
      text += fmt::format("{}:{} ", known.index, verdict_short_name(known.verdict));
    }
    return text;
  }
  std::string found(std::uint64_t job, std::uint32_t count) { return found(load(job, count)); }
  void settle(std::uint64_t stretch, bool proven) {
    write(*store, {record::ForgetStretch{.stretch = stretch, .proven = proven}});
  }
  // Job 1 has a case that is open, so that its facts are in order.
  void expect_sound() {
    for (const Finding& one : check(path)) ADD_FAILURE() << one.text;
  }

  TemporaryFolder folder;
  const std::string path = folder.file("puzzled.db");
  std::unique_ptr<Store> store;
};

TEST_F(AnswersTest, AnAnswerIsFoundByItsKeyWhateverWasClaimedThen) {
  fill();
  submit(2, "a-bx", {"", "", "", ""});
  EXPECT_EQ(found(2, 4), "0:OK 2:OK ");
  expect_sound();
}

TEST_F(AnswersTest, AnotherClaimIsJudgedByAWorker) {
  fill();
  submit(2, "aab", {"one", "two", "two"});
  EXPECT_EQ(found(2, 3), "0:AC 2:AC ");
}

TEST_F(AnswersTest, AnswersAreOfOneSolverVersion) {
  fill();
  submit(2, "a", {""});
  LoadChunk other = load(2, 1);
  other.look_up->solver_version = "solver 2";
  EXPECT_EQ(found(other), "");
}

TEST_F(AnswersTest, WhatBrokeALimitOfThisJobIsNotKnown) {
  fill();  // case 2 took 20 us, 200 bytes, an answer of 3
  submit(2, "b", {""});
  const auto with = [&](Limits limits) {
    LoadChunk it = load(2, 1);
    it.look_up->limits = limits;
    return found(it);
  };
  EXPECT_EQ(with({20, 200, 3}), "0:OK ");
  EXPECT_EQ(with({19, 200, 3}), "");
  EXPECT_EQ(with({20, 199, 3}), "");
  EXPECT_EQ(with({20, 200, 2}), "");
}

TEST_F(AnswersTest, KnownAnswersBecomeResultsThatSaySo) {
  fill();
  submit(2, "ab", {"", "two"});
  const event::ChunkLoaded loaded = store->load_chunk(load(2, 2));
  write(*store, {record::InsertCached{.job = {2},
                                      .chunk_no = 0,
                                      .first_case = {1},
                                      .solver_version = "solver 1",
                                      .graded_ms = 99,
                                      .answers = loaded.known}});
  Reader reader(path, unhurried());
  const auto rows =
      std::get<query::ResultsPage>(
          reader.answer(query::ListResults{
              .job = {2}, .limit = 10, .verdicts = {}, .label_glob = "", .with_answers = true}))
          .rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(rows[0].cached && rows[1].cached);
  EXPECT_EQ(rows[0].answer, "one");
  EXPECT_EQ(rows[0].verdict, Verdict::kSolved);
  EXPECT_EQ(rows[1].verdict, Verdict::kAccepted);
  EXPECT_EQ(rows[1].message, "");
  EXPECT_EQ(rows[1].time_us, 20U) << "what it took when it was solved";
  EXPECT_EQ(rows[1].graded_ms, 99);
  EXPECT_EQ(rows[1].worker, "worker 1");
  const auto job = std::get<query::JobRow>(reader.answer(query::GetJob{{2}}));
  EXPECT_EQ(job.done_count, 2U);
  EXPECT_EQ(job.cached_count, 2U);
  EXPECT_EQ(job.versions[0].second, 2U);
  EXPECT_EQ(found(2, 2), "") << "what is done is not looked up";
  expect_sound();
}

TEST_F(AnswersTest, OnlyProvenAnswersAreUsedWhereThereAreCanaries) {
  fill();
  submit(2, "ab", {"", ""});
  LoadChunk watched = load(2, 2);
  watched.look_up->proven_only = true;
  EXPECT_EQ(found(watched), "");
  // Solved again, by one that can be proven.
  submit(3, "a", {""});
  solve(3, 0, {{1, 0, Verdict::kSolved, "one"}}, "a", 7);
  EXPECT_EQ(found(watched), "");
  EXPECT_EQ(found(2, 2), "1:OK ") << "nobody uses what waits for its canary";
  settle(7, true);
  EXPECT_EQ(found(watched), "0:OK ");
  EXPECT_EQ(found(2, 2), "0:OK 1:OK ");
}

TEST_F(AnswersTest, WhatIsTakenBackIsNotFound) {
  fill(7);
  submit(2, "ab", {"", ""});
  write(*store, {record::ReviseResults{
                    .job = {1}, .chunk_no = 0, .first_case = {1}, .count = 2, .stretch = 7}});
  settle(7, true);
  EXPECT_EQ(found(2, 2), "");
  EXPECT_EQ(look(path, "SELECT count(*) FROM answers"), 0);
  expect_sound();
}

TEST_F(AnswersTest, WhatNobodyCanProveAnyMoreIsNotFound) {
  fill(7);
  submit(2, "ab", {"", ""});
  settle(7, false);
  EXPECT_EQ(found(2, 2), "");
}

TEST_F(AnswersTest, AFailedCanaryForgetsAllThatIsNotProven) {
  fill();
  submit(2, "ab", {"", ""});
  solve(2, 0, {{1, 0, Verdict::kSolved, "one"}}, "c", 7);
  settle(7, true);
  submit(3, "abc", {"", "", ""});
  EXPECT_EQ(found(3, 3), "0:OK 1:OK 2:OK ");
  write(*store, {record::BarWorker{}});
  EXPECT_EQ(found(3, 3), "2:OK ");
  open({});
  EXPECT_EQ(found(3, 3), "2:OK ") << "after a restart too";
  solve(3, 0, {{1, 0, Verdict::kSolved, "one"}}, "a");
  submit(4, "a", {""});
  EXPECT_EQ(found(4, 1), "0:OK ") << "what is solved anew counts";
  expect_sound();
}

TEST_F(AnswersTest, TheOldestGoWhenThereIsNoRoom) {
  StoreOptions options;
  options.answer_cache_bytes_max = 2 * kAnswerRowBytes;
  open(options);
  fill();
  submit(2, "x", {""});
  solve(2, 0, {{1, 0, Verdict::kSolved, "new"}}, "c");
  submit(3, "abc", {"", "", ""});
  EXPECT_EQ(found(3, 3), "1:OK 2:OK ");
  EXPECT_EQ(look(path, "SELECT count(*) FROM answers"), 2);
  EXPECT_EQ(store->answer_count(), 2U);
}

TEST_F(AnswersTest, NothingIsKeptOrFoundWithoutRoom) {
  fill();
  submit(2, "ab", {"", ""});
  StoreOptions options;
  options.answer_cache_bytes_max = 0;
  open(options);
  EXPECT_EQ(found(2, 2), "");
  solve(2, 0, {{1, 0, Verdict::kSolved, "one"}}, "z");
  EXPECT_EQ(look(path, "SELECT count(*) FROM answers"), 0) << "and what there was goes";
}

TEST_F(AnswersTest, ARollbackLeavesNoTrace) {
  fill();
  submit(2, "ac", {"", ""});
  auto results = insert_results(2, {{2, 0, Verdict::kSolved, "c"}});
  const std::string c = key('c');
  results.results.results[0].key = c;
  results.keeps_answers = true;
  store->begin();
  store->apply(results);
  store->rollback();
  EXPECT_EQ(found(2, 2), "0:OK ");
  EXPECT_EQ(store->answer_count(), 2U);
}

TEST_F(AnswersTest, OneWithoutAnAnswerIsNotKept) {
  write(*store, {insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 3)});
  solve(1, 0, {{1, 0, Verdict::kTimeLimit, ""}}, "a");
  EXPECT_EQ(look(path, "SELECT count(*) FROM answers"), 0);
}

TEST_F(AnswersTest, LargeAnswersAreCopiedAFewAtATime) {
  write(*store, {insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 3)});
  const std::string large(3U << 20U, 'x');
  solve(1, 0,
        {{1, 0, Verdict::kSolved, large},
         {2, 0, Verdict::kSolved, large},
         {3, 0, Verdict::kSolved, large}},
        "abc");
  submit(2, "cba", {"", "", ""});
  LoadChunk again = load(2, 3);
  again.look_up->limits.answer_bytes_max = 2 * large.size();
  const event::ChunkLoaded some = store->load_chunk(again);
  ASSERT_EQ(some.known.size(), 2U);
  EXPECT_EQ(some.known[0].answer_bytes, large.size());
  EXPECT_TRUE(some.more_known);
  write(*store, {record::InsertCached{.job = {2},
                                      .chunk_no = 0,
                                      .first_case = {1},
                                      .solver_version = "solver 1",
                                      .graded_ms = 99,
                                      .answers = some.known}});
  const event::ChunkLoaded rest = store->load_chunk(again);
  ASSERT_EQ(rest.known.size(), 1U);
  EXPECT_EQ(rest.known[0].index, 2U);
  EXPECT_FALSE(rest.more_known);
}

TEST_F(AnswersTest, ARestartKnowsWhatToAsk) {
  fill();
  submit(2, "ab", {"", ""});
  store.reset();
  store = Store::open(path, unhurried());
  const Recovery recovery = store->recover();
  EXPECT_TRUE(recovery.has_answers);
  ASSERT_EQ(recovery.versions.size(), 1U);
  EXPECT_EQ(recovery.versions[0].version, "solver 1");
  EXPECT_EQ(recovery.versions[0].puzzle, "bishops");
  EXPECT_FALSE(recovery.jobs.at(0).open_chunks.at(0).keyed);
  EXPECT_TRUE(recovery.jobs.at(1).open_chunks.at(0).keyed);
}

TEST_F(AnswersTest, TheCheckKnowsTheTable) {
  fill();
  submit(2, "ab", {"", ""});
  const auto findings_after = [&](const std::string& sql) {
    store.reset();
    sqlite::Connection connection(path, sqlite::Connection::Mode::kReadWrite);
    connection.exec(sql);
    std::string text;
    for (const Finding& one : check(path)) text += one.text + "\n";
    return text;
  };
  EXPECT_NE(findings_after("UPDATE answers SET result = 1 WHERE id = 1").find("answer 1"),
            std::string::npos);
  EXPECT_NE(findings_after("UPDATE answers SET proof = 99 WHERE id = 2").find("waits for a canary"),
            std::string::npos);
  EXPECT_NE(findings_after("UPDATE chunk_keys SET keys = x'00'").find("keys have 1 bytes"),
            std::string::npos);
  EXPECT_NE(findings_after("UPDATE totals SET cached = 5").find("5 answers that were known"),
            std::string::npos);
}

}  // namespace
}  // namespace puzzled
