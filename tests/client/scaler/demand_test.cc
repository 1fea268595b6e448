#include "client/scaler/demand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/scaler/slurm.h"

namespace puzzled::scaler {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

void add_lane(proto::Demand& demand, const std::string& puzzle, const std::string& solver,
              std::uint64_t slots) {
  proto::LaneDemand& lane = *demand.add_lanes();
  lane.set_puzzle(puzzle);
  lane.set_solver(solver);
  lane.set_slots_wanted(slots);
}

TEST(Demand, OnlyWorkThatOurWorkersCanDoStartsThem) {
  proto::Demand demand;
  add_lane(demand, "duel", "sweep", 3);
  add_lane(demand, "bishops", "staircase", 4);
  add_lane(demand, "nonsense", "invented", 1'000);
  add_lane(demand, "draughts", "rays", 0);
  Offers unserved;
  EXPECT_EQ(slots_wanted(demand, {"duel/sweep", "bishops/staircase"}, unserved), 7U);
  EXPECT_THAT(unserved, ElementsAre("nonsense/invented"));
}

TEST(Demand, ThisReleaseOffersItsPuzzles) {
  EXPECT_THAT(offers_of_this_release(), Contains("bishops/staircase"));
  EXPECT_THAT(offers_of_this_release(), Contains("duel/brute-force"));
}

TEST(Demand, AWorkerIsOursByItsName) {
  SlurmOptions options;
  options.fleet = "night";
  const Slurm slurm(options);
  proto::WorkerRow row;
  row.set_name("night-7_2");
  row.set_slots(4);
  row.set_leases(3);
  row.set_draining(true);
  const Worker ours = worker_of(row, slurm);
  EXPECT_EQ(ours.allocation, "7_2");
  EXPECT_EQ(ours.slots, 4U);
  EXPECT_EQ(ours.leases, 3U);
  EXPECT_TRUE(ours.draining);
  row.set_name("vm-12");
  EXPECT_EQ(worker_of(row, slurm).allocation, "");
}

}  // namespace
}  // namespace puzzled::scaler
