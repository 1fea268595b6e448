#include "proto/base/printable.h"

#include <gtest/gtest.h>

namespace puzzled {
namespace {

using namespace std::string_literals;

TEST(Printable, LettersOfAllLanguagesStay) {
  for (const std::string text : {"", "plain", "Grüße, 棋盘 ♟ 😀", "a\"b\\c'; DROP TABLE jobs;"}) {
    EXPECT_TRUE(is_printable(text)) << text;
    EXPECT_EQ(printable_line(text), text);
    EXPECT_EQ(printable_lines(text), text);
  }
}

TEST(Printable, WhatMovesTheCursorOrTurnsTheTextIsShownAsBytes) {
  const std::pair<std::string, std::string> rows[] = {
      {"a\x1b[2J", "a\\x1b[2J"},
      {"a\rb\tc", "a\\x0db\\x09c"},
      {"nul\0!"s, "nul\\x00!"},
      {"\x7f", "\\x7f"},
      {"\xc2\x9b"
       "1m",
       "\\xc2\\x9b1m"},                              // CSI
      {"\xe2\x80\xae", "\\xe2\\x80\\xae"},           // right to left
      {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},           // line separator
      {"\xe2\x81\xa6", "\\xe2\\x81\\xa6"},           // isolate
      {"\xff\xfe", "\\xff\\xfe"},                    // no UTF-8
      {"\xc0\xaf", "\\xc0\\xaf"},                    // overlong
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // after the last one
      {"cut \xe2\x82", "cut \\xe2\\x82"},
  };
  for (const auto& [text, shown] : rows) {
    EXPECT_FALSE(is_printable(text)) << shown;
    EXPECT_EQ(printable_line(text), shown);
    EXPECT_TRUE(is_printable(printable_line(text)));
  }
}

// May be part of a name, but two names that look alike must not look alike.
TEST(Printable, WhatCannotBeSeenIsShown) {
  for (const std::string text : {"\xe2\x80\x8b", "\xef\xbb\xbf", "\xc2\xad", "\xe2\x81\xa0"}) {
    EXPECT_TRUE(is_printable(text));
    EXPECT_NE(printable_line(text), text);
  }
}

TEST(Printable, LineBreaksStayWhereTheyMay) {
  EXPECT_EQ(printable_line("a\nb"), "a\\x0ab");
  EXPECT_EQ(printable_lines("a\nb\r\n"), "a\nb\\x0d\n");
}

}  // namespace
}  // namespace puzzled
