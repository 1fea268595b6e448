// Generations: results that are taken back stay, the next ones lie beside them, and every reader
// and the check know both.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "daemon/store/keys.h"
#include "daemon/store/reader.h"
#include "proto/base/digest.h"
#include "tests/store/support.h"

namespace puzzled {
namespace {

class GenerationsTest : public ::testing::Test {
 protected:
  // Job 1 with chunks of three cases each; worker 1 graded 1 to 4, unproven, in stretch 7.
  void SetUp() override {
    store = Store::open(path, unhurried());
    store->recover();
    write(*store, {insert_job(1), insert_worker(1), insert_worker(2), insert_chunk(1, 0, 1, 3),
                   insert_chunk(1, 1, 4, 3)});
    auto results = insert_results(1, {{1, 0, Verdict::kSolved, "one"},
                                      {2, 0, Verdict::kWrongAnswer, "two"},
                                      {3, 0, Verdict::kSolved, "three"},
                                      {4, 1, Verdict::kSolved, "four"}});
    results.stretch = 7;
    write(*store, {results});
  }

  void take_back(ChunkNo chunk_no, std::uint64_t first_case, std::uint32_t count) {
    write(*store, {record::ReviseResults{.job = {1},
                                         .chunk_no = chunk_no,
                                         .first_case = {first_case},
                                         .count = count,
                                         .stretch = 7}});
  }
  void grade(const std::vector<Graded>& cases) {
    auto results = insert_results(1, cases);
    results.worker = {2};
    write(*store, {results});
  }
  std::vector<query::ResultRow> list(bool all, std::vector<Verdict> verdicts = {}) {
    Reader reader(path, unhurried());
    return std::get<query::ResultsPage>(reader.answer(query::ListResults{.job = {1},
                                                                         .limit = 100,
                                                                         .verdicts = verdicts,
                                                                         .label_glob = "",
                                                                         .with_answers = true,
                                                                         .all_generations = all}))
        .rows;
  }
  query::JobRow job() {
    Reader reader(path, unhurried());
    return std::get<query::JobRow>(reader.answer(query::GetJob{{1}}));
  }
  std::uint64_t job_digest() {
    return static_cast<std::uint64_t>(look(path, "SELECT digest FROM jobs"));
  }
  void close() { store.reset(); }
  void change(const std::string& sql) {
    sqlite::Connection connection(path, sqlite::Connection::Mode::kReadWrite);
    connection.exec(sql);
  }

  TemporaryFolder folder;
  const std::string path = folder.file("puzzled.db");
  std::unique_ptr<Store> store;
};

TEST_F(GenerationsTest, AResultThatIsTakenBackStaysAndItsCaseIsOpen) {
  take_back(0, 1, 2);
  const query::JobRow row = job();
  EXPECT_EQ(row.done_count, 2U);
  EXPECT_EQ(row.revised, 2U);
  EXPECT_EQ(row.verdicts[static_cast<std::size_t>(Verdict::kSolved)], 2U);
  EXPECT_EQ(row.verdicts[static_cast<std::size_t>(Verdict::kWrongAnswer)], 0U);
  const auto newest = list(false);
  ASSERT_EQ(newest.size(), 2U);
  EXPECT_EQ(newest[0].case_no.value, 3U);
  const auto all = list(true);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].answer, "one");
  EXPECT_TRUE(list(false, {Verdict::kWrongAnswer}).empty())
      << "the index of verdicts knows it, too";
  EXPECT_EQ(list(true, {Verdict::kWrongAnswer}).size(), 1U);
  EXPECT_TRUE(check(path).empty());
}

TEST_F(GenerationsTest, TheNextResultLiesBesideIt) {
  take_back(0, 1, 2);
  grade({{1, 0, Verdict::kCrashed, ""}, {2, 0, Verdict::kSolved, "TWO"}});
  const auto newest = list(false);
  ASSERT_EQ(newest.size(), 4U);
  EXPECT_EQ(newest[1].answer, "TWO");
  EXPECT_EQ(newest[1].generation, 2U);
  EXPECT_EQ(newest[1].worker, "worker 2");
  EXPECT_EQ(newest[2].generation, 1U);
  const auto all = list(true);
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[2].answer, "two");
  EXPECT_EQ(all[3].answer, "TWO");
  EXPECT_EQ(job().done_count, 4U);
  Reader reader(path, unhurried());
  const auto detail =
      std::get<query::CaseDetail>(reader.answer(query::GetCase{.job = {1}, .case_no = {2}}));
  ASSERT_TRUE(detail.result.has_value());
  EXPECT_EQ(detail.result->answer, "TWO");
  ASSERT_EQ(detail.earlier.size(), 1U);
  EXPECT_TRUE(detail.earlier[0].has_answer);
  EXPECT_EQ(detail.earlier[0].answer, "") << "up to 127 of them have to fit into one message";
  EXPECT_TRUE(check(path).empty());
}

TEST_F(GenerationsTest, AnOpenCaseShowsOnlyWhatWasTakenBack) {
  take_back(1, 4, 1);
  Reader reader(path, unhurried());
  const auto detail =
      std::get<query::CaseDetail>(reader.answer(query::GetCase{.job = {1}, .case_no = {4}}));
  EXPECT_FALSE(detail.result.has_value());
  EXPECT_EQ(detail.earlier.size(), 1U);
}

TEST_F(GenerationsTest, ARestartFindsTheCasesOpenAndWhatIsNotProven) {
  take_back(0, 1, 3);
  close();
  const Recovery recovery = Store::open(path, unhurried())->recover();
  ASSERT_EQ(recovery.jobs.size(), 1U);
  EXPECT_EQ(recovery.jobs[0].done_count, 1U);
  ASSERT_EQ(recovery.jobs[0].open_chunks.size(), 2U);
  EXPECT_EQ(recovery.jobs[0].open_chunks[0].done_count, 0U);
  ASSERT_EQ(recovery.runs.size(), 1U);
  EXPECT_EQ(recovery.last_stretch, 7U);
  EXPECT_EQ(recovery.runs[0].chunk_no, 1U);
  EXPECT_EQ(recovery.runs[0].first, 0U);
  EXPECT_EQ(recovery.runs[0].count, 1U);
  EXPECT_EQ(recovery.runs[0].start_id, bytes16(1));
}

TEST_F(GenerationsTest, AStretchIsForgottenWhole) {
  write(*store, {record::ForgetStretch{7}});
  close();
  EXPECT_TRUE(Store::open(path, unhurried())->recover().runs.empty());
}

TEST_F(GenerationsTest, AJobOpensAgain) {
  grade({{5, 1}, {6, 1}});
  write(*store, {record::SealJob{.job = {1}, .digest = job_digest(), .sealed_ms = 5},
                 record::FinishJob{.job = {1}, .finished_ms = 6}});
  EXPECT_TRUE(check(path).empty());
  write(*store, {record::ReviseResults{
                     .job = {1}, .chunk_no = 0, .first_case = {1}, .count = 3, .stretch = 7},
                 record::ReopenJob{.job = {1}}});
  EXPECT_EQ(job().finished_ms, 0);
  EXPECT_TRUE(check(path).empty());
  close();
  EXPECT_FALSE(Store::open(path, unhurried())->recover().jobs[0].finished);
}

TEST_F(GenerationsTest, AttemptsBelongToTheGenerationTheyWereMadeIn) {
  const record::InsertAttempt attempt{.job = {1},
                                      .chunk_no = 0,
                                      .case_no = {1},
                                      .attempt = 1,
                                      .worker = {2},
                                      .start_id = bytes16(2),
                                      .ended_ms = 9,
                                      .message = "gone"};
  write(*store, {attempt});  // in the first, where there is a result
  take_back(0, 1, 3);
  write(*store, {attempt});
  close();
  const Recovery recovery = Store::open(path, unhurried())->recover();
  EXPECT_EQ(recovery.jobs[0].attempts.size(), 1U);
  EXPECT_EQ(look(path, "SELECT max(generation) FROM attempts"), 2);
}

TEST_F(GenerationsTest, AfterTheLastGenerationTheResultIsReplaced) {
  take_back(0, 1, 3);
  for (std::uint64_t g = 2; g <= keys::kGenerationMax + 2; ++g) {
    auto results = insert_results(1, {{1, 0}});
    results.stretch = 100 + g;
    write(*store,
          {results,
           record::ReviseResults{
               .job = {1}, .chunk_no = 0, .first_case = {1}, .count = 1, .stretch = 100 + g}});
  }
  grade({{1, 0, Verdict::kSolved, "at last"}});
  const auto rows = list(true);
  ASSERT_GE(rows.size(), keys::kGenerationMax);
  EXPECT_EQ(rows[keys::kGenerationMax - 1].answer, "at last");
  EXPECT_EQ(rows[keys::kGenerationMax - 1].generation, keys::kGenerationMax);
  EXPECT_TRUE(check(path).empty());
}

TEST_F(GenerationsTest, TheCheckKnowsGenerations) {
  take_back(0, 1, 3);
  grade({{1, 0}, {2, 0}});
  close();
  const std::int64_t old_row = keys::result({1}, 1);
  change(fmt::format("DELETE FROM results WHERE id = {}", old_row));
  EXPECT_EQ(check(path).size(), 1U) << "what was taken back is missing";
  change(
      fmt::format("INSERT INTO results SELECT {}, verdict, time_us, memory_bytes, attempt, "
                  "worker, solver_version, graded_ms, answer, message, cached FROM results LIMIT 1",
                  old_row));
  EXPECT_TRUE(check(path).empty());
  change("UPDATE jobs SET revised = 2");
  EXPECT_EQ(check(path).size(), 1U);
  change("UPDATE jobs SET revised = 3");
  const std::int64_t too_new = keys::result({1}, 3, 3);
  change(
      fmt::format("INSERT INTO results SELECT {}, verdict, time_us, memory_bytes, attempt, "
                  "worker, solver_version, graded_ms, answer, message, cached FROM results LIMIT 1",
                  too_new));
  EXPECT_EQ(check(path).size(), 1U) << "a result in a generation that was never begun";
  change(fmt::format("DELETE FROM results WHERE id = {}", too_new));
  const std::int64_t no_case = keys::result({1}, 7, 2);
  change(
      fmt::format("INSERT INTO results SELECT {}, verdict, time_us, memory_bytes, attempt, "
                  "worker, solver_version, graded_ms, answer, message, cached FROM results LIMIT 1",
                  no_case));
  EXPECT_EQ(check(path).size(), 1U) << "a result of no case";
  change(fmt::format("DELETE FROM results WHERE id = {}", no_case));
  for (const std::uint64_t g : {1U, 2U, 3U, 127U, 128U}) {
    const std::int64_t case_0 = keys::result({1}, 0, g);
    change(fmt::format(
        "INSERT INTO results SELECT {}, verdict, time_us, memory_bytes, attempt, "
        "worker, solver_version, graded_ms, answer, message, cached FROM results LIMIT 1",
        case_0));
    EXPECT_EQ(check(path).size(), 1U) << "a result of case 0 in generation " << g;
    change(fmt::format("DELETE FROM results WHERE id = {}", case_0));
  }
}

// Beside the newest, its earlier answers are there while they fill no more than a page.
TEST_F(GenerationsTest, AnswersThatWereTakenBackHaveABound) {
  take_back(0, 1, 3);
  grade({{1, 0, Verdict::kSolved, std::string(2000, '2')}});
  take_back(0, 1, 1);
  grade({{1, 0, Verdict::kSolved, std::string(400, '3')}});
  StoreOptions options = unhurried();
  options.page_bytes_max = 1000;
  Reader reader(path, options);
  query::ListResults query{.job = {1},
                           .limit = 2,
                           .verdicts = {},
                           .label_glob = "",
                           .with_answers = true,
                           .all_generations = true};
  const auto rows = [&] { return std::get<query::ResultsPage>(reader.answer(query)).rows; };
  auto page = rows();
  ASSERT_EQ(page.size(), 3U) << "the rows of a case stay together";
  EXPECT_EQ(page[0].answer, "one");
  EXPECT_FALSE(page[0].answer_left_out);
  EXPECT_EQ(page[1].answer, "");
  EXPECT_TRUE(page[1].has_answer && page[1].answer_left_out);
  EXPECT_EQ(page[2].answer, std::string(400, '3'));
  take_back(0, 1, 1);
  grade({{1, 0, Verdict::kSolved, std::string(5000, '4')}});
  page = rows();
  ASSERT_EQ(page.size(), 4U);
  EXPECT_TRUE(page[0].answer_left_out && page[1].answer_left_out && page[2].answer_left_out);
  EXPECT_EQ(page[3].answer.size(), 5000U) << "the newest is there in any case";
  query.with_answers = false;
  for (const query::ResultRow& row : rows()) {
    EXPECT_TRUE(row.has_answer && !row.answer_left_out && row.answer.empty());
  }
}

// Each generation is a lookup, so a page of many ends by them.
TEST_F(GenerationsTest, ManyGenerationsAreCutIntoPages) {
  constexpr std::uint32_t kCases = 600;
  constexpr std::uint32_t kGenerations = 100;
  static_assert(kCases * kGenerations > 2 * kPageStepsMax);
  std::vector<Graded> cases;
  for (std::uint64_t i = 1; i <= kCases; ++i) cases.push_back({.case_no = i});
  write(*store, {insert_job(2), insert_chunk(2, 0, 1, kCases), insert_results(2, cases)});
  close();
  change(
      fmt::format("UPDATE progress SET generations = CAST(replace(hex(zeroblob({})), '00', "
                  "char({})) AS BLOB) WHERE id = {}",
                  kCases, kGenerations, keys::progress({2}, 0)));
  change(fmt::format(
      "WITH RECURSIVE later(g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM later WHERE g < {}) "
      "INSERT INTO results SELECT id + (g << 32), verdict, time_us, memory_bytes, attempt, worker, "
      "solver_version, graded_ms, answer, message, cached FROM results, later WHERE id BETWEEN {} "
      "AND {}",
      kGenerations - 1, keys::result({2}, 1), keys::result({2}, kCases)));
  Reader reader(path, unhurried());
  query::ListResults query{.job = {2},
                           .limit = 1'000'000,
                           .verdicts = {},
                           .label_glob = "",
                           .with_answers = false,
                           .all_generations = true};
  std::size_t rows = 0;
  for (bool more = true; more;) {
    const auto page = std::get<query::ResultsPage>(reader.answer(query));
    EXPECT_LT(page.rows.size(), kPageStepsMax + kGenerations);
    rows += page.rows.size();
    more = page.more;
    query.after_case = page.next_after;
  }
  EXPECT_EQ(rows, std::size_t{kCases} * kGenerations);
}

TEST_F(GenerationsTest, GenerationsOfAnotherSizeAreDamage) {
  take_back(0, 1, 2);
  close();
  for (const char* generations : {"x'02'", "x'0202020202'"}) {
    change(fmt::format("UPDATE progress SET generations = {}", generations));
    EXPECT_THROW(list(false), sqlite::Error) << generations;
    EXPECT_THROW(list(true), sqlite::Error) << generations;
    Reader reader(path, unhurried());
    EXPECT_THROW(reader.answer(query::GetCase{.job = {1}, .case_no = {3}}), sqlite::Error)
        << generations;
  }
}

TEST_F(GenerationsTest, TheCheckKnowsWhatIsNotProven) {
  EXPECT_TRUE(check(path).empty());
  close();
  change("UPDATE unproven SET case_count = 4 WHERE chunk_no = 0");
  EXPECT_EQ(check(path).size(), 1U) << "more than its chunk has";
  change("UPDATE unproven SET case_count = 3, worker = 9 WHERE chunk_no = 0");
  EXPECT_EQ(check(path).size(), 1U) << "of nobody";
}

TEST_F(GenerationsTest, CanariesAreCasesWhoseResultsSayNothingOfTheMachine) {
  grade({{5, 1, Verdict::kTimeLimit}, {6, 1, Verdict::kInvalidInstance}});
  write(*store, {record::MarkCanary{.job = {1}, .off = false, .marked_ms = 3}});
  EXPECT_TRUE(job().canary);
  const auto loaded = store->load_canaries({.job = {1}, .chunk_no = 1, .epoch = 4});
  EXPECT_EQ(loaded.epoch, 4U);
  EXPECT_EQ(loaded.first_case.value, 4U);
  ASSERT_EQ(loaded.known.size(), 2U);
  EXPECT_EQ(loaded.known[0].index, 0U);
  EXPECT_EQ(loaded.known[0].answer_digest, wire::digest_of("four"));
  EXPECT_EQ(loaded.known[0].answer_bytes, 4U);
  EXPECT_EQ(loaded.known[1].verdict, Verdict::kInvalidInstance);
  EXPECT_FALSE(loaded.known[1].has_answer);
  close();
  EXPECT_TRUE(Store::open(path, unhurried())->recover().jobs[0].canary);
  EXPECT_EQ(look(path, "SELECT canary_ms FROM jobs"), 3);
}

TEST_F(GenerationsTest, ACanaryIsComparedWithTheNewestResult) {
  take_back(0, 1, 3);
  grade({{2, 0, Verdict::kSolved, "TWO"}});
  const auto loaded = store->load_canaries({.job = {1}, .chunk_no = 0, .epoch = 1});
  ASSERT_EQ(loaded.known.size(), 1U);
  EXPECT_EQ(loaded.known[0].answer_digest, wire::digest_of("TWO"));
}

// A sound worker would fail it.
TEST_F(GenerationsTest, CasesThatChangedAreNoCanaries) {
  const LoadCanaries load{.job = {1}, .chunk_no = 0, .epoch = 1};
  EXPECT_FALSE(store->load_canaries(load).known.empty());
  const LoadChunk same{.job = {1}, .chunk_no = 0, .first_case = {1}, .case_count = 3};
  EXPECT_EQ(store->load_chunk(same).cases->count(), 3U);
  for (const char* damage :
       {"UPDATE chunk_cases SET payload = CAST(replace(payload, 'case 1', 'case 7') AS BLOB)",
        "DELETE FROM chunk_cases"}) {
    change(damage);
    EXPECT_THROW(store->load_canaries(load), sqlite::Error) << damage;
    EXPECT_THROW(store->load_chunk(same), sqlite::Error) << damage;
  }
}

TEST_F(GenerationsTest, AJobWithoutCasesHasNoCanaries) {
  write(*store, {insert_job(2)});
  const auto loaded = store->load_canaries({.job = {2}, .chunk_no = 0, .epoch = 1});
  EXPECT_EQ(loaded.cases, nullptr);
  EXPECT_TRUE(loaded.known.empty());
}

TEST_F(GenerationsTest, WhatIsNotProvenMustHaveItsWorkerJobAndChunk) {
  close();
  const std::string damaged = folder.file("damaged.db");
  for (const char* damage : {"DELETE FROM workers WHERE worker = 1", "DELETE FROM jobs",
                             "DELETE FROM chunks WHERE id = (1 << 32) + 1"}) {
    std::filesystem::copy_file(path, damaged, std::filesystem::copy_options::overwrite_existing);
    sqlite::Connection(damaged, sqlite::Connection::Mode::kReadWrite).exec(damage);
    EXPECT_THROW(Store::open(damaged, unhurried())->recover(), Fatal) << damage;
  }
}

TEST_F(GenerationsTest, WhoIsBarredIsKnownAfterARestart) {
  const Barred barred{.name = "w",
                      .host = "h",
                      .version = "1",
                      .puzzle = "bishops",
                      .solver = "staircase",
                      .solver_version = "2",
                      .barred_ms = 8,
                      .reason = "because"};
  write(*store, {record::BarWorker{barred}});
  close();
  store = Store::open(path, unhurried());
  const Recovery recovery = store->recover();
  ASSERT_EQ(recovery.barred.size(), 1U);
  EXPECT_EQ(recovery.barred[0].solver_version, "2");
  EXPECT_EQ(recovery.barred[0].reason, "because");
  write(*store, {record::AdmitWorker{"h"}});
  close();
  EXPECT_TRUE(Store::open(path, unhurried())->recover().barred.empty());
}

}  // namespace
}  // namespace puzzled
