#include "daemon/broker/cost.h"

#include <gtest/gtest.h>

namespace puzzled::broker {
namespace {

constexpr DispatchSize kSize{.target_us = 20'000, .cases_first = 16, .cases_max = 4'096};

TEST(Cost, UnknownStartsSmall) { EXPECT_EQ(kSize.cases({}, 1'000'000, 1), 16U); }

TEST(Cost, MakesDispatchesOfTheTarget) {
  Cost cost;
  cost.learn(10, 500);
  EXPECT_EQ(kSize.cases(cost, 1'000'000, 1), 400U);
  cost = {};
  cost.learn(1'000, 100);
  EXPECT_EQ(kSize.cases(cost, 1'000'000, 1), 4'096U);
  cost = {};
  cost.learn(1, 5'000'000);
  EXPECT_EQ(kSize.cases(cost, 1'000'000, 1), 1U);
}

TEST(Cost, OneSlowCaseMovesTheMeanALittle) {
  Cost cost;
  for (int i = 0; i < 100; ++i) cost.learn(400, 20'000);
  cost.learn(1, 50);
  EXPECT_NEAR(cost.case_us(), 50, 1);
  cost.learn(1, 1'000);
  EXPECT_LT(cost.case_us(), 120);
}

TEST(Cost, FollowsAChange) {
  Cost cost;
  cost.learn(1'000, 1'000);
  for (int i = 0; i < 40; ++i) cost.learn(1'000, 1'000'000);
  EXPECT_NEAR(cost.case_us(), 1'000, 10);
}

TEST(Cost, NonsenseDoesNoHarm) {
  Cost cost;
  cost.learn(0, 5);
  EXPECT_FALSE(cost.known());
  cost.learn(5, 0);
  EXPECT_EQ(kSize.cases(cost, UINT64_MAX / 2, 1), 4'096U);
  cost.learn(1, UINT64_MAX);
  EXPECT_EQ(kSize.cases(cost, 1'000, 1), 1U);
}

TEST(Cost, TheEndIsSharedButNotShredded) {
  Cost cost;
  cost.learn(1'000, 100'000);  // 100 us: a full dispatch is 200 cases
  EXPECT_EQ(kSize.cases(cost, 200, 4), 50U);
  EXPECT_EQ(kSize.cases(cost, 200, 10'000), 12U) << "1/16 of a full dispatch";
  EXPECT_EQ(kSize.cases(cost, 200, 0), 200U);
}

}  // namespace
}  // namespace puzzled::broker
