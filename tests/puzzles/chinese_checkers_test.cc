#include "workers/puzzles/chinese_checkers/chinese_checkers.h"

#include "tests/puzzles/support.h"

namespace puzzled::test {
namespace {

using chinese_checkers::Instance;
using chinese_checkers::kCells;

Instance board_of(const std::vector<int>& cells) {
  Instance board;
  for (const int cell : cells) board.add(cell);
  return board;
}

// n checkers on random cells.
Instance random_board(Rng& rng, int n) {
  Instance board;
  while (board.size() < n) board.add(static_cast<int>(rng.uniform(0, kCells - 1)));
  return board;
}

std::string wire(const Instance& board) {
  std::string bytes;
  chinese_checkers::encode_instance(board, bytes);
  return bytes;
}

ReadFile read(std::string_view text) { return read_all(chinese_checkers::puzzle(), text); }

std::vector<std::string> defects_of(std::string_view text) {
  std::vector<std::string> lines;
  for (const Defect& defect : read(text).defects) lines.push_back(describe(defect));
  return lines;
}
using Lines = std::vector<std::string>;

TEST(ChineseCheckers, TwoAdjacentCheckersInTheMiddle) {
  // Row 9, cells 4 and 5: each hops over the other.
  EXPECT_EQ(solve_bitboard(board_of({59, 60})).moves, 2U);
  EXPECT_EQ(solve_brute_force(board_of({59, 60})).moves, 2U);
}

// The solver has a path of its own for crowded boards; both sides of the border are covered.
TEST(ChineseCheckers, AgreesWithBruteForceForEveryNumberOfCheckers) {
  Rng rng(announced_seed());
  for (int n = 1; n <= kCells; ++n) {
    for (int round = 0; round < 5; ++round) {
      const Instance board = random_board(rng, n);
      ASSERT_EQ(solve_bitboard(board).moves, solve_brute_force(board).moves)
          << chinese_checkers::draw(wire(board));
    }
  }
}

TEST(ChineseCheckers, FullBoardHasNoMoveAndOneHoleHasAFew) {
  Instance full = board_of({});
  for (int cell = 0; cell < kCells; ++cell) full.add(cell);
  EXPECT_EQ(solve_bitboard(full).moves, 0U);
  for (int hole = 0; hole < kCells; ++hole) {
    Instance board = full;
    board.words[static_cast<std::size_t>(hole) / 64] ^= std::uint64_t{1} << (hole % 64);
    const std::uint32_t moves = solve_bitboard(board).moves;
    EXPECT_EQ(moves, solve_brute_force(board).moves) << hole;
    EXPECT_GE(moves, 2U) << hole;
    EXPECT_LE(moves, 6U) << hole;
  }
}

// Hops keep a parity class; the classes have 37, 28, 28 and 28 cells, so no board can have more
// than 18 * 19 + 3 * 14 * 14 moves. The handed board reaches that.
TEST(ChineseCheckers, MaximumIs930) {
  const ReadFile file = read(read_file(cases_dir() / "chinese-checkers" / "s30-maximum-930.in"));
  ASSERT_EQ(file.cases.size(), 1U);
  const Instance board = chinese_checkers::decode_instance(file.cases.front().instance);
  EXPECT_EQ(solve_bitboard(board).moves, 930U);
  EXPECT_EQ(solve_brute_force(board).moves, 930U);
}

TEST(ChineseCheckers, RefusesCellsOffTheBoardAndTheEmptyBoard) {
  EXPECT_EQ(chinese_checkers::defect_of({}), "found 0, expected n in 1..121");
  EXPECT_EQ(chinese_checkers::defect_of({{1, std::uint64_t{1} << 57U}}),
            "found a checker on cell 121, expected cells in 0..120");
  EXPECT_EQ(chinese_checkers::defect_of({{0, std::uint64_t{1} << 56U}}), std::nullopt);
}

TEST(ChineseCheckersText, LayoutDoesNotMatter) {
  const std::string plain = read("1\n3\n9 5\n10 1\n17 1\n").cases.at(0).instance;
  EXPECT_EQ(plain, wire(board_of({60, 65, 120})));
  for (const char* text : {"1 3 9 5 10 1 17 1", "1\r\n3\r\n9 5\r\n10 1\r\n17 1\r\n",
                           "\n1\n\n3\n9 5\n\n10  1 \n17\t1\n \n", "1\n3\n17 1\n9\n5\n10 1"}) {
    const ReadFile file = read(text);
    ASSERT_TRUE(file.defects.empty()) << describe(file.defects.front());
    EXPECT_EQ(file.cases.at(0).instance, plain) << text;
  }
}

// Plain lines are read by a path of their own, lines that end with CRLF are not: both must say the
// same of every line, at the same place.
TEST(ChineseCheckersText, PlainLinesAreReadAsAllOthers) {
  const std::vector<std::string> numbers = {
      "",   "0",  "1",  "5",  "9",  "00", "01",  "09", "10", "12", "13", "14", "17", "18",
      "20", "45", "98", "99", "1x", "x1", "100", ":",  "/",  "-1", "+1", "1:", "1/", "\t1"};
  std::size_t sound = 0;
  for (const std::string& row : numbers) {
    for (const std::string& column : numbers) {
      // With a line before and behind it, as the last one, and cut off.
      const std::string line = row + " " + column;
      for (const char* tail : {"\n9 9\n1\n3 3\n", "\n9 9\n1\n3 3", "\n9 9", "\n", ""}) {
        const std::string text = "2\n3\n1 1\n" + line + tail;
        std::string other;
        for (const char c : text) other += c == '\n' ? std::string("\r\n") : std::string(1, c);
        const ReadFile plain = read(text);
        const ReadFile careful = read(other);
        ASSERT_EQ(plain.cases.size(), careful.cases.size()) << text;
        for (std::size_t i = 0; i < plain.cases.size(); ++i) {
          ASSERT_EQ(plain.cases[i].instance, careful.cases[i].instance) << text;
          ASSERT_EQ(plain.cases[i].invalid, careful.cases[i].invalid) << text;
        }
        ASSERT_EQ(defects_of(text), defects_of(other)) << text;
        sound += plain.defects.empty() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(sound, 50U);
}

TEST(ChineseCheckersText, ADefectSkipsItsBoardOnly) {
  const ReadFile file = read("4\n1\n9 5\n2\n9 5\n9 5\n0\n1\n9 5\n");
  ASSERT_EQ(file.cases.size(), 4U);
  EXPECT_FALSE(file.dropped_rest);
  EXPECT_EQ(file.cases[0].instance, file.cases[3].instance);
  EXPECT_EQ(file.cases[1].invalid, "6:1: found row 9 column 5 twice, expected distinct checkers");
  EXPECT_EQ(file.cases[2].invalid, "7:1: found 0, expected n in 1..121");
}

TEST(ChineseCheckersText, ReportsEveryDefectWithItsPlace) {
  EXPECT_EQ(defects_of("1\n4\n0 1\n9 10\n18 1\n9 0\n"),
            (Lines{"3:1: found 0, expected row in 1..17",
                   "4:3: found 10, expected column of row 9 in 1..9",
                   "5:1: found 18, expected row in 1..17",
                   "6:3: found 0, expected column of row 9 in 1..9"}));
  EXPECT_EQ(defects_of("0\n"), Lines{"1:1: found 0, expected T in 1..1000000"});
  EXPECT_EQ(defects_of("1\n2\n9 05\n"),
            Lines{"3:3: found \"05\", expected column of row 9 in 1..9"});
  EXPECT_EQ(defects_of("1\n-1\n"), Lines{"2:1: found -1, expected n in 1..121"});
  EXPECT_EQ(defects_of("1\n1\n9 5\n9 6\n"),
            Lines{"4:1: found 9, expected the end of the file after the last of T cases"});
  EXPECT_EQ(defects_of("1\n2\n9 5\n9"),
            Lines{"4:2: found the end of the file, expected column of row 9 in 1..9"});
}

// A file in which everything after some place is wrong must not fill the memory with defects.
TEST(ChineseCheckersText, KeepsABoundedNumberOfDefectsACase) {
  std::string text = "1\n121\n";
  for (int i = 0; i < kCells; ++i) text += "0 0\n";
  const ReadFile file = read(text);
  EXPECT_EQ(file.defects.size(), 20U);
  EXPECT_FALSE(file.dropped_rest);
}

TEST(ChineseCheckersText, ASizeBeyondTheLimitIsReadOver) {
  std::string text = "2\n122\n";
  for (int i = 0; i < 122; ++i) text += "9 5\n";
  const ReadFile file = read(text + "1\n9 5\n");
  ASSERT_EQ(file.cases.size(), 2U);
  EXPECT_EQ(file.cases[0].invalid, "2:1: found 122, expected n in 1..121");
  EXPECT_EQ(file.cases[1].invalid, "");
  EXPECT_TRUE(read("1\n1000000000000\n9 5\n").dropped_rest);
  EXPECT_TRUE(read("1\n100000000000000000000\n9 5\n").dropped_rest);
}

}  // namespace
}  // namespace puzzled::test
