// That a seed replays exactly, and that the checks of the simulator bite.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/sim/jobs.h"
#include "tests/sim/world.h"

namespace puzzled::sim {
namespace {

constexpr std::uint64_t kSteps = 2'000;
constexpr unsigned kJobs = 2;

std::uint64_t trace_of(std::uint64_t seed, std::size_t lines_max) {
  World world(seed, Mutation::kNone, true, lines_max);
  world.run(kSteps);
  return world.sim().hash;
}

TEST(Simulation, ASeedReplaysExactly) {
  std::set<std::uint64_t> traces;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::uint64_t trace = trace_of(seed, 0);
    EXPECT_EQ(trace, trace_of(seed, 0)) << "seed " << seed;
    EXPECT_EQ(trace, trace_of(seed, 10)) << "seed " << seed << ", with its events as text";
    traces.insert(trace);
  }
  EXPECT_EQ(traces.size(), 20U) << "every seed is a run of its own";
}

// Whatever of them meets nothing of its kind within so many seeds tests little.
class Mutations : public testing::TestWithParam<MutationName> {};

bool is_repaired(Mutation mutation) {
  return mutation == Mutation::kLoadLost || mutation == Mutation::kDurableLost;
}

TEST_P(Mutations, IsCaught) {
  const Totals totals = run_seeds({.first = 1, .last = 1'000},
                                  {.steps = kSteps,
                                   .mutation = GetParam().mutation,
                                   .sweeps = !is_repaired(GetParam().mutation)},
                                  kJobs, 1);
  EXPECT_FALSE(totals.failed.empty()) << "nothing notices when this is broken: " << GetParam().rule;
  if (!totals.failed.empty()) {
    std::printf("caught with seed %llu of %llu\n",
                static_cast<unsigned long long>(totals.failed.front()),
                static_cast<unsigned long long>(totals.seeds));
  }
}

// What is noticed without the sweeper does no harm with it.
TEST(Simulation, LostWakeUpsAreRepairedBySweeps) {
  for (const Mutation mutation : {Mutation::kLoadLost, Mutation::kDurableLost}) {
    const Totals totals =
        run_seeds({.first = 1, .last = 200}, {.steps = kSteps, .mutation = mutation}, kJobs, 1);
    EXPECT_TRUE(totals.failed.empty()) << "seed " << totals.failed.front();
    EXPECT_GT(totals.findings, 100U) << "there was something to repair";
  }
}

std::string test_name(const testing::TestParamInfo<MutationName>& info) {
  std::string name(info.param.name);
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Rules, Mutations, testing::ValuesIn(kMutations), test_name);

}  // namespace
}  // namespace puzzled::sim
