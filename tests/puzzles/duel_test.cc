#include "workers/puzzles/duel/duel.h"

#include "tests/puzzles/support.h"

namespace puzzled::test {
namespace {

using Values = std::vector<std::uint64_t>;

std::int64_t sweep(const Values& values) { return duel::solve_sweep({values}).difference; }
std::int64_t brute_force(const Values& values) {
  return duel::solve_brute_force({values}).difference;
}

ReadFile read(std::string_view text) { return read_all(duel::puzzle(), text); }

std::vector<std::string> defects_of(std::string_view text) {
  std::vector<std::string> lines;
  for (const Defect& defect : read(text).defects) lines.push_back(describe(defect));
  return lines;
}
using Lines = std::vector<std::string>;

TEST(Duel, SmallestGames) {
  EXPECT_EQ(sweep({}), 0);
  EXPECT_EQ(sweep({7}), 7);
  EXPECT_EQ(sweep({3, 8}), 5);  // the first player takes one of the two, the second the other.
  EXPECT_EQ(sweep({1'000'000'000'000}), 1'000'000'000'000);
}

// With 5 instead of 6 as the gap that splits a game this is 3.
TEST(Duel, AGapOfFiveDoesNotSplitTheGame) {
  const Values values = {3, 3, 3, 1, 1, 1, 3, 1, 3, 3};
  EXPECT_EQ(sweep(values), 2);
  EXPECT_EQ(brute_force(values), 2);
}

TEST(Duel, AgreesWithBruteForceOnAllSmallGames) {
  for (std::size_t count = 0; count <= 8; ++count) {
    const std::uint64_t largest = count <= 5 ? 3 : 1;
    Values values(count, 0);
    while (true) {
      ASSERT_EQ(sweep(values), brute_force(values)) << testing::PrintToString(values);
      std::size_t digit = 0;
      while (digit < count && values[digit] == largest) values[digit++] = 0;
      if (digit == count) break;
      ++values[digit];
    }
  }
}

// Longer than the games of the generator, so that all local states come up far from both ends.
TEST(Duel, AgreesWithBruteForceOnLongerGames) {
  Rng rng(announced_seed());
  for (int round = 0; round < 12; ++round) {
    Values values(static_cast<std::size_t>(rng.uniform(13, 15)));
    const std::int64_t largest = rng.chance(1, 2) ? 3 : 20;
    for (std::uint64_t& value : values) {
      value = static_cast<std::uint64_t>(rng.uniform(0, largest) * (rng.chance(1, 4) ? 9 : 1));
    }
    ASSERT_EQ(sweep(values), brute_force(values)) << testing::PrintToString(values);
  }
}

// The worth of a game is linear in the scale of its values: only if nothing overflows.
TEST(Duel, LongGamesScale) {
  Rng rng(announced_seed());
  Values values(100'000);
  for (std::uint64_t& value : values) value = static_cast<std::uint64_t>(rng.uniform(0, 1000));
  const std::int64_t difference = sweep(values);
  for (std::uint64_t& value : values) value *= 1'000'000'000;
  EXPECT_EQ(sweep(values), difference * 1'000'000'000);
}

TEST(Duel, RefusesLargeValuesAndLongGames) {
  const Values large = {0, 1'000'000'000'001};
  EXPECT_EQ(duel::defect_of({large}), "found 1000000000001, expected value in 0..1000000000000");
  const Values longest(duel::kCellsMax - 2, 1);
  EXPECT_EQ(duel::defect_of({longest}), std::nullopt);
  const Values longer(duel::kCellsMax - 1, 1);
  EXPECT_EQ(duel::defect_of({longer}), "found 1000001, expected n in 2..1000000");
}

TEST(DuelText, NegativeValuesAndSizesOutOfRangeSkipTheirGame) {
  const ReadFile file = read("4\n3\n-2\n1\n0\n4\n1 2\n");
  ASSERT_EQ(file.cases.size(), 4U);
  EXPECT_FALSE(file.dropped_rest);
  EXPECT_EQ(file.cases[0].invalid, "3:1: found -2, expected value in 0..1000000000000");
  EXPECT_EQ(file.cases[1].invalid, "4:1: found 1, expected n in 2..1000000");
  EXPECT_EQ(file.cases[2].invalid, "5:1: found 0, expected n in 2..1000000");
  EXPECT_EQ(file.cases[3].invalid, "");
}

TEST(DuelText, ReportsEveryDefectWithItsPlace) {
  EXPECT_EQ(defects_of("1\n1\n"), Lines{"2:1: found 1, expected n in 2..1000000"});
  EXPECT_EQ(defects_of("1\n1000000000000\n1 2 3\n"),
            (Lines{"2:1: found 1000000000000, expected n in 2..1000000",
                   "4:1: found the end of the file, expected value in 0..1000000000000"}));
  EXPECT_EQ(defects_of("1\n4\n1 99999999999999999999999\n"),
            Lines{"3:3: found 99999999999999999999999, expected value in 0..1000000000000"});
  EXPECT_EQ(defects_of("1\n5\n1 2.5 3\n"),
            Lines{"3:3: found \"2.5\", expected value in 0..1000000000000"});
  EXPECT_EQ(defects_of("2\n3\n5\n"),
            Lines{"4:1: found the end of the file, expected n in 2..1000000"});
  EXPECT_EQ(defects_of("1\n3\n5\n6\n"),
            Lines{"4:1: found 6, expected the end of the file after the last of T cases"});
}

}  // namespace
}  // namespace puzzled::test
