#include "client/suggest.h"

#include <gtest/gtest.h>

#include "client/failure.h"

namespace puzzled::client {
namespace {

template <class Function>
std::string refusal(Function function) {
  try {
    function();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), kExitInvalid);
    return failure.what() + std::string("; ") + failure.advice();
  }
  return "(none)";
}

TEST(DidYouMean, FindsTheClosest) {
  EXPECT_EQ(did_you_mean("bishop", {"shuttle", "bishops"}), "did you mean \"bishops\"?");
  EXPECT_EQ(did_you_mean("SHUTLE", {"shuttle", "bishops"}), "did you mean \"shuttle\"?");
  EXPECT_EQ(did_you_mean("stair", {"staircase", "brute-force"}), "did you mean \"staircase\"?");
  EXPECT_EQ(did_you_mean("chess", {"shuttle", "bishops"}), "");
  EXPECT_EQ(did_you_mean("", {"shuttle"}), "");
}

TEST(Require, NamesWhatThereIs) {
  EXPECT_EQ(require_puzzle("bishops").name, "bishops");
  EXPECT_EQ(require_solver(require_puzzle("bishops"), "").name, "staircase");
  EXPECT_EQ(refusal([] { require_solver(require_puzzle("bishops"), "x"); }),
            "there is no solver of bishops \"x\"; known: staircase, brute-force");
  EXPECT_EQ(refusal([] { require_puzzle("bishop"); }),
            "there is no puzzle \"bishop\"; did you mean \"bishops\"?");
}

TEST(ParseVerdicts, LongOrShortInAnyCase) {
  EXPECT_EQ(
      parse_verdicts("wa,TLE,time_limit,Memory-Limit"),
      (std::vector<Verdict>{Verdict::kWrongAnswer, Verdict::kTimeLimit, Verdict::kMemoryLimit}));
  EXPECT_EQ(refusal([] { parse_verdicts("wa,tl"); }),
            "there is no verdict \"tl\"; did you mean \"TLE\"?");
  EXPECT_NE(refusal([] { parse_verdicts("nonsense"); }).find("known: OK, AC, WA"),
            std::string::npos);
  EXPECT_NE(refusal([] { parse_verdicts(""); }), "(none)");
  EXPECT_NE(refusal([] { parse_verdicts("wa,,tle"); }), "(none)");
}

}  // namespace
}  // namespace puzzled::client
