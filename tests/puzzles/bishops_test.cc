#include "workers/puzzles/bishops/bishops.h"

#include <fmt/format.h>

#include "tests/puzzles/support.h"
#include "workers/puzzles/bishops/rook_numbers.h"

namespace puzzled::test {
namespace {

using bishops::encode_instance;
using bishops::Instance;

std::string wire(Instance instance) {
  std::string bytes;
  encode_instance(instance, bytes);
  return bytes;
}

// T(n, k) in decimal digits by the default solver.
std::string placements(std::uint32_t n, std::uint32_t k) {
  std::string answer;
  bishops::solve_staircase(wire({n, k}), answer);
  std::string digits;
  bishops::format_answer(answer, digits);
  digits.pop_back();
  return digits;
}

TEST(Bishops, KnownCounts) {
  EXPECT_EQ(placements(8, 6), "5599888");
  EXPECT_EQ(placements(4, 4), "260");
  EXPECT_EQ(placements(1, 0), "1");
  EXPECT_EQ(placements(1, 1), "1");
  EXPECT_EQ(placements(1000, 0), "1");
  EXPECT_EQ(placements(1000, 1), "1000000");
}

TEST(Bishops, AllValuesUpToFiveAreThoseOfBruteForce) {
  for (std::uint32_t n = 1; n <= 5; ++n) {
    for (std::uint32_t k = 0; k <= n * n; ++k) {
      std::string slow;
      bishops::solve_brute_force(wire({n, k}), slow);
      std::string digits;
      bishops::format_answer(slow, digits);
      EXPECT_EQ(fmt::format("{}\n", placements(n, k)), digits) << n << ' ' << k;
    }
  }
}

TEST(Bishops, CountsBeyondMachineWords) {
  EXPECT_GT(mpz_class(placements(16, 15)), mpz_class("18446744073709551615"));
  for (std::uint32_t n = 1; n < 16; ++n) {
    for (std::uint32_t k = 0; k <= 2 * n; ++k) {
      if (k > n * n) continue;
      EXPECT_LE(mpz_class(placements(n, k)), mpz_class("18446744073709551615"));
    }
  }
  EXPECT_GT(mpz_class(placements(26, 28)), mpz_class(1) << 128);
  EXPECT_LT(mpz_class(placements(26, 27)), mpz_class(1) << 128);
  EXPECT_EQ(placements(100, 100).size(), 205U);
}

TEST(Bishops, AsManyAsFitStandOnTheRimInTwoToTheNWays) {
  for (const std::uint32_t n : {2U, 3U, 8U, 31U, 64U, 129U, 500U}) {
    mpz_class power = 1;
    power <<= n;
    EXPECT_EQ(placements(n, 2 * n - 2), power.get_str()) << n;
    EXPECT_EQ(placements(n, 2 * n - 1), "0") << n;
    EXPECT_EQ(placements(n, n * n), n == 1 ? "1" : "0") << n;
  }
}

// Two bishops: all pairs less those on one diagonal.
TEST(Bishops, PairsAreCountedInClosedForm) {
  for (const std::uint32_t n : {2U, 7U, 100U, 333U, 1000U}) {
    const std::uint64_t squares = std::uint64_t{n} * n;
    std::uint64_t attacking = 0;
    for (std::uint64_t length = 2; length <= n; ++length) {
      attacking += (length == n ? 2U : 4U) * (length * (length - 1) / 2);
    }
    EXPECT_EQ(placements(n, 2), std::to_string(squares * (squares - 1) / 2 - attacking)) << n;
  }
}

TEST(Bishops, LargestAnswersAreWithinTheLimitOfClaims) {
  std::size_t longest = 0;
  for (std::uint32_t k = 0; k < 2000; ++k) {
    longest = std::max(longest, placements(1000, k).size());
  }
  EXPECT_EQ(longest, 3856U);
  EXPECT_LE(longest, bishops::kCountDigitsMax);
}

TEST(RookNumbers, SingleAndPackedProductsAgree) {
  for (const std::uint32_t n : {1U, 2U, 3U, 10U, 37U, 64U}) {
    const bishops::Colours colours = bishops::rook_numbers(n);
    const std::vector<mpz_class> all = bishops::all_placements(colours);
    ASSERT_EQ(all.size(), n == 1 ? 2U : 2 * n - 1);
    for (std::uint32_t k = 0; k < all.size(); ++k) {
      EXPECT_EQ(all[k], bishops::placements(colours, k)) << n << ' ' << k;
    }
  }
}

// Small and large boards in turn, so that tables are made late, evicted and made again.
TEST(Bishops, AnswersDoNotDependOnWhatWasAskedBefore) {
  const std::string first = placements(300, 450);
  for (std::uint32_t k = 440; k < 460; ++k) placements(300, k);
  EXPECT_EQ(placements(300, 450), first);
}

TEST(Bishops, ABadLineIsSkippedAndKeepsItsIndex) {
  const ReadFile file =
      read_all(bishops::puzzle(), "8 6\n\nx 1\n4 17\n4 4 4\n1001 0\n1\n4 4\r\n0 0\n");
  ASSERT_EQ(file.cases.size(), 7U);
  EXPECT_FALSE(file.dropped_rest);
  const std::vector<std::string> expected = {
      "",
      "3:1: found \"x\", expected n in 1..1000 or the terminator 0 0",
      "4:3: found 17, expected k in 0..16",
      "5:5: found 4, expected the end of the line after n and k",
      "6:1: found 1001, expected n in 1..1000 or the terminator 0 0",
      "7:2: found the end of the line, expected k",
      ""};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(file.cases[i].invalid, expected[i]);
  EXPECT_EQ(file.cases[6].instance, wire({4, 4}));
  EXPECT_EQ(file.defects.size(), 5U);
}

TEST(Bishops, TheTerminatorIsNeededAndLast) {
  const auto first_defect = [](std::string_view text) {
    const ReadFile file = read_all(bishops::puzzle(), text);
    return file.defects.empty() ? "" : describe(file.defects.front());
  };
  EXPECT_EQ(first_defect("0 0"), "");
  EXPECT_EQ(first_defect("\n0 0\r\n \n"), "");
  EXPECT_EQ(first_defect("8 6\n"),
            "2:1: found the end of the file, expected n in 1..1000 or the terminator 0 0");
  EXPECT_EQ(first_defect("0 0\n8 6\n"),
            "2:1: found 8, expected the end of the file after the terminator 0 0");
  EXPECT_EQ(first_defect("0 0 0\n"), "1:5: found 0, expected the end of the line after n and k");
  EXPECT_EQ(first_defect("0 5\n0 0\n"),
            "1:3: found 5, expected 0 after 0 as the terminator, or n in 1..1000");
  EXPECT_EQ(first_defect("8\n6\n0 0\n"), "1:2: found the end of the line, expected k");
}

TEST(Bishops, ClaimsAreReadByValueAndWithALimit) {
  const auto unreadable = [](const std::string& text) {
    ParsedClaim claim;
    bishops::puzzle().read_claims(text)->next(claim);
    return !claim.unreadable.empty();
  };
  for (const char* text : {"-1", "007", "1.0", "+1", "", "1 2", "-0"}) {
    EXPECT_TRUE(unreadable(text)) << text;
  }
  EXPECT_FALSE(unreadable(std::string(bishops::kCountDigitsMax, '9')));
  EXPECT_TRUE(unreadable(std::string(bishops::kCountDigitsMax + 1, '9')));
  for (const std::string digits :
       {"0", "255", "256", "18446744073709551615", "18446744073709551616", "9999999999999999999"}) {
    ParsedClaim claim;
    bishops::puzzle().read_claims(digits)->next(claim);
    std::string text;
    bishops::puzzle().format_answer(claim.answer, text);
    EXPECT_EQ(text, digits + "\n");
  }
}

}  // namespace
}  // namespace puzzled::test
