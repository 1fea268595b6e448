#include "client/console.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/failure.h"

namespace puzzled::client {
namespace {

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
