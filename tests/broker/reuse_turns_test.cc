// Reuse of answers: what look-ups weigh, beside each other and beside cases that are dispatched.
#include <gtest/gtest.h>

#include "tests/broker/reuse_fixture.h"

namespace puzzled {
namespace {

TEST_F(ReuseTest, AFewChunksOfAJobAreOnTheirWayAtOnce) {
  std::vector<LoadChunk> loads;
  open(1);
  for (ChunkNo no = 0; no < 10; ++no) {
    add_keyed(1, no, 10);
    loads.insert(loads.end(), t.effects.loads.begin(), t.effects.loads.end());
  }
  EXPECT_EQ(loads.size(), 4U);
  loaded(loads.at(0), range(0, 10));
  EXPECT_EQ(only_load().chunk_no, 4U);
  open(2);
  add_keyed(2, 0, 1);
  EXPECT_EQ(only_load().job, JobId{2}) << "it waits for a few chunks only";
}

// Two jobs of large chunks with keys, from before a restart.
Recovery with_keyed_jobs() {
  Recovery recovery = with_answers();
  JobSpec spec;
  spec.puzzle = "bishops";
  spec.solver = "fast";
  for (std::uint8_t id = 1; id <= 2; ++id) {
    RecoveredJob& job = recovery.jobs.emplace_back();
    job.job = recovery.last_job = JobId{id};
    job.request_id = bytes16(id);
    job.spec = std::make_shared<const JobSpec>(spec);
    job.sealed = true;
    job.chunk_count = 3;
    job.case_count = 3'000;
    for (ChunkNo no = 0; no < 3; ++no) {
      job.open_chunks.push_back({.chunk_no = no,
                                 .first_case = CaseNo{no * 1'000 + 1},
                                 .case_count = 1'000,
                                 .bytes = 10'000,
                                 .keyed = true});
    }
  }
  return recovery;
}

BrokerOptions small_steps() {
  BrokerOptions options = with_cache();
  options.step_work_max = 100;
  return options;
}

class TwoJobsTest : public ReuseTest {
 protected:
  TwoJobsTest() : ReuseTest(with_keyed_jobs(), small_steps()) {}
};

TEST_F(TwoJobsTest, TakeTurnsAndAStepAsksForSoManyCasesOnly) {
  t.step(event::Tick{});
  std::vector<std::uint64_t> jobs;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(t.effects.loads.size(), 2U) << "a thousand cases are 62 units of work";
    for (const LoadChunk& load : t.effects.loads) jobs.push_back(load.job.value);
    t.step(event::Tick{});
  }
  EXPECT_EQ(jobs, (std::vector<std::uint64_t>{1, 2, 1, 2, 1, 2}));
}

// Room for three such chunks.
class FullWindowTest : public ReuseTest {
 protected:
  FullWindowTest() : ReuseTest(with_answers(), small_window()) {}
  static BrokerOptions small_window() {
    BrokerOptions options = with_cache();
    options.window_bytes_max = options.job_window_bytes_max = 6'000;
    return options;
  }
};

TEST_F(FullWindowTest, WhatIsOnlyLookedUpTakesNobodysRoom) {
  t.ready(1, 1, 0, {"duel"});
  t.open(1, "duel");
  for (ChunkNo no = 0; no < 3; ++no) t.add(1, no, 100);
  JobSpec spec;
  spec.puzzle = "bishops";
  spec.solver = "fast";
  spec.priority = 5;
  t.step(event::OpenJob{Driver::kClient, ++t.request, bytes16(2), spec});
  add_keyed(2, 0, 100);
  EXPECT_TRUE(t.effects.loads.empty()) << "there is no room";
  t.heartbeat(1, {}, {}, 1);
  EXPECT_GT(t.dispatched(), 0U);
}

}  // namespace
}  // namespace puzzled
