#include "workers/puzzles/claims.h"

#include <gtest/gtest.h>

namespace puzzled {
namespace {

class Numbers : public LineClaims {
 public:
  using LineClaims::LineClaims;

 private:
  void read_value(TextReader& in, std::string& answer) override {
    answer = std::to_string(in.require_int(0, 99, "a number"));
  }
};

// The claims of `cases` cases, "!" in front of a reason; then what finish() says.
std::vector<std::string> claims_of(std::string_view text, int cases) {
  Numbers claims(text);
  std::vector<std::string> all;
  ParsedClaim claim;
  for (int i = 0; i < cases; ++i) {
    claims.next(claim);
    EXPECT_TRUE(claim.answer.empty() || claim.unreadable.empty());
    all.push_back(claim.unreadable.empty() ? claim.answer : "!" + claim.unreadable);
  }
  const auto defect = claims.finish();
  all.push_back(defect ? "!" + describe(*defect) : "end");
  return all;
}

using Texts = std::vector<std::string>;

TEST(LineClaims, GivesLineIToCaseI) {
  EXPECT_EQ(claims_of("1\r\n\n  2 \n3", 3), (Texts{"1", "2", "3", "end"}));
}

TEST(LineClaims, AnUnreadableLineConcernsItsCaseOnly) {
  EXPECT_EQ(claims_of("1\nx\n100\n4 4\n5\n", 5),
            (Texts{"1", "!2:1: found \"x\", expected a number in 0..99",
                   "!3:1: found 100, expected a number in 0..99",
                   "!4:3: found 4, expected the end of the line", "5", "end"}));
}

TEST(LineClaims, MissingLinesAreUnreadable) {
  EXPECT_EQ(claims_of("1\n", 3),
            (Texts{"1", "!2:1: found the end of the file, expected a number in 0..99",
                   "!2:1: found the end of the file, expected a number in 0..99", "end"}));
}

TEST(LineClaims, ExtraTextIsADefect) {
  EXPECT_EQ(claims_of("1\n\n", 1), (Texts{"1", "end"}));
  EXPECT_EQ(
      claims_of("1\n\n2\n", 1),
      (Texts{"1", "!3:1: found 2, expected the end of the file after the last case's answer"}));
}

}  // namespace
}  // namespace puzzled
