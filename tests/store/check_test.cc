// Every rule of a store is broken on purpose, and found where it is.
#include "daemon/store/check.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "daemon/store/check_file.h"
#include "daemon/store/migrate.h"
#include "proto/wire.h"
#include "tests/store/support.h"

namespace puzzled {
namespace {

using Mode = sqlite::Connection::Mode;

// A database with jobs in every state (schemas/1.dump says which), of today's schema.
void make_database(const std::string& path) {
  ::close(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  std::ifstream in(std::string(PUZZLED_SCHEMAS) + "/1.dump", std::ios::binary);
  sqlite::Connection(path, Mode::kReadWrite).exec({std::istreambuf_iterator<char>(in), {}});
  Store::open(path, {})->recover();
}

std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings) {
    text += std::string(rule_text(f.rule).name) + " job " + std::to_string(f.job.value) + " case " +
            std::to_string(f.case_no.value) + ": " + f.text + "\n";
  }
  return text;
}

struct Defect {
  const char* name;
  const char* sql;
  Rule rule;
  std::uint64_t job = 0;
  std::uint64_t case_no = 0;
};

class CheckTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string path_ = folder_.file("puzzled.db");
};
class DefectTest : public CheckTest, public ::testing::WithParamInterface<Defect> {};

constexpr auto kDefects = std::to_array<Defect>({
    {"result_missing", "DELETE FROM results WHERE id = ((1 << 39) | (1 << 32)) + 5", Rule::kLedger,
     1, 5},
    {"result_beside_none",
     "INSERT INTO results SELECT ((7 << 39) | (1 << 32)) + 3, 2, 0, 0, 1, 1, 1, 0, NULL, NULL, 0",
     Rule::kLedger, 7, 3},
    {"verdict_changed", "UPDATE results SET verdict = 3 WHERE id = ((2 << 39) | (1 << 32)) + 2",
     Rule::kLedger, 2, 2},
    {"verdict_unknown", "UPDATE results SET verdict = 77 WHERE id = ((2 << 39) | (1 << 32)) + 2",
     Rule::kResults, 2, 2},
    {"versions_count", "UPDATE job_versions SET cases = cases + 1 WHERE job = 2", Rule::kLedger, 2},
    {"versions_missing", "DELETE FROM job_versions WHERE job = 2", Rule::kLedger, 2},
    {"progress_count", "UPDATE progress SET done = done + 1 WHERE id >> 39 = 2", Rule::kLedger, 2},
    {"progress_set", "UPDATE progress SET present = 0 WHERE id >> 39 = 2", Rule::kLedger, 2},
    {"progress_cut", "UPDATE progress SET verdicts = x'0202' WHERE id >> 39 = 2", Rule::kLedger, 2},
    {"progress_missing", "DELETE FROM progress WHERE id >> 39 = 3", Rule::kLedger, 3, 1},
    {"totals_verdict", "UPDATE totals SET accepted = 12, wrong_answer = 2 WHERE id >> 7 = 1",
     Rule::kLedger, 1},
    {"totals_sum", "UPDATE totals SET done = 2 WHERE id >> 7 = 7", Rule::kLedger, 7},
    {"totals_missing", "DELETE FROM totals WHERE id >> 7 = 7", Rule::kLedger, 7},
    {"cases_of_job", "UPDATE jobs SET case_count = 9 WHERE job = 7", Rule::kLedger, 7},
    {"chunk_shifted", "UPDATE chunks SET first_case = 2 WHERE id >> 32 = 4", Rule::kLedger, 4},
    {"chunk_far_away", "UPDATE chunks SET first_case = 1 << 40 WHERE id >> 32 = 4", Rule::kLedger,
     4},
    {"chunk_huge", "UPDATE chunks SET case_count = 4294967295 WHERE id >> 32 = 4", Rule::kCases, 4},
    {"chunk_missing", "DELETE FROM chunks WHERE id >> 32 = 4", Rule::kCases, 4},
    {"chunk_cases_missing", "DELETE FROM chunk_cases WHERE id >> 32 = 4", Rule::kCases, 4},
    {"chunk_cases_changed",
     "UPDATE chunk_cases SET payload = CAST(substr(payload, 1, length(payload) - 1) || x'07' AS "
     "BLOB) "
     "WHERE id >> 32 = 7",
     Rule::kCases, 7},
    {"chunk_cases_cut", "UPDATE chunk_cases SET payload = x'0a' WHERE id >> 32 = 7", Rule::kCases,
     7},
    {"digest", "UPDATE jobs SET digest = digest + 1 WHERE job = 8", Rule::kCases, 8},
    {"file_moved", "UPDATE files SET first_case = 5 WHERE id = (1 << 32) + 2", Rule::kFiles, 1},
    {"file_short", "UPDATE files SET case_count = 7 WHERE id = (1 << 32) + 3", Rule::kFiles, 1},
    {"file_missing", "DELETE FROM files WHERE id = (1 << 32) + 3", Rule::kFiles, 1},
    {"file_renamed", "UPDATE files SET path = 'other' WHERE id = (1 << 32) + 1", Rule::kCases, 1},
    {"finished_early", "UPDATE jobs SET finished_ms = 1 WHERE job = 7", Rule::kFacts, 7},
    {"not_finished", "UPDATE jobs SET finished_ms = NULL WHERE job = 1", Rule::kFacts, 1},
    {"finished_and_cancelled", "UPDATE jobs SET cancelled_ms = 1 WHERE job = 1", Rule::kFacts, 1},
    {"request_id", "UPDATE jobs SET request_id = x'00' WHERE job = 4", Rule::kFacts, 4},
    {"worker_unknown", "UPDATE results SET worker = 99 WHERE id = ((3 << 39) | (1 << 32)) + 1",
     Rule::kResults, 3, 1},
    {"version_unknown", "DELETE FROM solver_versions WHERE id = 1", Rule::kResults, 1, 1},
    {"stray_job", "INSERT INTO totals SELECT 99 << 7 | 1, 0,0,0,0,0,0,0,0,0,0,0,0", Rule::kStray},
    {"stray_between", "INSERT INTO chunk_cases SELECT 5 << 32, x''", Rule::kStray},
    {"stray_case",
     "INSERT INTO results SELECT ((3 << 39) | (1 << 32)) + 2, 2, 0, 0, 1, 1, 1, 0, NULL, NULL, 0",
     Rule::kStray, 3},
    {"stray_file", "INSERT INTO files SELECT (3 << 32) + 2, 'x', 2, 0", Rule::kStray, 3},
    {"attempt_case", "UPDATE attempts SET case_no = 9", Rule::kResults, 7, 9},
    {"attempt_worker", "UPDATE attempts SET worker = 99", Rule::kResults, 7, 3},
    {"boot", "DELETE FROM meta", Rule::kSchema},
    {"version_newer", "PRAGMA user_version = 99", Rule::kSchema},
    {"other_program", "PRAGMA application_id = 1", Rule::kSchema},
});

TEST_P(DefectTest, IsFoundWhereItIs) {
  make_database(path_);
  sqlite::Connection(path_, Mode::kReadWrite).exec(GetParam().sql);
  const std::vector<Finding> findings = check(path_);
  const auto is_it = [](const Finding& f) {
    return f.rule == GetParam().rule && f.job.value == GetParam().job &&
           (GetParam().case_no == 0 || f.case_no.value == GetParam().case_no);
  };
  EXPECT_TRUE(std::ranges::any_of(findings, is_it)) << text_of(findings);
  // Nothing is said of jobs that are all right.
  for (const Finding& f : findings) {
    EXPECT_TRUE(f.job.value == GetParam().job || GetParam().rule == Rule::kResults)
        << text_of(findings);
  }
}
INSTANTIATE_TEST_SUITE_P(Rules, DefectTest, ::testing::ValuesIn(kDefects),
                         [](const auto& defect) { return std::string(defect.param.name); });

TEST_F(CheckTest, WhatIsInOrderHasNoFindings) {
  make_database(path_);
  EXPECT_EQ(text_of(check(path_)), "");
}

TEST_F(CheckTest, FilesWithoutCasesAreFoundWithTheChunkThatNamedThem) {
  // The last empty file of a chunk and the first of the next cannot be told apart by their place.
  const auto store = Store::open(path_, {});
  std::vector<Record> records{insert_job(1)};
  std::uint64_t digest = wire::kEmptyDigest;
  const auto add = [&](ChunkNo no, std::uint64_t first, std::uint64_t first_file,
                       const std::vector<FileEntry>& files) {
    record::InsertChunk chunk = insert_chunk(1, no, first, 3, first_file, files);
    std::vector<std::string> named;
    for (const FileEntry& f : files) {
      named.push_back(wire::serialised_file(f.path, f.first_case, f.case_count));
    }
    chunk.hash = wire::chunk_hash(chunk.cases->bytes, named);
    digest = wire::fold_digest(digest, chunk.hash);
    records.emplace_back(chunk);
  };
  add(0, 1, 1, {{"empty first", 1, 0}, {"a", 1, 3}, {"empty last", 4, 0}});
  add(1, 4, 4, {{"empty", 4, 0}, {"b", 4, 4}});
  add(2, 7, 6, {{"c", 8, 2}, {"d", 10, 0}, {"e", 10, 0}});
  records.emplace_back(record::SealJob{.job = {1}, .digest = digest, .sealed_ms = 5});
  write(*store, records);
  EXPECT_EQ(text_of(check(path_)), "");
}

// The smallest pages, while results come in between any two of them.
TEST_F(CheckTest, WhatIsWrittenMeanwhileIsNoFinding) {
  const auto store = Store::open(path_, {});
  std::vector<Record> records{insert_worker(1)};
  constexpr std::uint64_t kJobs = 3;
  constexpr ChunkNo kChunks = 8;
  for (std::uint64_t job = 1; job <= kJobs; ++job) {
    records.emplace_back(insert_job(job));
    std::uint64_t digest = wire::kEmptyDigest;
    for (ChunkNo no = 0; no < kChunks; ++no) {
      record::InsertChunk chunk = insert_chunk(job, no, 1 + no * std::uint64_t{5}, 5);
      chunk.hash = wire::chunk_hash(chunk.cases->bytes, {});
      digest = wire::fold_digest(digest, chunk.hash);
      records.emplace_back(chunk);
    }
    records.emplace_back(record::SealJob{.job = {job}, .digest = digest, .sealed_ms = 5});
  }
  write(*store, records);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> open;  // job, case
  for (std::uint64_t job = 1; job <= kJobs; ++job) {
    for (std::uint64_t c = 1; c <= kChunks * 5; ++c) open.emplace_back(job, c);
  }
  std::mt19937_64 random(test_seed());
  std::ranges::shuffle(open, random);

  sqlite::Connection connection(path_, Mode::kReadOnly);
  Checker checker(connection, {.page_ms = 0});
  std::vector<std::uint64_t> left(kJobs + 1, kChunks * 5);
  while (!open.empty()) {
    std::vector<std::uint64_t> cursor;
    do {
      const query::CheckPage page = checker.page(cursor);
      EXPECT_EQ(text_of(page.findings), "");
      cursor = page.cursor;
      for (std::uint64_t n = random() % 3; n > 0 && !open.empty(); --n) {
        const auto [job, case_no] = open.back();
        open.pop_back();
        std::vector<Record> done{
            insert_results(job, {{case_no, static_cast<ChunkNo>((case_no - 1) / 5)}})};
        if (--left[job] == 0) done.emplace_back(record::FinishJob{{job}, 9});
        write(*store, done);
      }
    } while (!cursor.empty());
  }
  EXPECT_EQ(text_of(check(path_)), "");
}

TEST_F(CheckTest, AnyCursorIsSafe) {
  make_database(path_);
  sqlite::Connection connection(path_, Mode::kReadOnly);
  Checker checker(connection, {.page_ms = 0});
  const std::size_t size = checker.page({}).cursor.size();
  ASSERT_GT(size, 0U);
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 2'000; ++i) {
    std::vector<std::uint64_t> cursor(random() % 8 == 0 ? random() % 50 : size);
    for (std::uint64_t& number : cursor) number = random() >> (random() % 64);
    if (cursor.size() == size) cursor[0] = 1 + random() % 2;
    checker.page(cursor);
  }
}

TEST_F(CheckTest, ADamagedPageIsFound) {
  make_database(path_);
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(2 * 4096 + 3);  // the cell count of a table's page
  file.write("\xff\xff", 2);
  file.close();
  bool seen = false;
  try {
    seen = !check(path_).empty();
  } catch (const sqlite::Error& error) {
    seen = true;
  }
  EXPECT_TRUE(seen);
}

// ---- Files.

int exit_code_of(const std::function<void()>& act, std::string& text) {
  try {
    act();
  } catch (const Fatal& fatal) {
    text = fatal.what();
    return fatal.exit_code();
  }
  return 0;
}

TEST_F(CheckTest, AFileIsCheckedWithoutATrace) {
  make_database(path_);
  std::filesystem::remove(path_ + ".lock");
  {
    FileCheck file(path_);
    EXPECT_EQ(text_of(file.page({}).findings), "");
  }
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.file(""))) {
    names.push_back(entry.path().filename());
  }
  EXPECT_EQ(names, std::vector<std::string>{"puzzled.db"});
}

TEST_F(CheckTest, AFileThatADaemonUsesIsRefused) {
  const auto store = Store::open(path_, {});
  std::string text;
  EXPECT_EQ(exit_code_of([&] { FileCheck file(path_); }, text), kExitRefused);
  EXPECT_NE(text.find("process " + std::to_string(::getpid())), std::string::npos) << text;
}

TEST_F(CheckTest, WhatACrashLeftInTheWriteAheadLogIsCheckedToo) {
  make_database(path_);
  const std::string copy = folder_.file("copy.db");
  {
    const auto store = Store::open(path_, {});
    write(*store, {record::FinishJob{{7}, 1}});  // wrong, and only in the log
    std::filesystem::copy_file(path_, copy);
    std::filesystem::copy_file(path_ + "-wal", copy + "-wal");
  }
  FileCheck file(copy);
  const std::vector<Finding> findings = file.page({}).findings;
  ASSERT_EQ(findings.size(), 1U) << text_of(findings);
  EXPECT_EQ(findings[0].job.value, 7U);
}

TEST_F(CheckTest, WhatIsNoDatabaseCannotBeRead) {
  std::string text;
  EXPECT_EQ(exit_code_of([&] { FileCheck file(folder_.file("missing")); }, text), kExitIo);
  std::ofstream(path_) << std::string(5'000, 'x');
  EXPECT_EQ(exit_code_of([&] { FileCheck(path_).page({}); }, text), kExitIo) << text;
  EXPECT_NE(text.find(path_), std::string::npos) << text;
}

}  // namespace
}  // namespace puzzled
