// Workers that differ, jobs that mind, and the operator who drains, resumes and removes.
#include <gtest/gtest.h>

#include "tests/broker/driver.h"

namespace puzzled {
namespace {

using event::WorkerAction;

struct Fleet : testing::Test {
  Fleet() { d.loads_at_once = true; }
  // A worker with labels and a solver version.
  Effects& ready(std::uint64_t peer, Labels labels, const std::string& version = "v1",
                 std::uint32_t capacity = 1, std::vector<LeaseId> leases = {}) {
    event::WorkerReady e;
    e.peer = PeerId{peer};
    e.start_id = bytes16(static_cast<std::uint8_t>(peer));
    e.name = "w" + std::to_string(peer);
    e.slots = 1;
    e.capacity = capacity;
    e.offers = {{"bishops", "fast", version}};
    e.boot = leases.empty() ? Boot{} : Boot{1};
    e.leases = std::move(leases);
    e.labels = std::move(labels);
    return d.step(std::move(e));
  }
  Effects& open(std::uint8_t id, Labels require, const std::string& version = "",
                std::int32_t priority = 0) {
    JobSpec spec;
    spec.puzzle = "bishops";
    spec.solver = "fast";
    spec.priority = priority;
    spec.require = std::move(require);
    spec.solver_version = version;
    return d.step(event::OpenJob{Driver::kClient, ++d.request, bytes16(id), spec});
  }
  void submit(std::uint8_t id, Labels require, const std::string& version = "",
              std::uint32_t cases = 10) {
    open(id, std::move(require), version);
    d.add(id, 0, cases);
    d.seal(id, 1, cases);
  }
  message::WorkersControlled control(WorkerAction action, std::vector<std::string> names) {
    const bool all = names.empty();
    d.step(event::ControlWorkers{Driver::kClient, ++d.request, action, std::move(names), all});
    const auto replies = d.sent_now<message::WorkersControlled>();
    EXPECT_EQ(replies.size(), 1U);
    return replies.empty() ? message::WorkersControlled{} : replies.front();
  }
  [[nodiscard]] WorkerState state(std::size_t row) const { return d.workers().at(row).state; }

  Driver d;
};

// ---- The operator.

TEST_F(Fleet, ADrainedWorkerFinishesWhatItRunsGivesTheRestBackAndIdles) {
  ready(1, {}, "v1", 2);
  d.submit(1, 100);
  ASSERT_EQ(d.broker->leases(), 2U) << "one to solve, one to wait";
  const auto done = control(WorkerAction::kDrain, {"w1"});
  ASSERT_EQ(done.workers.size(), 1U);
  EXPECT_EQ(done.workers[0].name, "w1");
  EXPECT_EQ(done.workers[0].state, WorkerState::kDraining);
  EXPECT_EQ(done.workers[0].leases, 1U) << "the first may have been begun";
  EXPECT_TRUE(done.workers[0].changed);
  EXPECT_EQ(done.changed, 1U);
  const auto revoked = d.sent_now<message::Revoke>();
  ASSERT_EQ(revoked.size(), 1U);
  EXPECT_EQ(revoked[0].leases, std::vector<LeaseId>{LeaseId{2}});
  EXPECT_TRUE(d.sent_now<message::Drain>().empty()) << "it stays";
  d.results(1, 1, range(0, 16), 1, 0, 2);
  EXPECT_EQ(d.dispatched(), 0U);
  EXPECT_EQ(state(0), WorkerState::kDrained);
  EXPECT_EQ(d.waiting_for(1),
            "every worker that could solve it is drained (puzzlectl workers resume)");
}

TEST_F(Fleet, WhatADrainTookBackGoesToOthersAtOnce) {
  ready(1, {}, "v1", 2);
  d.submit(1, 20);
  ready(2, {}, "v1", 2);
  control(WorkerAction::kDrain, {"w1"});
  EXPECT_EQ(d.dispatched(), 10U) << "what was waiting";
  EXPECT_TRUE(d.recorded<record::InsertAttempt>().empty());
  d.results(1, 1, range(0, 10));
  for (const LeaseId lease : {LeaseId{3}, LeaseId{4}}) {
    d.results(2, lease.value, range(0, 10));
    if (!d.recorded<record::FinishJob>().empty()) return;
  }
  ADD_FAILURE() << "the job is not done";
}

TEST_F(Fleet, WhatRunsByTheLastHeartbeatIsNotTakenBack) {
  ready(1, {}, "v1", 2);
  d.submit(1, 100);
  // The first lease is answered, though the broker has not heard so: the second runs.
  d.heartbeat(1, {1, 2}, {{LeaseId{2}, 3, 5}}, 2);
  control(WorkerAction::kDrain, {"w1"});
  EXPECT_TRUE(d.sent_now<message::Revoke>().empty());
}

TEST_F(Fleet, ResumingGivesWorkAgain) {
  ready(1, {});
  control(WorkerAction::kDrain, {"w1"});
  d.submit(1, 10);
  EXPECT_EQ(d.broker->leases(), 0U);
  const auto done = control(WorkerAction::kResume, {"w1"});
  EXPECT_EQ(done.workers.at(0).state, WorkerState::kWorking);
  EXPECT_EQ(d.dispatched(), 10U);
}

TEST_F(Fleet, ADrainHoldsForWhoeverComesUnderTheName) {
  ready(1, {});
  control(WorkerAction::kDrain, {"w1"});
  d.tick_after(3'000);
  EXPECT_TRUE(d.workers().empty()) << "silent";
  ready(1, {});
  d.submit(1, 10);
  EXPECT_EQ(d.broker->leases(), 0U);
  EXPECT_EQ(state(0), WorkerState::kDrained);
  d.step(event::WorkerGoodbye{PeerId{1}, ""});
  const auto done = control(WorkerAction::kResume, {"w1"});
  ASSERT_EQ(done.workers.size(), 1U);
  EXPECT_EQ(done.workers[0].state, WorkerState::kAbsent);
  EXPECT_TRUE(done.workers[0].changed);
  ready(1, {});
  EXPECT_EQ(d.broker->leases(), 1U);
}

TEST_F(Fleet, ADrainedWorkerThatDiesCostsItsCasesNothing) {
  ready(1, {});
  d.submit(1, 10);
  d.heartbeat(1, {1}, {{LeaseId{1}, 3, 5}});
  control(WorkerAction::kDrain, {"w1"});
  d.tick_after(3'000);
  EXPECT_TRUE(d.workers().empty());
  EXPECT_TRUE(d.recorded<record::InsertAttempt>().empty());
}

TEST_F(Fleet, ARemovedWorkerIsToldToEndUntilItDoes) {
  ready(1, {}, "v1", 2);
  d.submit(1, 100);
  const auto done = control(WorkerAction::kRemove, {"w1"});
  EXPECT_EQ(done.workers.at(0).state, WorkerState::kLeaving);
  EXPECT_EQ(d.sent_now<message::Drain>().size(), 1U);
  EXPECT_FALSE(control(WorkerAction::kRemove, {"w1"}).workers.at(0).changed);
  EXPECT_TRUE(d.sent_now<message::Drain>().empty());
  // The message was lost: it still wants cases.
  d.heartbeat(1, {1}, {}, 2);
  EXPECT_EQ(d.sent_now<message::Drain>().size(), 1U);
  d.heartbeat(1, {1}, {}, 0);
  EXPECT_TRUE(d.sent_now<message::Drain>().empty()) << "it has heard";
  // Lost with the connection.
  ready(1, {}, "v1", 2, {LeaseId{1}});
  EXPECT_EQ(d.sent_now<message::Drain>().size(), 1U);
  EXPECT_EQ(d.dispatched(), 0U);
  EXPECT_FALSE(control(WorkerAction::kResume, {"w1"}).workers.at(0).changed) << "too late";
  // Nor does it help to have been silent for long.
  d.tick_after(3'000);
  ready(1, {}, "v1", 2);
  EXPECT_EQ(d.sent_now<message::Drain>().size(), 1U);
  EXPECT_EQ(d.broker->leases(), 0U);
}

TEST_F(Fleet, WhoComesAfterARemovedWorkerUnderItsNameWorks) {
  ready(1, {});
  control(WorkerAction::kDrain, {"w1"});
  control(WorkerAction::kRemove, {"w1"});
  d.step(event::WorkerGoodbye{PeerId{1}, ""});
  d.submit(1, 10);
  event::WorkerReady next;
  next.peer = PeerId{9};
  next.start_id = bytes16(9);
  next.name = "w1";
  next.offers = {{"bishops", "fast", "v1"}};
  d.step(next);
  EXPECT_EQ(d.dispatched(), 10U);
}

TEST_F(Fleet, ARemovedWorkerCannotBeDrainedNorWhoComesAfterIt) {
  ready(1, {});
  control(WorkerAction::kRemove, {"w1"});
  EXPECT_FALSE(control(WorkerAction::kDrain, {"w1"}).workers.at(0).changed);
  d.step(event::WorkerGoodbye{PeerId{1}, ""});
  EXPECT_EQ(control(WorkerAction::kResume, {"w1"}).unknown.size(), 1U) << "nothing waits for it";
  ready(1, {});
  EXPECT_EQ(state(0), WorkerState::kWorking);
}

TEST_F(Fleet, NamesMayBePatternsAndUnknownOnesLeaveAllAsItWas) {
  for (std::uint64_t peer = 1; peer <= 3; ++peer) ready(peer, {});
  const auto refused = control(WorkerAction::kDrain, {"w1", "node*", "w4"});
  EXPECT_EQ(refused.unknown, (std::vector<std::string>{"node*", "w4"}));
  EXPECT_TRUE(refused.workers.empty());
  for (std::size_t row = 0; row < 3; ++row) EXPECT_EQ(state(row), WorkerState::kWorking);
  const auto done = control(WorkerAction::kDrain, {"w[12]", "w1"});
  EXPECT_EQ(done.changed, 2U);
  EXPECT_EQ(state(0), WorkerState::kDrained);
  EXPECT_EQ(state(1), WorkerState::kDrained);
  EXPECT_EQ(state(2), WorkerState::kWorking);
  const auto all = control(WorkerAction::kDrain, {});
  EXPECT_EQ(all.changed, 1U);
  EXPECT_EQ(all.unchanged, 2U);
}

TEST_F(Fleet, DrainingAllAtOnceIsSpreadOverSteps) {
  BrokerOptions options;
  options.step_work_max = 3;
  d = Driver(options);
  for (std::uint64_t peer = 1; peer <= 20; ++peer) ready(peer, {}, "v1", 3);
  d.open(1);
  d.add(1, 0, 1'000);
  while (d.broker->next_deadline() <= d.now.steady_ms) d.step(event::Tick{});
  ASSERT_EQ(d.broker->leases(), 60U);
  control(WorkerAction::kDrain, {});
  EXPECT_LT(d.sent_now<message::Revoke>().size(), 5U);
  while (d.broker->next_deadline() <= d.now.steady_ms) d.step(event::Tick{});
  EXPECT_EQ(d.broker->leases(), 20U) << "what each may have begun";
}

TEST_F(Fleet, TheListedAnswerIsBounded) {
  BrokerOptions options;
  options.controlled_rows_max = 5;
  d = Driver(options);
  for (std::uint64_t peer = 1; peer <= 20; ++peer) ready(peer, {});
  const auto done = control(WorkerAction::kDrain, {});
  EXPECT_EQ(done.workers.size(), 5U);
  EXPECT_EQ(done.changed, 20U);
}

TEST_F(Fleet, DrainedNamesAreForgottenBeforeTheyAreTooMany) {
  BrokerOptions options;
  options.workers_max = 3;
  d = Driver(options);
  for (std::uint64_t peer = 1; peer <= 5; ++peer) {
    ready(peer, {});
    control(WorkerAction::kDrain, {"w" + std::to_string(peer)});
    if (peer < 5) d.step(event::WorkerGoodbye{PeerId{peer}, ""});
  }
  EXPECT_EQ(control(WorkerAction::kResume, {"w1", "w2"}).unknown.size(), 2U) << "the oldest";
  EXPECT_EQ(control(WorkerAction::kResume, {"w*"}).changed, 3U);
}

TEST_F(Fleet, DrainedWorkersHoldNoMemoryThatOthersNeed) {
  BrokerOptions options;
  options.window_bytes_max = options.job_window_bytes_max = 3'000;
  d = Driver(options);
  d.loads_at_once = true;
  ready(1, {});
  d.ready(2, 2, 1, {"duel"});
  d.submit(1, 1, "bishops");
  d.submit(2, 100, "bishops", 1);
  control(WorkerAction::kDrain, {"w1"});
  d.submit(3, 100, "duel");
  EXPECT_EQ(d.waiting_for(3), "") << "it runs, though a higher priority waits";
}

// ---- Labels and versions.

TEST_F(Fleet, AJobGoesOnlyToWorkersThatMeetAllItRequires) {
  ready(1, {{"gpu", "a100"}});
  ready(2, {{"gpu", "a100"}, {"os", "linux"}});
  ready(3, {{"gpu", "h100"}, {"os", "linux"}});
  submit(1, {{"gpu", "a100"}, {"os", "linux"}}, "", 100);
  EXPECT_EQ(d.broker->leases(), 1U);
  EXPECT_EQ(d.workers().at(1).leases, 1U);
}

TEST_F(Fleet, AJobSaysWhatItWaitsFor) {
  submit(1, {{"gpu", "a100"}});
  EXPECT_EQ(d.waiting_for(1), "no worker is connected");
  ready(1, {{"gpu", "h100"}}, "v1");
  EXPECT_EQ(d.waiting_for(1), "no connected worker has gpu=a100");
  submit(2, {{"gpu", "h100"}, {"os", "linux"}}, "v2");
  EXPECT_EQ(d.waiting_for(2),
            "no connected worker has fast@v2, gpu=h100, os=linux; there are fast@v1");
  std::vector<Finding> stuck;
  d.broker->find_stuck({}, JobId{9}, stuck);
  EXPECT_EQ(stuck.size(), 2U);
  ready(2, {{"gpu", "a100"}});
  EXPECT_EQ(d.waiting_for(1), "");
  d.step(event::WorkerGoodbye{PeerId{2}, ""});
  EXPECT_EQ(d.waiting_for(1), "no connected worker has gpu=a100");
}

TEST_F(Fleet, AJobPinsAVersionOrTakesAny) {
  ready(1, {}, "v1");
  ready(2, {}, "v2");
  submit(1, {}, "v2", 10);
  EXPECT_EQ(d.workers().at(1).leases, 1U);
  EXPECT_EQ(d.workers().at(0).leases, 0U);
  submit(2, {}, "", 10);
  EXPECT_EQ(d.workers().at(0).leases, 1U);
  d.results(2, 1, range(0, 10));
  ASSERT_EQ(d.recorded<record::InsertResults>().size(), 1U);
  EXPECT_EQ(d.recorded<record::InsertResults>()[0].solver_version, "v2");
}

TEST_F(Fleet, WhoCanDoLessGoesFirst) {
  d.ready(1, 1, 1, {"duel", "bishops"});
  d.ready(2, 2, 1, {"bishops"});
  d.submit(1, 10, "bishops");
  EXPECT_EQ(d.workers().at(1).leases, 1U) << "the other one is kept for what only it can do";
  d.submit(2, 10, "duel");
  EXPECT_EQ(d.workers().at(0).leases, 1U);
}

TEST_F(Fleet, AJobThatRequiresNothingLeavesFreeWhoMeetsMore) {
  ready(1, {{"gpu", "a100"}});
  ready(2, {});
  open(1, {{"gpu", "a100"}});  // now the two differ
  submit(2, {}, "", 10);
  EXPECT_EQ(d.workers().at(1).leases, 1U);
  d.add(1, 0, 10);
  EXPECT_EQ(d.workers().at(0).leases, 1U);
}

TEST_F(Fleet, AReconnectWithOtherLabelsCounts) {
  submit(1, {{"gpu", "a100"}});
  ready(1, {});
  EXPECT_EQ(d.broker->leases(), 0U);
  ready(1, {{"gpu", "a100"}});
  EXPECT_EQ(d.broker->leases(), 1U);
}

TEST_F(Fleet, DifferentRequirementsOfOpenJobsAreBounded) {
  BrokerOptions options;
  options.requirement_sets_max = 2;
  d = Driver(options);
  ready(1, {{"n", "3"}});
  open(1, {{"n", "1"}});
  open(2, {{"n", "2"}});
  open(3, {{"n", "3"}});
  EXPECT_EQ(d.error(), message::ErrorCode::kUnavailable);
  submit(4, {{"n", "2"}});
  EXPECT_FALSE(d.error().has_value()) << "known";
  d.step(event::CancelJob{Driver::kClient, ++d.request, JobId{1}, ""});
  submit(3, {{"n", "3"}});
  EXPECT_EQ(d.broker->leases(), 1U) << "the place of the first is free";
  d.results(1, 1, range(0, 10));
  EXPECT_EQ(d.recorded<record::FinishJob>().size(), 1U);
}

TEST_F(Fleet, RequirementsArePartOfWhatARequestIdNames) {
  open(1, {{"gpu", "a100"}}, "v1");
  open(1, {{"gpu", "a100"}}, "v1");
  EXPECT_FALSE(d.error().has_value());
  open(1, {{"gpu", "a100"}}, "v2");
  EXPECT_EQ(d.error(), message::ErrorCode::kConflict);
  open(1, {{"gpu", "h100"}}, "v1");
  EXPECT_EQ(d.error(), message::ErrorCode::kConflict);
}

TEST_F(Fleet, RecoveredJobsKeepTheirRequirements) {
  Recovery recovery = Driver::first_boot();
  recovery.last_job = JobId{3};
  for (std::uint8_t id = 1; id <= 3; ++id) {
    RecoveredJob job;
    job.job = JobId{id};
    job.request_id = bytes16(id);
    JobSpec spec;
    spec.puzzle = "bishops";
    spec.solver = "fast";
    spec.require = {{"n", std::to_string(id)}};
    job.spec = std::make_shared<const JobSpec>(spec);
    recovery.jobs.push_back(job);
  }
  BrokerOptions options;
  options.requirement_sets_max = 2;  // lowered since: what was accepted stays
  d = Driver(options, std::move(recovery));
  ready(1, {{"n", "1"}});
  EXPECT_EQ(d.broker->open_job_count(), 3U);
  open(4, {{"n", "4"}});
  EXPECT_EQ(d.error(), message::ErrorCode::kUnavailable);
}

TEST_F(Fleet, WhatCasesCostIsLearnedUnderRequirementsForAllOthersToo) {
  const auto first_dispatch = [&](std::uint8_t job, Labels require, std::uint32_t cases) {
    open(job, std::move(require));
    d.add(job, 0, cases);
    const std::uint32_t dispatched = d.dispatched();
    d.step(event::CancelJob{Driver::kClient, ++d.request, JobId{job}, ""});
    return dispatched;
  };
  ready(1, {{"gpu", "a100"}, {"os", "linux"}});
  submit(1, {{"gpu", "a100"}}, "", 8);
  d.results(1, 1, range(0, 8));  // a millisecond each
  ASSERT_EQ(d.recorded<record::FinishJob>().size(), 1U);
  EXPECT_EQ(first_dispatch(2, {}, 100), 20U) << "as much as takes 20 ms";
  EXPECT_EQ(first_dispatch(3, {{"os", "linux"}}, 100), 20U);
}

TEST_F(Fleet, ViewsShowLabelsAndVersions) {
  ready(1, {{"gpu", "a100"}, {"os", "linux"}}, "v7");
  open(1, {{"gpu", "a100"}});
  const WorkerView view = d.workers().at(0);
  EXPECT_EQ(view.solvers, std::vector<std::string>{"bishops/fast"});
  EXPECT_EQ(view.solver_versions, std::vector<std::string>{"v7"});
  EXPECT_EQ(describe(view.labels), "gpu=a100, os=linux");
}

TEST_F(Fleet, WhatOnlyALaterVersionUnderstandsIsASignOfLife) {
  ready(1, {});
  for (int i = 0; i < 4; ++i) {
    d.tick_after(2'000);
    d.step(event::WorkerSpoke{PeerId{1}});
  }
  EXPECT_EQ(d.workers().size(), 1U);
}

}  // namespace
}  // namespace puzzled
