#include "client/console.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/failure.h"

namespace puzzled::client {
namespace {

TEST(PrintableLine, KeepsLettersOfAllScripts) {
  EXPECT_EQ(printable_line("tests/größe 国際 🎲#3"), "tests/größe 国際 🎲#3");
}

TEST(PrintableLine, EscapesWhatMovesTheCursorOrHides) {
  EXPECT_EQ(printable_line("a\x1b[31mb\tc\nd\x7f"), "a\\x1b[31mb\\x09c\\x0ad\\x7f");
  EXPECT_EQ(printable_line("\xc2\x9b"
                           "2J"),
            "\\xc2\\x9b2J");  // C1: CSI
  EXPECT_EQ(printable_line("\xe2\x80\xae"
                           "fdp"),
            "\\xe2\\x80\\xaefdp");                               // right to left
  EXPECT_EQ(printable_line("\xe2\x80\x8b"), "\\xe2\\x80\\x8b");  // no width
  EXPECT_EQ(printable_line(std::string_view("\0", 1)), "\\x00");
}

TEST(PrintableLine, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(printable_line("\xff"), "\\xff");
  EXPECT_EQ(printable_line("\xc3"), "\\xc3");                    // cut off
  EXPECT_EQ(printable_line("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable_line("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(printable_line("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(PrintableLines, KeepsLineBreaksOnly) { EXPECT_EQ(printable_lines("a\nb\r"), "a\nb\\x0d"); }

TEST(Shortened, CutsBetweenCodePoints) {
  EXPECT_EQ(shortened("größe", 5), "größe");
  EXPECT_EQ(shortened("ößüäöx", 5), "öß...");
  EXPECT_EQ(display_width("größe"), 5U);
}

TEST(ProgressBar, FillsFromLeftToRight) {
  EXPECT_EQ(progress_bar(0, 10, 4), "[>   ]");
  EXPECT_EQ(progress_bar(5, 10, 4), "[==> ]");
  EXPECT_EQ(progress_bar(10, 10, 4), "[====]");
  EXPECT_EQ(progress_bar(11, 10, 4), "[====]");
  EXPECT_EQ(progress_bar(0, 0, 4), "[====]");
}

TEST(Console, NotesRemoveTheProgressLine) {
  std::ostringstream out;
  std::ostringstream err;
  {
    Console console(out, err, {.err_terminal = true, .err_columns = 30});
    console.progress("working");
    console.note("news\x1b");
    console.error("what", "do this");
    console.progress("a text that is longer than the line of the terminal");
  }
  EXPECT_EQ(err.str(),
            "\r\x1b[Kworking\r\x1b[Kpuzzlectl: news\\x1b\npuzzlectl: error: what; do this\n"
            "\r\x1b[Ka text that is longer than...\r\x1b[K");
}

TEST(Console, QuietLeavesErrors) {
  std::ostringstream out;
  std::ostringstream err;
  Console console(out, err, {.err_terminal = true, .quiet = true});
  console.note("news");
  console.progress("working");
  console.error("what");
  EXPECT_EQ(err.str(), "puzzlectl: error: what\n");
}

TEST(Console, FullDiskIsAFailure) {
  std::ostringstream out;
  std::ostringstream err;
  Console console(out, err, {});
  out.setstate(std::ios::badbit);
  try {
    console.flush();
    FAIL() << "no failure";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), kExitOutput);
  }
}

}  // namespace
}  // namespace puzzled::client
