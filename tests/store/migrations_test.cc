// The schema's real history: a database of every older version is brought forward, loses nothing
// and ends with the schema of a new one. It fails if schema.sql changes without a step.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "daemon/store/check_file.h"
#include "daemon/store/migrate.h"
#include "daemon/store/reader.h"
#include "daemon/store/schema.h"
#include "tests/store/support.h"

namespace puzzled {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

// Columns and indices, one line each. Their order means nothing: a step can only add at the end.
std::set<std::string> shape_of(const std::string& path) {
  sqlite::Connection connection(path, sqlite::Connection::Mode::kReadOnly);
  sqlite::Statement rows(
      connection,
      "SELECT t.name || ' strict=' || t.strict || ': ' || c.name || ' ' || c.type || ' notnull=' "
      "|| c.\"notnull\" || ' default=' || coalesce(c.dflt_value, '-') || ' pk=' || c.pk "
      "FROM pragma_table_list t JOIN pragma_table_xinfo(t.name) c WHERE t.name NOT LIKE 'sqlite%' "
      "UNION SELECT t.name || ' index ' || i.name || ': ' || c.name || ' ' || c.seqno "
      "FROM pragma_table_list t JOIN pragma_index_list(t.name) i "
      "JOIN pragma_index_info(i.name) c");
  std::set<std::string> shape;
  while (rows.step()) shape.insert(rows.string(0));
  return shape;
}

class MigrationsTest : public ::testing::TestWithParam<std::int64_t> {
 protected:
  // A database of that version, as a daemon of its time left it.
  std::string make(std::int64_t version) {
    const std::string path = folder_.file("old.db");
    ::close(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    sqlite::Connection connection(path, sqlite::Connection::Mode::kReadWrite);
    connection.exec("PRAGMA journal_mode = WAL");
    connection.exec(text_of(fmt::format("{}/{}.dump", PUZZLED_SCHEMAS, version)));
    EXPECT_EQ(connection.integer("PRAGMA user_version"), version);
    EXPECT_EQ(connection.integer("PRAGMA application_id"), kApplicationId);
    return path;
  }

  TemporaryFolder folder_;
};

std::vector<std::int64_t> older_versions() {
  std::vector<std::int64_t> versions;
  // The first version is tested even while it is the newest.
  for (std::int64_t v = 1; v < std::max<std::int64_t>(2, schema_version()); ++v) {
    versions.push_back(v);
  }
  return versions;
}

TEST_P(MigrationsTest, EndsWithTheSchemaOfANewDatabase) {
  const std::string path = make(GetParam());
  Store::open(path, {})->recover();
  const std::string fresh = folder_.file("fresh.db");
  Store::open(fresh, {})->recover();
  EXPECT_EQ(shape_of(path), shape_of(fresh));
  EXPECT_EQ(look(path, "PRAGMA user_version"), schema_version());
}

TEST_P(MigrationsTest, LosesNothing) {
  const std::string path = make(GetParam());
  const auto rows = [&] {
    return look(path,
                "SELECT (SELECT count(*) FROM jobs) * 1000000 + (SELECT count(*) FROM results) * "
                "10000 + (SELECT count(*) FROM chunk_cases) * 100 + (SELECT count(*) FROM files)");
  };
  const std::int64_t before = rows();
  const std::int64_t boot = look(path, "SELECT boot FROM meta");
  const Recovery recovery = Store::open(path, {})->recover();
  EXPECT_EQ(rows(), before);
  EXPECT_GT(recovery.boot.value, static_cast<std::uint64_t>(boot));
  ASSERT_EQ(recovery.jobs.size(), 7U);
  const RecoveredJob& half = recovery.jobs[5];
  EXPECT_EQ(half.job.value, 7U);
  EXPECT_EQ(half.spec->name, "half graded");
  EXPECT_EQ(half.done_count, 3U);
  ASSERT_EQ(half.open_chunks.size(), 1U);
  ASSERT_EQ(half.attempts.size(), 1U);
  EXPECT_EQ(half.attempts[0].case_no.value, 3U);
  EXPECT_TRUE(half.spec->require.empty());
  EXPECT_EQ(half.spec->solver_version, "");
  Reader reader(path, {});
  const auto row = std::get<query::JobRow>(reader.answer(query::GetJob{{7}}));
  EXPECT_EQ(row.versions, (std::vector<std::pair<std::string, std::uint64_t>>{{"1", 3}}));
  const auto page = std::get<query::ResultsPage>(reader.answer(
      query::ListResults{.job = {1}, .limit = 100, .verdicts = {}, .label_glob = ""}));
  ASSERT_EQ(page.rows.size(), 14U);
  EXPECT_EQ(page.rows[4].verdict, Verdict::kWrongAnswer);
  EXPECT_EQ(page.rows[4].label, "one-claim-is-wrong#2");
}

TEST_P(MigrationsTest, LeavesADatabaseInOrder) {
  const std::string path = make(GetParam());
  Store::open(path, {})->recover();
  const query::CheckPage page = FileCheck(path).page({});
  EXPECT_TRUE(page.findings.empty()) << page.findings.front().text;
  EXPECT_TRUE(page.cursor.empty());
}

TEST_P(MigrationsTest, AFailedStepLeavesTheFileAsItWas) {
  const std::string path = make(GetParam());
  const std::string before = text_of(path);
  std::vector<std::string_view> steps(static_cast<std::size_t>(GetParam()) - 1);
  steps.emplace_back("ALTER TABLE jobs ADD COLUMN added INTEGER; DELETE FROM results");
  steps.emplace_back("UPDATE nowhere SET a = 1");
  {
    sqlite::Connection connection(path, sqlite::Connection::Mode::kReadWrite);
    EXPECT_THROW(migrate(connection, path, kSchemaSql, steps), sqlite::Error);
  }
  EXPECT_TRUE(text_of(path) == before);
  Store::open(path, {})->recover();  // and this program can still use it
  EXPECT_EQ(look(path, "SELECT count(*) FROM results"), 22);
}

INSTANTIATE_TEST_SUITE_P(EveryOlderVersion, MigrationsTest, ::testing::ValuesIn(older_versions()));

}  // namespace
}  // namespace puzzled
