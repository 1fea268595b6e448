#include "daemon/store/migrate.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "daemon/store/schema.h"
#include "proto/base/fatal.h"
#include "tests/store/support.h"

namespace puzzled {
namespace {

constexpr std::array<std::string_view, 2> kSteps = {
    "ALTER TABLE t ADD COLUMN b INTEGER NOT NULL DEFAULT 2",
    "ALTER TABLE t ADD COLUMN c INTEGER NOT NULL DEFAULT 3; UPDATE t SET a = a + 1",
};
constexpr const char* kFirst = "CREATE TABLE t (a INTEGER NOT NULL)";
constexpr const char* kNewest = "CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER)";

class MigrateTest : public ::testing::Test {
 protected:
  MigrateTest() { close(open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)); }
  static std::string refusal(const std::function<void()>& act) {
    try {
      act();
    } catch (const Fatal& fatal) {
      EXPECT_EQ(fatal.exit_code(), kExitRefused);
      return fatal.what();
    }
    return "";
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("m.db");
};

TEST_F(MigrateTest, ANewDatabaseGetsTheNewestSchema) {
  sqlite::Connection connection(path_, sqlite::Connection::Mode::kReadWrite);
  migrate(connection, path_, kNewest, kSteps);
  EXPECT_EQ(connection.integer("PRAGMA user_version"), 3);
  EXPECT_EQ(connection.integer("PRAGMA application_id"), kApplicationId);
  EXPECT_EQ(connection.integer("SELECT count(*) FROM pragma_table_info('t')"), 3);
  migrate(connection, path_, kNewest, kSteps);  // nothing to do
}

TEST_F(MigrateTest, AnOlderDatabaseIsBroughtForwardStepByStep) {
  sqlite::Connection connection(path_, sqlite::Connection::Mode::kReadWrite);
  migrate(connection, path_, kFirst, {});
  connection.exec("INSERT INTO t VALUES (10)");
  EXPECT_EQ(connection.integer("PRAGMA user_version"), 1);
  migrate(connection, path_, kNewest, kSteps);
  EXPECT_EQ(connection.integer("PRAGMA user_version"), 3);
  EXPECT_EQ(connection.integer("SELECT a * 100 + b * 10 + c FROM t"), 1123);
}

TEST_F(MigrateTest, AFailedStepLeavesTheOldVersion) {
  sqlite::Connection connection(path_, sqlite::Connection::Mode::kReadWrite);
  migrate(connection, path_, kFirst, {});
  const std::array<std::string_view, 2> broken = {kSteps[0], "UPDATE nowhere SET a = 1"};
  EXPECT_THROW(migrate(connection, path_, kNewest, broken), sqlite::Error);
  EXPECT_FALSE(connection.in_transaction());
  EXPECT_EQ(connection.integer("PRAGMA user_version"), 1);
  EXPECT_EQ(connection.integer("SELECT count(*) FROM pragma_table_info('t')"), 1);
}

TEST_F(MigrateTest, ANewerDatabaseIsRefused) {
  sqlite::Connection connection(path_, sqlite::Connection::Mode::kReadWrite);
  migrate(connection, path_, kNewest, kSteps);
  const std::string text = refusal([&] { migrate(connection, path_, kFirst, {}); });
  EXPECT_NE(text.find("newer"), std::string::npos) << text;
  EXPECT_NE(text.find(path_), std::string::npos) << text;
  EXPECT_EQ(connection.integer("PRAGMA user_version"), 3);
}

TEST_F(MigrateTest, AnotherProgramsDatabaseIsRefused) {
  sqlite::Connection connection(path_, sqlite::Connection::Mode::kReadWrite);
  connection.exec("CREATE TABLE bookmarks (a)");
  const std::string text = refusal([&] { migrate(connection, path_); });
  EXPECT_NE(text.find("another program"), std::string::npos) << text;
  EXPECT_EQ(connection.integer("SELECT count(*) FROM sqlite_schema"), 1);
}

TEST_F(MigrateTest, TheSchemaFileIsWhatIsUsed) {
  sqlite::Connection connection(path_, sqlite::Connection::Mode::kReadWrite);
  migrate(connection, path_);
  sqlite::Connection bare(":memory:", sqlite::Connection::Mode::kReadWrite);
  bare.exec(kSchemaSql);
  const char* sum = "SELECT sum(length(sql)) FROM sqlite_schema";
  EXPECT_EQ(connection.integer(sum), bare.integer(sum));
}

}  // namespace
}  // namespace puzzled
