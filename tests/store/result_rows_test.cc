// The virtual table through which results reach their table.
#include "daemon/store/result_rows.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/store/support.h"

namespace puzzled {
namespace {

class ResultRowsTest : public testing::Test {
 protected:
  void SetUp() override {
    { const auto store = Store::open(path_, unhurried()); }
    connection_.emplace(path_, sqlite::Connection::Mode::kReadWrite);
    rows_.emplace(*connection_);
    rows_->start(kCommon);
  }

  static constexpr ResultRows::Common kCommon{
      .attempt = 2, .worker = 3, .solver_version = 4, .graded_ms = 1'700'000'000'000};
  TemporaryFolder folder_;
  const std::string path_ = folder_.file("puzzled.db");
  std::optional<sqlite::Connection> connection_;
  std::optional<ResultRows> rows_;
};

TEST_F(ResultRowsTest, EveryColumnGetsWhatIsMeantForIt) {
  const CaseResult with_all{.verdict = Verdict::kAccepted,
                            .time_us = 5,
                            .memory_bytes = 6,
                            .has_answer = true,
                            .answer = std::string_view("\0a", 2),
                            .message = "why",
                            .cached = true};
  rows_->add(10, with_all);
  rows_->insert();
  EXPECT_EQ(look(path_,
                 "SELECT count(*) FROM results WHERE id = 10 AND verdict = 2 AND time_us = 5 AND "
                 "memory_bytes = 6 AND attempt = 2 AND worker = 3 AND solver_version = 4 AND "
                 "graded_ms = 1700000000000 AND answer = x'0061' AND typeof(answer) = 'blob' AND "
                 "message = 'why' AND cached = 1"),
            1);
}

TEST_F(ResultRowsTest, AnEmptyAnswerIsNotNone) {
  const CaseResult without{.verdict = Verdict::kSolved};
  const CaseResult empty{.verdict = Verdict::kSolved, .has_answer = true};
  rows_->add(10, without);
  rows_->start(kCommon);
  rows_->add(11, empty);
  rows_->add(12, without);
  rows_->insert();
  EXPECT_EQ(look(path_, "SELECT count(*) FROM results"), 2) << "what was added before start()";
  EXPECT_EQ(look(path_, "SELECT answer IS x'' FROM results WHERE id = 11"), 1);
  EXPECT_EQ(look(path_, "SELECT answer IS NULL AND message IS NULL FROM results WHERE id = 12"), 1);
}

TEST_F(ResultRowsTest, ARowThatIsThereAlreadyIsAnErrorThatTheTransactionCanBeRolledBackAfter) {
  const CaseResult result{.verdict = Verdict::kSolved};
  rows_->add(11, result);
  rows_->insert();
  connection_->exec("BEGIN");
  for (const int id : {10, 11, 12}) rows_->add(id, result);
  EXPECT_THROW(rows_->insert(), sqlite::Error);
  ASSERT_TRUE(connection_->in_transaction());
  connection_->exec("ROLLBACK");
  EXPECT_EQ(look(path_, "SELECT count(*) FROM results"), 1);
  rows_->start(kCommon);
  rows_->add(12, result);
  rows_->insert();
  EXPECT_EQ(look(path_, "SELECT count(*) FROM results"), 2);
}

TEST_F(ResultRowsTest, RowsThatAForeignTriggerOrTableTakesAwayAreMissed) {
  const CaseResult result{.verdict = Verdict::kSolved};
  connection_->exec(
      "CREATE TRIGGER foreign_one BEFORE INSERT ON results WHEN new.id = 11 "
      "BEGIN SELECT raise(IGNORE); END");
  rows_->add(10, result);
  rows_->add(11, result);
  EXPECT_THROW(rows_->insert(), sqlite::Error);
  connection_->exec("DROP TRIGGER foreign_one");
  connection_->exec(
      "CREATE TABLE new_results (id, verdict, time_us, memory_bytes, attempt, worker, "
      "solver_version, graded_ms, answer, message, cached)");
  rows_->start(kCommon);
  rows_->add(12, result);
  EXPECT_THROW(rows_->insert(), sqlite::Error);
}

TEST_F(ResultRowsTest, LeavesNothingInTheFileAndServesNoViewOfIt) {
  EXPECT_EQ(look(path_, "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%new_results%'"), 0);
  connection_->exec("CREATE VIEW hostile AS SELECT * FROM new_results");
  EXPECT_THROW(connection_->exec("SELECT * FROM hostile"), sqlite::Error);
}

}  // namespace
}  // namespace puzzled
