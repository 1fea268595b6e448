#include "client/scaler/demand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/scaler/slurm.h"

namespace puzzled::scaler {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;

proto::LaneDemand& add_lane(proto::Demand& demand, const std::string& puzzle,
                            const std::string& solver, std::uint64_t slots) {
  proto::LaneDemand& lane = *demand.add_lanes();
  lane.set_puzzle(puzzle);
  lane.set_solver(solver);
  lane.set_slots_wanted(slots);
  return lane;
}

void require(proto::LaneDemand& lane, const char* key, const char* value) {
  proto::Label& label = *lane.add_require();
  label.set_key(key);
  label.set_value(value);
}

TEST(Demand, OnlyWorkThatOurWorkersCanDoStartsThem) {
  proto::Demand demand;
  add_lane(demand, "duel", "sweep", 3);
  add_lane(demand, "bishops", "staircase", 4);
  add_lane(demand, "nonsense", "invented", 1'000);
  add_lane(demand, "draughts", "rays", 0);
  const Wants wants(demand, {{"duel/sweep", {"1"}}, {"bishops/staircase", {}}}, {});
  EXPECT_EQ(wants.slots(), 7U);
  EXPECT_THAT(wants.unserved(), ElementsAre("nonsense/invented"));
}

// Workers without them could be started for ever, and none would take a case.
TEST(Demand, OnlyWorkersThatHaveWhatIsRequiredAreStartedForIt) {
  proto::Demand demand;
  add_lane(demand, "duel", "sweep", 1);
  require(add_lane(demand, "duel", "sweep", 10), "gpu", "a100");
  proto::LaneDemand& both = add_lane(demand, "duel", "sweep", 100);
  require(both, "gpu", "a100");
  require(both, "os", "linux");
  both.set_solver_version("2");
  const auto wanted = [&](const Offers& offers, const Labels& labels) {
    return Wants(demand, offers, labels);
  };
  const Offers first = {{"duel/sweep", {"1"}}};
  const Offers second = {{"duel/sweep", {"1", "2"}}};
  EXPECT_EQ(wanted(first, {}).slots(), 1U);
  EXPECT_THAT(wanted(first, {}).unserved(),
              ElementsAre("duel/sweep with gpu=a100", "duel/sweep@2 with gpu=a100, os=linux"));
  EXPECT_EQ(wanted(first, {{"gpu", "h100"}}).slots(), 1U);
  EXPECT_EQ(wanted(first, {{"gpu", "a100"}, {"os", "linux"}}).slots(), 11U);
  EXPECT_EQ(wanted(second, {{"gpu", "a100"}}).slots(), 11U);
  EXPECT_EQ(wanted(second, {{"gpu", "a100"}, {"os", "linux"}}).slots(), 111U);
  EXPECT_THAT(wanted(second, {{"gpu", "a100"}, {"os", "linux"}}).unserved(), IsEmpty());
}

// A hundred idle workers of another kind are no help for work that they cannot do.
TEST(Demand, WorkersOfOthersCountForWhatTheyCanDo) {
  proto::Demand demand;
  add_lane(demand, "duel", "sweep", 6);
  require(add_lane(demand, "duel", "sweep", 4), "gpu", "a100");
  Wants wants(demand, {{"duel/sweep", {"1"}}}, {{"gpu", "a100"}});
  EXPECT_EQ(wants.slots(), 10U);
  proto::WorkerRow plain;
  plain.set_slots(5);
  plain.add_solvers("bishops/staircase");
  EXPECT_EQ(wants.take(plain), 0U) << "another puzzle";
  plain.add_solvers("duel/sweep");
  proto::WorkerRow with_gpu = plain;
  with_gpu.set_slots(3);
  with_gpu.add_labels()->set_key("gpu");
  with_gpu.mutable_labels(0)->set_value("a100");
  EXPECT_EQ(wants.take(with_gpu), 3U) << "for what the other one cannot do";
  EXPECT_EQ(wants.take(plain), 5U);
  EXPECT_EQ(wants.take(plain), 1U);
  EXPECT_EQ(wants.take(plain), 0U);
  EXPECT_EQ(wants.take(with_gpu), 1U);
}

TEST(Demand, WhatWorkersOfferIsJoined) {
  Offers offers;
  proto::WorkerRow row;
  row.add_solvers("duel/sweep");
  row.add_solver_versions("1");
  row.add_solvers("bishops/staircase");  // an older daemon gives no versions
  add_offers(row, offers);
  row.set_solver_versions(0, "2");
  add_offers(row, offers);
  EXPECT_EQ(offers, (Offers{{"bishops/staircase", {}}, {"duel/sweep", {"1", "2"}}}));
}

TEST(Demand, ThisReleaseOffersItsPuzzles) {
  EXPECT_THAT(offers_of_this_release(), Contains(Key("bishops/staircase")));
  EXPECT_THAT(offers_of_this_release(), Contains(Key("duel/brute-force")));
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
