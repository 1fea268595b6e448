#include "proto/base/verdict.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/common.pb.h"

namespace puzzled {
namespace {

// The plain enum and the protocol's are one list; both directions.
TEST(Verdict, NumbersAndNamesAreThoseOfTheProtocol) {
  const auto* descriptor = proto::Verdict_descriptor();
  ASSERT_EQ(descriptor->value_count(), static_cast<int>(kVerdictCount));
  EXPECT_EQ(proto::VERDICT_UNSPECIFIED, 0);
  for (std::size_t number = 1; number < kVerdictCount; ++number) {
    ASSERT_TRUE(is_verdict(number));
    const auto* value = descriptor->FindValueByNumber(static_cast<int>(number));
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(verdict_name(static_cast<Verdict>(number)), value->name());
  }
  EXPECT_FALSE(is_verdict(0));
  EXPECT_FALSE(is_verdict(kVerdictCount));
  EXPECT_EQ(static_cast<int>(Verdict::kSolved), proto::SOLVED);
  EXPECT_EQ(static_cast<int>(Verdict::kInternalError), proto::INTERNAL_ERROR);
}

TEST(Verdict, IsReadLongOrShortInAnyCase) {
  for (std::size_t number = 1; number < kVerdictCount; ++number) {
    const auto verdict = static_cast<Verdict>(number);
    EXPECT_EQ(parse_verdict(verdict_name(verdict)), verdict);
    EXPECT_EQ(parse_verdict(verdict_short_name(verdict)), verdict);
  }
  EXPECT_EQ(parse_verdict("tle"), Verdict::kTimeLimit);
  EXPECT_EQ(parse_verdict("Time-Limit"), Verdict::kTimeLimit);
  EXPECT_EQ(parse_verdict("wrong_answer"), Verdict::kWrongAnswer);
  for (const char* text : {"", " ", "TL", "TIME LIMIT", "AC ", "VERDICT_UNSPECIFIED"}) {
    EXPECT_EQ(parse_verdict(text), std::nullopt) << text;
  }
}

TEST(Verdict, OnlySolvedAndAcceptedAreGood) {
  for (std::size_t number = 1; number < kVerdictCount; ++number) {
    const auto verdict = static_cast<Verdict>(number);
    EXPECT_EQ(is_good(verdict), verdict == Verdict::kSolved || verdict == Verdict::kAccepted);
  }
}

TEST(Verdict, LimitsAndCrashesSayNothingOfTheCaseAlone) {
  std::string known;
  for (std::size_t number = 0; number < kVerdictCount; ++number) {
    const auto verdict = static_cast<Verdict>(number);
    if (is_known(verdict)) known += std::string(verdict_short_name(verdict)) + " ";
  }
  EXPECT_EQ(known, "OK AC WA IV PE ");
}

}  // namespace
}  // namespace puzzled
