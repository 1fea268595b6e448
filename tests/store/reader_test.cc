#include "daemon/store/reader.h"

#include <gtest/gtest.h>

#include "proto/base/fatal.h"
#include "tests/store/support.h"

namespace puzzled {
namespace {

class ReaderTest : public ::testing::Test {
 protected:
  template <class Answer>
  Answer ask(const query::Query& query) {
    return std::get<Answer>(reader_.answer(query));
  }
  query::NotFound::What missing(const query::Query& query) {
    return ask<query::NotFound>(query).what;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("puzzled.db");
  std::unique_ptr<Store> store_ = Store::open(path_, {});
  Reader reader_{path_, unhurried()};
};

TEST_F(ReaderTest, AnUnknownJobIsNotFound) {
  const JobId job{7};
  EXPECT_EQ(missing(query::GetJob{job}), query::NotFound::What::kJob);
  EXPECT_EQ(missing(query::ListResults{.job = job, .limit = 1, .verdicts = {}, .label_glob = {}}),
            query::NotFound::What::kJob);
  EXPECT_EQ(missing(query::GetCase{job, {1}}), query::NotFound::What::kJob);
  EXPECT_EQ(missing(query::ListFiles{.job = job, .limit = 1}), query::NotFound::What::kJob);
  EXPECT_EQ(missing(query::GetJob{{UINT64_MAX}}), query::NotFound::What::kJob);
}

TEST_F(ReaderTest, AJobWithAllItsFacts) {
  write(*store_, {insert_job(5, "n"), insert_worker(1), insert_chunk(5, 0, 1, 4, 1, {{"a", 1, 4}}),
                  insert_results(5, {{.case_no = 1, .verdict = Verdict::kAccepted},
                                     {.case_no = 2, .verdict = Verdict::kTimeLimit},
                                     {.case_no = 3, .verdict = Verdict::kAccepted}})});
  auto row = ask<query::JobRow>(query::GetJob{{5}});
  EXPECT_EQ(row.job, JobId{5});
  EXPECT_EQ(row.request_id, bytes16(5));
  EXPECT_EQ(row.spec, *insert_job(5, "n").spec);
  EXPECT_FALSE(row.sealed || row.cancelled);
  EXPECT_EQ(row.created_ms, 1005);
  EXPECT_EQ(row.sealed_ms, 0);
  EXPECT_EQ(row.finished_ms, 0);
  EXPECT_EQ(row.case_count, 4U);
  EXPECT_EQ(row.done_count, 3U);
  EXPECT_EQ(row.chunk_count, 1U);
  EXPECT_EQ(row.file_count, 1U);
  EXPECT_EQ(row.verdicts[static_cast<std::size_t>(Verdict::kAccepted)], 2U);
  EXPECT_EQ(row.verdicts[static_cast<std::size_t>(Verdict::kTimeLimit)], 1U);
  EXPECT_EQ(row.verdicts[static_cast<std::size_t>(Verdict::kCancelled)], 0U);
  using Versions = std::vector<std::pair<std::string, std::uint64_t>>;
  EXPECT_EQ(row.versions, (Versions{{"solver 1", 3}}));

  write(*store_, {record::SealJob{.job = {5}, .digest = 1, .sealed_ms = 20},
                  record::CancelJob{.job = {5}, .reason = "no use", .cancelled_ms = 30}});
  row = ask<query::JobRow>(query::GetJob{{5}});
  EXPECT_TRUE(row.sealed && row.cancelled);
  EXPECT_EQ(row.sealed_ms, 20);
  EXPECT_EQ(row.finished_ms, 30);
  EXPECT_EQ(row.cancel_reason, "no use");
  EXPECT_EQ(row.done_count, 3U);
  EXPECT_EQ(row.verdicts[static_cast<std::size_t>(Verdict::kCancelled)], 1U);
}

TEST_F(ReaderTest, CountsResultsBySolverVersion) {
  record::InsertResults newer = insert_results(5, {{.case_no = 1}, {.case_no = 4}});
  newer.solver_version = "solver 2";
  write(*store_, {insert_job(5, "n"), insert_worker(1), insert_chunk(5, 0, 1, 4, 1, {{"a", 1, 4}}),
                  insert_results(5, {{.case_no = 2}}), newer});
  write(*store_, {insert_results(5, {{.case_no = 3}}), insert_job(6, "other")});
  using Versions = std::vector<std::pair<std::string, std::uint64_t>>;
  EXPECT_EQ(ask<query::JobRow>(query::GetJob{{5}}).versions,
            (Versions{{"solver 1", 2}, {"solver 2", 2}}));
  EXPECT_TRUE(ask<query::JobRow>(query::GetJob{{6}}).versions.empty());
}

TEST_F(ReaderTest, JobsNewestFirstInPages) {
  for (std::uint64_t job = 1; job <= 5; ++job) write(*store_, {insert_job(job)});
  auto page = ask<query::JobsPage>(query::ListJobs{.before = 0, .limit = 2});
  ASSERT_EQ(page.jobs.size(), 2U);
  EXPECT_EQ(page.jobs[0].job, JobId{5});
  EXPECT_EQ(page.jobs[1].job, JobId{4});
  EXPECT_TRUE(page.more);
  page = ask<query::JobsPage>(query::ListJobs{.before = 4, .limit = 3});
  ASSERT_EQ(page.jobs.size(), 3U);
  EXPECT_EQ(page.jobs[2].job, JobId{1});
  EXPECT_FALSE(page.more);
  EXPECT_TRUE(ask<query::JobsPage>(query::ListJobs{.before = 1, .limit = 3}).jobs.empty());
  EXPECT_EQ(ask<query::JobsPage>(query::ListJobs{.before = UINT64_MAX, .limit = 9}).jobs.size(),
            5U);
}

TEST_F(ReaderTest, PagesThatHaveNoTimeStillGetOn) {
  StoreOptions hurried;
  hurried.snapshot_ms_max = 0;
  Reader reader(path_, hurried);
  for (std::uint64_t job = 1; job <= 5; ++job) write(*store_, {insert_job(job)});
  query::ListJobs jobs{.before = 0, .limit = 100};
  std::vector<std::uint64_t> seen;
  for (bool more = true; more && seen.size() < 6;) {
    const auto page = std::get<query::JobsPage>(reader.answer(jobs));
    ASSERT_EQ(page.jobs.size(), 1U);
    seen.push_back(page.jobs.front().job.value);
    jobs.before = seen.back();
    more = page.more;
  }
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{5, 4, 3, 2, 1}));

  write(*store_, {insert_chunk(5, 0, 1, 3, 1, {{"a", 1, 1}, {"b", 2, 1}, {"c", 3, 1}})});
  query::ListFiles files{.job = {5}, .after_file = 0, .limit = 100};
  std::string paths;
  for (bool more = true; more && paths.size() < 4;) {
    const auto page = std::get<query::FilesPage>(reader.answer(files));
    ASSERT_EQ(page.files.size(), 1U);
    paths += page.files.front().path;
    files.after_file = page.next_after;
    more = page.more;
  }
  EXPECT_EQ(paths, "abc");
}

TEST_F(ReaderTest, ACaseWithItsHistory) {
  write(*store_, {insert_job(1), insert_worker(1), insert_worker(2),
                  insert_chunk(1, 0, 1, 4, 1, {{"dir/a", 1, 2}, {"none", 3, 0}, {"b", 3, 5}}),
                  insert_chunk(1, 1, 5, 0), insert_chunk(1, 2, 5, 3),
                  insert_results(1, {{.case_no = 6,
                                      .chunk_no = 2,
                                      .verdict = Verdict::kWrongAnswer,
                                      .answer = "right",
                                      .message = "not so"}}),
                  record::InsertAttempt{.job = {1},
                                        .case_no = {6},
                                        .attempt = 1,
                                        .worker = {2},
                                        .start_id = bytes16(2),
                                        .ended_ms = 8,
                                        .message = "killed"}});
  const auto detail = ask<query::CaseDetail>(query::GetCase{{1}, {6}});
  EXPECT_EQ(detail.case_no, CaseNo{6});
  EXPECT_EQ(detail.spec.puzzle, "bishops");
  EXPECT_EQ(detail.label, "b#4");
  EXPECT_EQ(detail.content, case_bytes(6));
  ASSERT_TRUE(detail.result.has_value());
  EXPECT_EQ(detail.result->verdict, Verdict::kWrongAnswer);
  EXPECT_EQ(detail.result->label, "b#4");
  EXPECT_EQ(detail.result->answer, "right");
  EXPECT_TRUE(detail.result->has_answer);
  EXPECT_EQ(detail.result->message, "not so");
  EXPECT_EQ(detail.result->worker, "worker 1");
  EXPECT_EQ(detail.result->solver_version, "solver 1");
  EXPECT_EQ(detail.result->time_us, 60U);
  EXPECT_EQ(detail.result->memory_bytes, 600U);
  EXPECT_EQ(detail.result->attempt, 1U);
  EXPECT_EQ(detail.result->graded_ms, 77);
  ASSERT_EQ(detail.attempts.size(), 1U);
  EXPECT_EQ(detail.attempts[0].worker, "worker 2");
  EXPECT_EQ(detail.attempts[0].message, "killed");
  EXPECT_EQ(detail.attempts[0].ended_ms, 8);
}

TEST_F(ReaderTest, EveryCaseHasItsContentAndLabel) {
  write(*store_, {insert_job(1), insert_chunk(1, 0, 1, 0, 1, {{"e", 0, 0}}),
                  insert_chunk(1, 1, 1, 3, 2, {{"a", 1, 2}, {"b", 3, 3}}),
                  insert_chunk(1, 2, 4, 4, 4, {{"c", 6, 1}, {"f", 0, 0}, {"d", 7, 1}}),
                  insert_chunk(1, 3, 8, 0, 7, {{"g", 0, 0}})});
  const char* labels[] = {"a#1", "a#2", "b#1", "b#2", "b#3", "c#1", "d#1"};
  for (std::uint64_t case_no = 1; case_no <= 7; ++case_no) {
    const auto detail = ask<query::CaseDetail>(query::GetCase{{1}, {case_no}});
    EXPECT_EQ(detail.content, case_bytes(case_no));
    EXPECT_EQ(detail.label, labels[case_no - 1]);
    EXPECT_FALSE(detail.result.has_value());
    EXPECT_FALSE(detail.cancelled);
  }
  EXPECT_EQ(missing(query::GetCase{{1}, {0}}), query::NotFound::What::kCase);
  EXPECT_EQ(missing(query::GetCase{{1}, {8}}), query::NotFound::What::kCase);
}

TEST_F(ReaderTest, ACaseBeforeTheFirstChunkIsDamage) {
  write(*store_, {insert_job(1), insert_chunk(1, 0, 1, 3)});
  sqlite::Connection(path_, sqlite::Connection::Mode::kReadWrite)
      .exec("UPDATE chunks SET first_case = 2");
  EXPECT_THROW(reader_.answer(query::GetCase{{1}, {1}}), sqlite::Error);
}

TEST_F(ReaderTest, FilesInPages) {
  write(*store_, {insert_job(1), insert_job(2),
                  insert_chunk(1, 0, 1, 3, 1, {{"a", 1, 2}, {"e", 0, 0}, {"b", 3, 1}}),
                  insert_chunk(2, 0, 1, 1, 1, {{"x", 1, 1}})});
  auto page = ask<query::FilesPage>(query::ListFiles{.job = {1}, .after_file = 0, .limit = 2});
  ASSERT_EQ(page.files.size(), 2U);
  EXPECT_EQ(page.files[0].path, "a");
  EXPECT_EQ(page.files[1].path, "e");
  EXPECT_EQ(page.files[1].case_count, 0U);
  EXPECT_TRUE(page.more);
  EXPECT_EQ(page.next_after, 2U);
  page = ask<query::FilesPage>(query::ListFiles{.job = {1}, .after_file = 2, .limit = 2});
  ASSERT_EQ(page.files.size(), 1U);
  EXPECT_EQ(page.files[0].path, "b");
  EXPECT_EQ(page.files[0].first_case, 3U);
  EXPECT_FALSE(page.more);
  page = ask<query::FilesPage>(query::ListFiles{.job = {1}, .after_file = UINT64_MAX, .limit = 2});
  EXPECT_TRUE(page.files.empty());
}

TEST_F(ReaderTest, SeesWhatWasCommittedBeforeTheQuestion) {
  EXPECT_EQ(missing(query::GetJob{{1}}), query::NotFound::What::kJob);
  store_->begin();
  store_->apply(insert_job(1));
  EXPECT_EQ(missing(query::GetJob{{1}}), query::NotFound::What::kJob);
  store_->commit();
  EXPECT_EQ(ask<query::JobRow>(query::GetJob{{1}}).job, JobId{1});
}

TEST_F(ReaderTest, HoldsNoSnapshotBetweenQuestions) {
  write(*store_, {insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 5),
                  insert_results(1, {{.case_no = 1}, {.case_no = 2}})});
  ask<query::ResultsPage>(
      query::ListResults{.job = {1}, .limit = 1, .verdicts = {}, .label_glob = {}});
  ask<query::CaseDetail>(query::GetCase{{1}, {1}});
  ask<query::JobsPage>(query::ListJobs{.before = 0, .limit = 1});
  // Only without a snapshot can the whole log be moved and cut.
  sqlite::Connection other(path_, sqlite::Connection::Mode::kReadWrite);
  sqlite::Statement checkpoint(other, "PRAGMA wal_checkpoint(TRUNCATE)");
  ASSERT_TRUE(checkpoint.step());
  EXPECT_EQ(checkpoint.integer(0), 0);
}

TEST_F(ReaderTest, CannotWrite) {
  EXPECT_THROW(
      {
        sqlite::Connection connection(path_, sqlite::Connection::Mode::kReadOnly);
        connection.exec("DELETE FROM jobs");
      },
      sqlite::Error);
}

TEST_F(ReaderTest, AMissingDatabaseIsFatal) {
  try {
    const Reader reader(folder_.file("none.db"), {});
    FAIL();
  } catch (const Fatal& fatal) {
    EXPECT_EQ(fatal.exit_code(), kExitIo);
  }
}

}  // namespace
}  // namespace puzzled
