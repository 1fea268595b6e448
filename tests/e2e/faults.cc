#include "tests/e2e/faults.h"

#include <signal.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>

namespace puzzled::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using Row = std::vector<std::string>;

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

Database open_database(const fs::path& path) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr);
  EXPECT_EQ(code, SQLITE_OK) << path;
  sqlite3_busy_timeout(database, 10'000);
  return Database(database);
}

std::vector<Row> query(sqlite3* database, const std::string& sql) {
  std::vector<Row> rows;
  char* error = nullptr;
  const auto take = [](void* to, int count, char** values, char**) {
    Row row;
    for (int i = 0; i < count; ++i) row.emplace_back(values[i] == nullptr ? "" : values[i]);
    static_cast<std::vector<Row>*>(to)->push_back(std::move(row));
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), take, &rows, &error), SQLITE_OK) << error << sql;
  sqlite3_free(error);
  return rows;
}

// The file and its log, so that looking at them changes nothing for the daemon.
Database open_copy(const fs::path& database, const fs::path& folder) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const char* suffix : {"", "-wal"}) {
    const fs::path from = database.string() + suffix;
    if (fs::exists(from)) fs::copy_file(from, folder / from.filename());
  }
  return open_database(folder / database.filename());
}

// Everything about a job that is stored more than once must agree. Columns: job; its chunks and
// cases as the job says them, and as they are; its result rows, their stored sum and that of
// `progress`; the last case with a result. No test that reads this takes results back, so all are
// of the first generation (keys.h of the store).
constexpr const char* kLedger = R"(
  WITH c AS (SELECT id >> 32 AS job, count(*) AS chunks, sum(case_count) AS cases
             FROM chunks GROUP BY 1),
       p AS (SELECT id >> 39 AS job, sum(done) AS done
             FROM progress WHERE (id >> 32) & 127 = 1 GROUP BY 1),
       r AS (SELECT id >> 39 AS job, count(*) AS rows, max(id & 4294967295) AS last
             FROM results WHERE (id >> 32) & 127 = 1 GROUP BY 1),
       t AS (SELECT id >> 7 AS job, done FROM totals WHERE id & 127 = 1)
  SELECT j.job, j.chunk_count, j.case_count, ifnull(c.chunks, 0), ifnull(c.cases, 0),
         ifnull(r.rows, 0), ifnull(t.done, 0), ifnull(p.done, 0), ifnull(r.last, 0)
  FROM jobs j LEFT JOIN c USING (job) LEFT JOIN p USING (job) LEFT JOIN r USING (job)
       LEFT JOIN t USING (job) ORDER BY 1)";

// Cases without a verdict, by job: counted one by one, not by any sum that is stored.
std::map<std::uint64_t, std::uint64_t> open_cases(sqlite3* database) {
  std::map<std::uint64_t, std::uint64_t> open;
  for (const Row& row : query(database, "SELECT id >> 32, case_count FROM chunks")) {
    open[std::stoull(row[0])] += std::stoull(row[1]);
  }
  for (const Row& row : query(database,
                              "SELECT id >> 39, hex(verdicts) FROM progress "
                              "WHERE (id >> 32) & 127 = 1")) {
    for (std::size_t i = 0; i + 1 < row[1].size(); i += 2) {
      if (row[1].compare(i, 2, "00") != 0) --open[std::stoull(row[0])];
    }
  }
  return open;
}

Ledger read_ledger(sqlite3* database) {
  query(database, "BEGIN");
  EXPECT_EQ(query(database, "PRAGMA quick_check"), (std::vector<Row>{{"ok"}}));
  auto open = open_cases(database);
  Ledger ledger;
  std::uint64_t done = 0;
  for (const Row& row : query(database, kLedger)) {
    const std::string what = "job " + row[0];
    EXPECT_EQ(row[1], row[3]) << what << ": chunks";
    EXPECT_EQ(row[2], row[4]) << what << ": cases of the chunks";
    EXPECT_EQ(row[5], row[6]) << what << ": result rows and their stored sum";
    EXPECT_EQ(row[5], row[7]) << what << ": result rows and progress";
    EXPECT_LE(std::stoull(row[8]), std::stoull(row[2])) << what << ": a result of no case";
    JobLedger& job = ledger[std::stoull(row[0])];
    job = {std::stoull(row[2]), std::stoull(row[5]), open[std::stoull(row[0])]};
    EXPECT_EQ(job.accepted, job.done + job.open) << what;
    done += job.done;
  }
  EXPECT_EQ(query(database, "SELECT count(*) FROM results").at(0).at(0), std::to_string(done))
      << "rows that the ledger does not see";
  query(database, "COMMIT");
  return ledger;
}

}  // namespace

void FaultsTest::kill_and_wait(Process& process, int signal_number) {
  process.signal(signal_number);
  ASSERT_TRUE(process.wait(seconds(60)).has_value()) << "it does not end";
}

void FaultsTest::check_ledger() {
  const Ledger now = read_ledger(open_copy(database_, path("looked-at")).get());
  for (const auto& [job, before] : last_) {
    const auto at = now.find(job);
    ASSERT_NE(at, now.end()) << "job " << job << " is lost";
    EXPECT_GE(at->second.accepted, before.accepted) << "accepted, then lost: job " << job;
    EXPECT_GE(at->second.done, before.done) << "done, then lost: job " << job;
  }
  last_ = now;
}

std::uint64_t FaultsTest::number_in_store(const std::string& sql) {
  const std::vector<Row> rows = query(open_database(database_).get(), sql);
  return rows.empty() ? 0 : std::stoull(rows.at(0).at(0));
}

void FaultsTest::expect_no_charges() {
  EXPECT_EQ(number_in_store("SELECT count(*) FROM attempts"), 0U);
}

std::vector<std::string> instances_of(const std::string& input) {
  std::vector<std::string> lines;
  std::istringstream in(input);
  for (std::string line; std::getline(in, line) && line != "0 0";) lines.push_back(line);
  return lines;
}

void FaultsTest::solve_offline(const std::set<std::string>& instances) {
  std::string input;
  for (const std::string& line : instances) input += line + "\n";
  const Ended solved = ctl({"solve", "bishops"}, input + "0 0\n");
  ASSERT_EQ(solved.exit_code, 0) << solved.err;
  std::istringstream out(solved.out);
  for (const std::string& line : instances) std::getline(out, answers_[line]);
}

const std::string& FaultsTest::right_answer(const std::string& instance) {
  if (!answers_.contains(instance)) solve_offline({instance});
  return answers_[instance];
}

void FaultsTest::expect_right(const std::string& job, const std::string& input) {
  const std::vector<std::string> instances = instances_of(input);
  std::set<std::string> unknown;
  for (const std::string& line : instances) {
    if (!answers_.contains(line)) unknown.insert(line);
  }
  if (!unknown.empty()) solve_offline(unknown);
  EXPECT_EQ(status(job).at("state"), "DONE") << "job " << job;
  const std::vector<Json> rows = results(job);
  ASSERT_EQ(rows.size(), instances.size()) << "job " << job;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].at("case"), i + 1) << rows[i].dump();
    ASSERT_EQ(rows[i].at("verdict"), "SOLVED") << rows[i].dump();
    ASSERT_EQ(rows[i].at("answer"), answers_.at(instances[i])) << rows[i].dump();
  }
}

std::vector<Json> FaultsTest::workers() {
  return Json::parse(ctl_out({"workers", "--output", "json"}));
}

::testing::AssertionResult FaultsTest::workers_become(std::size_t count) {
  std::size_t now = 0;
  if (eventually([&] { return (now = workers().size()) == count; }, seconds(60))) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << now << " workers, expected " << count;
}

::testing::AssertionResult FaultsTest::done_becomes(const std::string& job,
                                                    std::uint64_t at_least) {
  std::uint64_t now = 0;
  if (eventually([&] { return (now = status(job).at("done").get<std::uint64_t>()) >= at_least; },
                 seconds(90))) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << now << " done, expected " << at_least;
}

std::mt19937_64 seeded_random() {
  std::uint64_t seed = std::random_device()();
  if (const char* given = std::getenv("PUZZLED_SEED")) seed = std::stoull(given);
  std::cout << "PUZZLED_SEED=" << seed << std::endl;
  return std::mt19937_64(seed);
}

}  // namespace puzzled::testing
