// The handed cases through "solve" and "validate", as a user would run them.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "client/failure.h"
#include "tests/client/support.h"
#include "workers/puzzles/registry.h"

namespace puzzled::client {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> test_files(const std::string& folder) {
  std::vector<std::string> files;
  if (!fs::is_directory(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".in") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

std::string cases_of(const Puzzle& puzzle) {
  return std::string(PUZZLED_SOURCE_DIR "/tests/cases/") + std::string(puzzle.name);
}

TEST(Solve, HandedCasesByteForByte) {
  int count = 0;
  for (const Puzzle* puzzle : all_puzzles()) {
    for (const std::string& file : test_files(cases_of(*puzzle))) {
      const std::string answers = file.substr(0, file.size() - 3) + ".ans";
      if (!fs::exists(answers)) continue;
      const Outcome outcome = run_puzzlectl({"solve", std::string(puzzle->name), file});
      EXPECT_EQ(outcome.exit_code, kExitOk) << file << outcome.err;
      EXPECT_TRUE(outcome.out == read_file(answers)) << file;
      ++count;
    }
  }
  EXPECT_GT(count, 0);
}

TEST(Solve, InvalidCasesAreRefusedWithTheirPlace) {
  int count = 0;
  for (const Puzzle* puzzle : all_puzzles()) {
    for (const std::string& file : test_files(cases_of(*puzzle) + "/invalid")) {
      const Outcome outcome = run_puzzlectl({"solve", std::string(puzzle->name), file});
      EXPECT_EQ(outcome.exit_code, kExitInvalid) << file;
      EXPECT_EQ(outcome.out, "") << file;
      EXPECT_TRUE(outcome.err.starts_with(file + ":")) << outcome.err;
      EXPECT_NE(outcome.err.find(": error: found "), std::string::npos) << outcome.err;
      EXPECT_NE(outcome.err.find(", expected "), std::string::npos) << outcome.err;
      EXPECT_EQ(run_puzzlectl({"validate", std::string(puzzle->name), file}).exit_code,
                kExitInvalid);
      ++count;
    }
  }
  EXPECT_GT(count, 0);
}

TEST(Solve, EverySolverGivesTheSame) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.in", "3 2\n4 4\n0 0\n");
  EXPECT_EQ(run_puzzlectl({"solve", "bishops", file}).out, "26\n260\n");
  EXPECT_EQ(run_puzzlectl({"solve", "bishops", "--solver", "brute-force", file}).out, "26\n260\n");
}

TEST(Solve, RefusesWhatItDoesNotKnow) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.in", "0 0\n");
  EXPECT_EQ(run_puzzlectl({"solve", "bishop", file}).exit_code, kExitInvalid);
  EXPECT_EQ(run_puzzlectl({"solve", "bishops", "--solver", "x", file}).exit_code, kExitInvalid);
  EXPECT_EQ(run_puzzlectl({"solve", "bishops", folder.path() + "/b.in"}).exit_code, kExitInvalid);
}

TEST(Validate, ListsAllDefectsOfAllFiles) {
  const TemporaryFolder folder;
  std::string many;
  for (int i = 0; i < 25; ++i) many += "2 5\n";
  const std::string bad = folder.file("bad.in", many + "0 0\n");
  const std::string good = folder.file("good.in", "1 1\n0 0\n");
  const std::string worse = folder.file("worse.in", "x\n0 0\n");
  const Outcome outcome = run_puzzlectl({"validate", "bishops", bad, good, worse});
  EXPECT_EQ(outcome.exit_code, kExitInvalid);
  EXPECT_EQ(outcome.out, good + ": valid, 1 case\n");
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 20 + 1 + 1);
  EXPECT_NE(outcome.err.find(bad + ":20:3: error: found 5, expected k in 0..4\n" + bad +
                             ": 5 more errors\n" + worse + ":1:1: error: found \"x\""),
            std::string::npos)
      << outcome.err;
}

TEST(Puzzles, ListsAll) {
  const Outcome outcome = run_puzzlectl({"puzzles"});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  for (const Puzzle* puzzle : all_puzzles()) {
    EXPECT_NE(outcome.out.find(puzzle->name), std::string::npos);
    EXPECT_NE(outcome.out.find(puzzle->limits), std::string::npos);
  }
}

}  // namespace
}  // namespace puzzled::client
