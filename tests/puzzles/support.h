// What the tests of the puzzles share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "workers/puzzles/puzzle.h"
#include "workers/puzzles/registry.h"

namespace puzzled::test {

// A new seed, or that of the environment variable PUZZLED_SEED; printed, so that a failure can be
// run again.
inline std::uint64_t announced_seed() {
  std::random_device device;
  std::uint64_t seed = std::uint64_t{device()} << 32U | device();
  if (const char* given = std::getenv("PUZZLED_SEED")) seed = std::stoull(given);
  std::cout << "PUZZLED_SEED=" << seed << std::endl;
  return seed;
}

inline std::filesystem::path cases_dir() { return PUZZLED_CASES_DIR; }

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

// The *.in files of a folder by name, not deeper.
inline std::vector<std::filesystem::path> instance_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".in") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

struct ReadFile {
  std::vector<ParsedCase> cases;
  std::vector<Defect> defects;
  bool dropped_rest = false;
};
inline ReadFile read_all(const Puzzle& puzzle, std::string_view text) {
  ReadFile file;
  const auto reader = puzzle.read_instances(text);
  for (ParsedCase read; reader->next(read);) file.cases.push_back(read);
  ParsedCase more;
  EXPECT_FALSE(reader->next(more)) << "the end of a file is final";
  file.defects = reader->defects();
  file.dropped_rest = reader->dropped_rest();
  return file;
}

// The default solver's answer.
inline std::string solve(const Puzzle& puzzle, std::string_view instance) {
  std::string answer;
  puzzle.solvers.front().solve(instance, answer);
  return answer;
}

inline bool is_printable_line(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

// One test for each puzzle of the registry.
class EveryPuzzle : public testing::TestWithParam<const Puzzle*> {
 protected:
  static const Puzzle& puzzle() { return *GetParam(); }
};
inline std::string puzzle_test_name(const testing::TestParamInfo<const Puzzle*>& info) {
  std::string name(info.param->name);
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace puzzled::test
