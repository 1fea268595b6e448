#include "workers/puzzles/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace puzzled {
namespace {

// "LINE:COLUMN: message" of the ParseError that reading N in 1..100 and the end of the file throws,
// or of the defect that it adds; "" if the text is right.
std::string defect_in(std::string_view text) {
  TextReader in(text);
  try {
    in.read_int(1, 100, "N");
    in.expect_end("the end of the file");
  } catch (const ParseError& error) {
    return describe(error.defect());
  }
  return in.defects().empty() ? "" : describe(in.defects().front());
}

TEST(TextReader, SplitsAtBlanksTabsAndBothLineBreaks) {
  TextReader in("1 2\t3\r\n \n4\n\n");
  for (int expected = 1; expected <= 4; ++expected) {
    EXPECT_EQ(in.read_int(1, 9, "n"), expected);
  }
  EXPECT_TRUE(in.at_end());
  EXPECT_TRUE(in.defects().empty());
}

TEST(TextReader, AcceptsAMissingFinalLineBreakAndTrailingBlanks) {
  for (const char* text : {"7", "7\n", "7 \t", "7\r\n", "\n\n 7\n\n \n"}) {
    EXPECT_EQ(defect_in(text), "") << text;
  }
}

TEST(TextReader, RefusesWhatIsNoPlainInteger) {
  for (const std::string token :
       {"+3", "3.0", "0x3", "1e3", "-0", "00", "03", "-03", "-", "--3", "3-", "3x", "x"}) {
    EXPECT_EQ(defect_in("\n " + token + " \n"),
              "2:2: found \"" + token + "\", expected N in 1..100");
  }
}

TEST(TextReader, RefusesBytesThatAreNoWhiteSpace) {
  using namespace std::string_literals;
  EXPECT_EQ(defect_in("3\r"), R"(1:1: found "3\x0d", expected N in 1..100)");
  EXPECT_EQ(defect_in("3\r4"), R"(1:1: found "3\x0d4", expected N in 1..100)");
  EXPECT_EQ(defect_in("3\r\r\n"), R"(1:1: found "3\x0d", expected N in 1..100)");
  EXPECT_EQ(defect_in("3\0\n"s), R"(1:1: found "3\x00", expected N in 1..100)");
  EXPECT_EQ(defect_in("\xef\xbb\xbf"
                      "3\n"),
            R"(1:1: found "\xef\xbb\xbf3", expected N in 1..100)");
  EXPECT_EQ(defect_in("\xef\xbc\x93"), R"(1:1: found "\xef\xbc\x93", expected N in 1..100)");
  EXPECT_EQ(defect_in("3\v"), R"(1:1: found "3\x0b", expected N in 1..100)");
}

TEST(TextReader, NamesTheRangeOfANumberHoweverLarge) {
  for (const std::string token : {"101", "0", "-1", "9223372036854775807", "9223372036854775808",
                                  "18446744073709551617", "-9223372036854775809"}) {
    EXPECT_EQ(defect_in(token), "1:1: found " + token + ", expected N in 1..100");
  }
  const std::string huge(1000, '9');
  EXPECT_EQ(defect_in(huge), "1:1: found " + huge.substr(0, 40) + "..., expected N in 1..100");
}

TEST(TextReader, ReadsTheWholeRangeOf64Bits) {
  constexpr auto kLow = std::numeric_limits<std::int64_t>::min();
  constexpr auto kHigh = std::numeric_limits<std::int64_t>::max();
  TextReader in("-9223372036854775808 9223372036854775807 999999999999999999 1000000000000000000");
  EXPECT_EQ(in.read_int(kLow, kHigh, "n"), kLow);
  EXPECT_EQ(in.read_int(kLow, kHigh, "n"), kHigh);
  EXPECT_EQ(in.read_int(kLow, kHigh, "n"), 999999999999999999);
  EXPECT_EQ(in.read_int(kLow, kHigh, "n"), 1000000000000000000);
  EXPECT_TRUE(in.at_end());
}

TEST(TextReader, ANumberOutOfRangeLeavesTheTextReadable) {
  TextReader in("5 500 6");
  EXPECT_EQ(in.read_int(1, 9, "n"), 5);
  EXPECT_EQ(in.read_int(1, 9, "n"), std::nullopt);
  EXPECT_EQ(in.read_int(1, 9, "n"), 6);
  ASSERT_EQ(in.defects().size(), 1U);
  EXPECT_EQ(describe(in.defects()[0]), "1:3: found 500, expected n in 1..9");
}

TEST(TextReader, RequireIntEndsAtANumberOutOfRange) {
  TextReader in("10");
  EXPECT_THROW(in.require_int(1, 9, "n"), ParseError);
  EXPECT_TRUE(in.defects().empty());
}

TEST(TextReader, ReportsAnEarlyEndAfterTheLastLineBreak) {
  EXPECT_EQ(defect_in(""), "1:1: found the end of the file, expected N in 1..100");
  EXPECT_EQ(defect_in("\n"), "2:1: found the end of the file, expected N in 1..100");
  EXPECT_EQ(defect_in(" \n\n  "), "3:3: found the end of the file, expected N in 1..100");
}

TEST(TextReader, ReportsTextAfterTheEnd) {
  EXPECT_EQ(defect_in("3\n 4 5\n"), "2:2: found 4, expected the end of the file");
  EXPECT_EQ(defect_in("3\nend\n"), "2:1: found \"end\", expected the end of the file");
}

TEST(TextReader, KnowsTheEndOfALine) {
  TextReader in("1 2 \t\r\n3\n");
  in.token("n");
  EXPECT_FALSE(in.at_line_end());
  in.token("n");
  EXPECT_TRUE(in.at_line_end());
  EXPECT_EQ(in.position().column, 6U);
  in.skip_blank_lines();
  EXPECT_FALSE(in.at_line_end());
  EXPECT_EQ(in.position().line, 2U);
  in.skip_line();
  EXPECT_TRUE(in.at_line_end());
  EXPECT_TRUE(in.at_end());
}

TEST(TextReader, FindsPositionsInAnyOrder) {
  const std::string text = "\nab\n\ncd\n";
  const std::vector<Position> expected = {{1, 1}, {2, 1}, {2, 2}, {2, 3}, {3, 1},
                                          {4, 1}, {4, 2}, {4, 3}, {5, 1}};
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = 0; second <= text.size(); ++second) {
      TextReader in(text);
      EXPECT_EQ(in.position_of(first).line, expected[first].line);
      const Position at = in.position_of(second);
      EXPECT_EQ(at.line, expected[second].line) << first << ' ' << second;
      EXPECT_EQ(at.column, expected[second].column) << first << ' ' << second;
    }
  }
}

TEST(Printable, CutsAndEscapes) {
  EXPECT_EQ(printable("a\x1b[31m\xff"), "a\\x1b[31m\\xff");
  EXPECT_EQ(printable("abcdef", 4), "abcd...");
  EXPECT_EQ(printable("abc\n", 4), "abc...");
}

}  // namespace
}  // namespace puzzled
