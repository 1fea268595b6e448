#include "client/case_stream.h"

#include <gtest/gtest.h>

#include <functional>

#include "client/failure.h"
#include "client/suggest.h"
#include "proto/wire.h"
#include "tests/client/support.h"
#include "workers/puzzles/key.h"

namespace puzzled::client {
namespace {

struct Stream {
  std::vector<TestFile> files;
  std::vector<FileFacts> facts;
  std::vector<FileDefects> defects;
  const Puzzle& puzzle = require_puzzle("bishops");

  // The first pass may keep `room` bytes of cases.
  explicit Stream(const TestSetOptions& options, std::size_t room = 0)
      : files(collect_test_files(options)) {
    for (const TestFile& file : files) {
      facts.push_back(examine(puzzle, file, defects.emplace_back(), room));
    }
  }
  std::vector<Chunk> chunks(bool with_keys = false) {
    std::vector<Chunk> result;
    CaseStream stream(puzzle, "staircase", files, facts);
    for (Chunk chunk; stream.next(chunk, with_keys);) result.push_back(std::move(chunk));
    return result;
  }
};

std::vector<proto::Case> cases_of(const Chunk& chunk) {
  proto::CaseList list;
  EXPECT_TRUE(list.ParseFromString(chunk.cases));
  EXPECT_EQ(static_cast<std::uint32_t>(list.cases_size()), chunk.case_count);
  return {list.cases().begin(), list.cases().end()};
}

std::string repeated(const std::string& line, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line;
  return text + "0 0\n";
}

TEST(CaseStream, CasesHaveKeysIfTheyAreWanted) {
  const TemporaryFolder folder;
  folder.file("1.in", "3 2\n99999 2\n 3   2\n8 6\n0 0\n");
  for (const std::size_t room : {0, 1'000'000}) {
    Stream stream({.paths = {folder.path()}}, room);
    EXPECT_EQ(stream.chunks().at(0).keys, "");
    const Chunk chunk = stream.chunks(true).at(0);
    ASSERT_EQ(chunk.case_count, 4U);
    ASSERT_EQ(chunk.keys.size(), 4 * kAnswerKeyBytes);
    const auto key = [&](std::size_t i) {
      return chunk.keys.substr(i * kAnswerKeyBytes, kAnswerKeyBytes);
    };
    const AnswerKey expected =
        answer_key(stream.puzzle, "staircase", cases_of(chunk)[0].instance());
    EXPECT_EQ(key(0), std::string(expected.data(), expected.size()));
    EXPECT_EQ(key(1), std::string(kAnswerKeyBytes, '\0')) << "it is not valid";
    EXPECT_EQ(key(2), key(0)) << "written otherwise";
    EXPECT_NE(key(3), key(0));
  }
}

TEST(CaseStream, WhatWasKeptIsNotReadAgain) {
  const TemporaryFolder folder;
  folder.file("1.in", repeated("3 2\n", 700));
  folder.file("2.in", repeated("8 6\n", 1200));
  folder.file("2.ans", "1\nx\n");
  folder.file("3.in", "0 0\n");
  folder.file("4.in", repeated("30 7\n", 300));
  const std::vector<Chunk> read = Stream({.paths = {folder.path()}}).chunks();
  for (const std::size_t room : {10'000, 1'000'000}) {
    Stream stream({.paths = {folder.path()}}, room);
    EXPECT_EQ(stream.facts[1].cases.has_value(), room == 1'000'000);
    EXPECT_TRUE(stream.facts[0].cases && stream.facts[2].cases);
    // These are gone, but their cases are here.
    folder.file("1.in", "1 1\n0 0\n");
    const std::vector<Chunk> kept = stream.chunks();
    folder.file("1.in", repeated("3 2\n", 700));
    ASSERT_EQ(kept.size(), read.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      EXPECT_EQ(kept[i].cases, read[i].cases);
      EXPECT_EQ(kept[i].case_count, read[i].case_count);
      EXPECT_EQ(kept[i].files.size(), read[i].files.size());
    }
  }
}

TEST(CaseStream, CutsChunksAtTheLimitAcrossFiles) {
  const TemporaryFolder folder;
  folder.file("1.in", repeated("3 2\n", 999));
  folder.file("2.in", repeated("3 1\n", 1));
  folder.file("3.in", "0 0\n");
  folder.file("4.in", repeated("4 1\n", 1001));
  folder.file("5.in", "0 0\n");
  Stream stream({.paths = {folder.path()}});
  const std::vector<Chunk> chunks = stream.chunks();
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0].case_count, 1000U);
  EXPECT_EQ(chunks[1].case_count, 1000U);
  EXPECT_EQ(chunks[2].case_count, 1U);
  std::string entries;
  for (const Chunk& chunk : chunks) {
    for (const proto::File& file : chunk.files) {
      entries += file.path() + ":" + std::to_string(file.first_case()) + "+" +
                 std::to_string(file.case_count()) + " ";
    }
    entries += "| ";
  }
  EXPECT_EQ(entries, "1:1+999 2:1000+1 | 3:1001+0 4:1001+1001 | 5:2002+0 | ");
}

TEST(CaseStream, CutsChunksBySizeOfNamesToo) {
  const TemporaryFolder folder;
  const std::string deep(200, 'd');
  const std::string prefix = deep + "/" + deep + "/" + deep + "/" + deep + "/";
  for (int i = 0; i < 700; ++i) folder.file(prefix + std::to_string(i) + ".in", "2 1\n0 0\n");
  Stream stream({.paths = {folder.path()}, .recursive = true});
  std::uint64_t next_case = 1;
  std::uint64_t chunk_first = 1;
  std::size_t chunks = 0;
  for (const Chunk& chunk : stream.chunks()) {
    ++chunks;
    for (const proto::File& file : chunk.files) {
      EXPECT_EQ(file.first_case(), next_case++);
      EXPECT_GE(file.first_case(), chunk_first);
      EXPECT_LT(file.first_case(), chunk_first + chunk.case_count);
    }
    chunk_first += chunk.case_count;
  }
  EXPECT_EQ(next_case, 701U);
  EXPECT_EQ(chunks, 3U);  // 700 names of 804 bytes against 256 KiB
}

TEST(CaseStream, NoCasesAreStillAChunkWithTheFile) {
  const TemporaryFolder folder;
  folder.file("a.in", "0 0\n");
  Stream stream({.paths = {folder.path()}});
  const std::vector<Chunk> chunks = stream.chunks();
  ASSERT_EQ(chunks.size(), 1U);
  EXPECT_EQ(chunks[0].case_count, 0U);
  EXPECT_EQ(chunks[0].files.size(), 1U);
}

TEST(CaseStream, ClaimsAndSkippedCasesKeepTheirPlaces) {
  const TemporaryFolder folder;
  folder.file("a.in", "3 2\n2 9\n4 4\n1 1\n0 0\n");
  folder.file("a.ans", "26\n7\nx\n");
  Stream stream({.paths = {folder.path()}});
  EXPECT_EQ(stream.defects[0].test.size(), 1U);
  EXPECT_FALSE(stream.defects[0].answers);
  const std::vector<proto::Case> cases = cases_of(stream.chunks().at(0));
  ASSERT_EQ(cases.size(), 4U);
  EXPECT_TRUE(cases[0].has_expected());
  EXPECT_TRUE(cases[0].invalid().empty());
  EXPECT_EQ(cases[1].invalid(), "2:3: found 9, expected k in 0..4");
  EXPECT_TRUE(cases[1].instance().empty());
  EXPECT_TRUE(cases[2].has_expected_error());
  EXPECT_TRUE(cases[3].has_expected_error());  // its line is missing.
}

TEST(CaseStream, LeftOverAnswersAreADefect) {
  const TemporaryFolder folder;
  folder.file("a.in", "3 2\n0 0\n");
  folder.file("a.ans", "26\n7\n");
  const Stream stream({.paths = {folder.path()}});
  EXPECT_TRUE(stream.defects[0].test.empty());
  ASSERT_TRUE(stream.defects[0].answers);
  EXPECT_EQ(stream.defects[0].answers->at.line, 2U);
}

TEST(CaseStream, NoticesEveryKindOfChange) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.in", repeated("3 2\n", 5));
  const std::string answers = folder.file("a.ans", "26\n26\n26\n26\n26\n");
  const auto changed = [&](const std::function<void()>& change) {
    write_file(file, repeated("3 2\n", 5));
    write_file(answers, "26\n26\n26\n26\n26\n");
    Stream stream({.paths = {folder.path()}});
    change();
    try {
      stream.chunks();
      return false;
    } catch (const InputChanged&) {
      return true;
    }
  };
  EXPECT_FALSE(changed([] {}));
  EXPECT_TRUE(changed([&] { write_file(file, repeated("3 2\n", 6)); }));
  EXPECT_TRUE(changed([&] { write_file(answers, "26\n26\n26\n26\n27\n"); }));
  EXPECT_TRUE(changed([&] { std::filesystem::remove(file); }));
  EXPECT_TRUE(changed([&] {  // same size, same time: only the content tells.
    const auto time = std::filesystem::last_write_time(file);
    write_file(file, repeated("3 1\n", 5));
    std::filesystem::last_write_time(file, time);
  }));
}

}  // namespace
}  // namespace puzzled::client
