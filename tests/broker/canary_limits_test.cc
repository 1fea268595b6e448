// Canaries: who may get one, and what bounds what is known of them.
#include <gtest/gtest.h>

#include "tests/broker/canary_fixture.h"

namespace puzzled {
namespace {

JobSpec requiring(Labels labels, const std::string& version = "") {
  JobSpec spec = plain_spec();
  spec.require = std::move(labels);
  spec.solver_version = version;
  return spec;
}

// ---- What the job of a canary requires of its workers.

class CanaryRequirementsTest : public CanaryTest {
 protected:
  // Whether a worker gets a canary with the next job; it goes away again.
  bool is_tested(const std::string& host, Labels labels, const std::string& version = "v1") {
    const std::uint8_t id = ++last_;
    submit(id, plain_spec(), 4);
    ready(id, host, std::move(labels), version);
    const bool tested = d.dispatched() == 5;
    EXPECT_EQ(d.dispatched(), tested ? 5U : 4U);
    d.step(event::CancelJob{Driver::kClient, ++d.request, JobId{id}, ""});
    d.step(event::WorkerGoodbye{PeerId{id}, "done"});
    return tested;
  }

  std::uint8_t last_ = 1;
};

TEST_F(CanaryRequirementsTest, OnlyWhoMayHaveTheJobItIsFromGetsACanary) {
  mark(1, true);
  submit(2, requiring({{"gpu", "a100"}}, "v2"), 2);
  ready(60, "here", {{"gpu", "a100"}, {"os", "linux"}}, "v2");
  d.results(60, lease(), {0, 1});
  d.step(event::WorkerGoodbye{PeerId{60}, "done"});
  mark(2);
  answer_load();
  last_ = 2;
  EXPECT_FALSE(is_tested("here", {}, "v2"));
  EXPECT_FALSE(is_tested("here", {{"gpu", "h100"}}, "v2"));
  EXPECT_FALSE(is_tested("here", {{"gpu", "a100"}}, "v1")) << "its version was pinned";
  EXPECT_TRUE(is_tested("here", {{"gpu", "a100"}}, "v2"));
}

TEST_F(CanaryRequirementsTest, ARestartKnowsThemToo) {
  restart(every_dispatch(), recovered_canary(requiring({{"gpu", "a100"}})));
  answer_load();
  EXPECT_FALSE(is_tested("here", {}));
  EXPECT_TRUE(is_tested("here", {{"gpu", "a100"}}));
}

TEST_F(CanaryRequirementsTest, AWorkerIsTestedWithTheJobsItMeets) {
  submit(2, requiring({{"gpu", "a100"}}), 2);
  ready(60, "here", {{"gpu", "a100"}});
  answer(60, lease(), d.dispatched(), canary_position(), kRight);
  d.step(event::WorkerGoodbye{PeerId{60}, "done"});
  mark(2);
  answer_load();
  last_ = 2;
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(is_tested("here", {})) << "job 1 requires nothing";
}

// ---- Jobs of which nothing can be a canary.

TEST_F(CanaryTest, AMarkedJobWithoutCanariesSaysWhatToDo) {
  mark(1, true);
  mark(1);
  answer_load(0);
  ASSERT_EQ(d.effects.notices.size(), 1U);
  EXPECT_NE(d.effects.notices[0].find("'puzzlectl canary 1 --off'"), std::string::npos);
  EXPECT_TRUE(d.effects.canary_loads.empty());
}

class TwoChunksTest : public CanaryTest {
 protected:
  TwoChunksTest() {
    mark(1, true);
    d.open(2);
    d.add(2, 0, 2);
    d.add(2, 1, 2);
    d.seal(2, 2, 4);
    d.ready(60, 60);
    d.results(60, lease(), {0, 1});
    d.results(60, lease(), {0, 1});
    EXPECT_EQ(d.recorded<record::FinishJob>().size(), 1U);
    mark(2);
    answer_load();
    d.step(event::WorkerGoodbye{PeerId{60}, "done"});
  }

  // A dispatch of a job whose answers may be as long as that, and whatever the store is asked for.
  bool has_canary(std::uint64_t answer_bytes_max) {
    const std::uint8_t id = ++last_;
    JobSpec spec = plain_spec();
    spec.limits.answer_bytes_max = answer_bytes_max;
    submit(id, spec, 4);
    ready(id, "here");
    const std::uint32_t count = d.dispatched();
    notices_ += d.effects.notices.size();
    if (!d.effects.canary_loads.empty()) {
      ++loads_;
      answer_load();
    }
    d.step(event::CancelJob{Driver::kClient, ++d.request, JobId{id}, ""});
    d.step(event::WorkerGoodbye{PeerId{id}, "done"});
    return count == 5;
  }

  std::uint8_t last_ = 2;
  std::size_t loads_ = 0;
  std::size_t notices_ = 0;
};

TEST_F(TwoChunksTest, LimitsUnderWhichNothingFitsAreNoticedOnceAndAskForNothingMore) {
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(has_canary(kRight.size() - 1));
  EXPECT_LE(loads_, 2U) << "each chunk once";
  EXPECT_EQ(notices_, 1U);
  // Other limits are another question, and its answer is none to the first.
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(has_canary(kRight.size()));
  EXPECT_GT(loads_, 2U);
  loads_ = 0;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(has_canary(kRight.size() - 1));
  EXPECT_EQ(loads_, 0U);
  EXPECT_EQ(notices_, 1U);
  // Marked anew, it is looked at anew.
  mark(2, true);
  mark(2);
  answer_load();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(has_canary(kRight.size() - 1));
  EXPECT_EQ(notices_, 2U);
}

// ---- Bounds.

class SmallBoundsTest : public CanaryTest {
 protected:
  static BrokerOptions small() {
    BrokerOptions options = every_dispatch();
    options.unproven_runs_max = 2;
    options.barred_workers_max = 1;
    options.canary_jobs_max = 1;
    return options;
  }
  SmallBoundsTest() : CanaryTest(small()) {}

  // The cases of a dispatch of five, without its canary.
  static std::vector<std::uint32_t> cases(std::uint32_t canary) {
    std::vector<std::uint32_t> others;
    for (std::uint32_t i = 0; i < 5; ++i) {
      if (i != canary) others.push_back(i);
    }
    return others;
  }
  [[nodiscard]] std::uint64_t stretch() const {
    return d.recorded<record::InsertResults>().at(0).stretch;
  }
  [[nodiscard]] std::vector<std::uint64_t> forgotten() const {
    std::vector<std::uint64_t> numbers;
    for (const auto& one : d.recorded<record::ForgetStretch>()) numbers.push_back(one.stretch);
    return numbers;
  }
};

TEST_F(SmallBoundsTest, OverTheLimitTheOldestRunsOfAWorkerStand) {
  d.submit(2, 20);
  ready(1, "here");
  answer(1, lease(), 5, canary_position(), kRight);
  const std::uint64_t first = stretch();
  const std::uint64_t id = lease();
  const std::uint32_t canary = canary_position();
  const std::vector<std::uint32_t> open = cases(canary);
  answer(1, id, {open[0], open[2]}, canary, kRight, 0);  // two runs, and one before
  EXPECT_EQ(forgotten(), std::vector<std::uint64_t>{first});
  const std::uint64_t second = stretch();
  EXPECT_NE(first, second);
  answer(1, id, {canary}, canary, "wrong", 1);
  const auto revised = d.recorded<record::ReviseResults>();
  ASSERT_EQ(revised.size(), 2U) << "what stands is not taken back";
  for (const auto& run : revised) EXPECT_EQ(run.stretch, second);
  EXPECT_EQ(revised[0].first_case, CaseNo{5});
  EXPECT_EQ(revised[1].first_case, CaseNo{7});
}

TEST_F(SmallBoundsTest, AStretchThatIsOverTheLimitByItselfStands) {
  d.submit(2, 20);
  ready(1, "here");
  const std::uint64_t id = lease();
  const std::uint32_t canary = canary_position();
  const std::vector<std::uint32_t> open = cases(canary);
  answer(1, id, {open[0], open[2]}, canary, kRight, 0);
  EXPECT_TRUE(forgotten().empty());
  const std::uint64_t first = stretch();
  answer(1, id, {open[1]}, canary, kRight, 1);
  EXPECT_EQ(forgotten(), std::vector<std::uint64_t>{first});
  answer(1, id, {open[3]}, canary, kRight, 2);
  EXPECT_GT(stretch(), first) << "what comes now is another one";
  answer(1, id, {canary}, canary, "wrong", 3);
  EXPECT_EQ(d.recorded<record::ReviseResults>().size(), 1U);
}

TEST_F(SmallBoundsTest, ThoseWhoAreGoneGoFirstTheOldestOfThemFirst) {
  d.submit(2, 40);
  std::vector<std::uint64_t> of_gone;
  for (std::uint64_t peer = 1; peer <= 2; ++peer) {
    ready(peer, "here");
    answer(peer, lease(), 5, canary_position(), kRight);
    of_gone.push_back(stretch());
  }
  for (std::uint64_t peer = 1; peer <= 2; ++peer) d.step(event::WorkerGoodbye{PeerId{peer}, ""});
  d.ready(11, 1);  // came back, and went again: the second is now the oldest
  d.step(event::WorkerGoodbye{PeerId{11}, ""});
  ready(3, "here");
  answer(3, lease(), 5, canary_position(), kRight);
  EXPECT_EQ(forgotten(), std::vector<std::uint64_t>{of_gone[1]});
  d.ready(21, 1);
  const auto dispatches = d.sent_now<message::Dispatch>();
  ASSERT_FALSE(dispatches.empty());
  answer(21, lease(), 5, canary_position(), "wrong");
  ASSERT_EQ(d.recorded<record::ReviseResults>().size(), 1U) << "the first is still liable";
  EXPECT_EQ(d.recorded<record::ReviseResults>()[0].stretch, of_gone[0]);
}

TEST_F(SmallBoundsTest, OverTheLimitTheOldestThatIsBarredIsLetInAgain) {
  d.submit(2, 20);
  ready(1, "one");
  answer(1, lease(), 5, canary_position(), "wrong");
  EXPECT_EQ(d.effects.notices.size(), 1U);
  ready(2, "two");
  answer(2, lease(), 5, canary_position(), "wrong");
  ASSERT_EQ(d.recorded<record::AdmitWorker>().size(), 1U);
  EXPECT_EQ(d.recorded<record::AdmitWorker>()[0].name, "w1");
  EXPECT_EQ(d.effects.notices.size(), 2U);
  ready(3, "two");
  EXPECT_EQ(d.sent_when_durable<message::Refused>().size(), 1U);
  ready(4, "one");
  EXPECT_TRUE(d.sent_when_durable<message::Refused>().empty());
  EXPECT_EQ(d.workers().size(), 1U);
}

TEST_F(SmallBoundsTest, NoMoreJobsAreMarkedThanTheLimitAllows) {
  d.submit(2, 4);
  ready(1, "here");
  answer(1, lease(), 5, canary_position(), kRight);
  mark(2);
  EXPECT_EQ(d.error(), message::ErrorCode::kUnavailable);
  EXPECT_TRUE(d.recorded<record::MarkCanary>().empty());
  mark(1, true);
  mark(2);
  EXPECT_FALSE(d.error().has_value());
  EXPECT_EQ(d.recorded<record::MarkCanary>().size(), 1U);
}

TEST_F(SmallBoundsTest, LimitsThatWereLoweredHoldFromTheStartOn) {
  Recovery recovery = recovered_canary(plain_spec());
  recovery.last_stretch = 3;
  for (std::uint32_t i = 0; i < 3; ++i) {
    RecoveredRun run{.stretch = i + 1,
                     .worker = WorkerNo{i + 1},
                     .start_id = bytes16(static_cast<std::uint8_t>(i + 1)),
                     .job = JobId{1},
                     .chunk_no = 0,
                     .chunk_first_case = CaseNo{1},
                     .chunk_case_count = 3,
                     .first = i,
                     .count = 1};
    recovery.runs.push_back(run);
    Barred barred;
    barred.name = "w" + std::to_string(i + 1);
    barred.host = "host" + std::to_string(i + 1);
    recovery.barred.push_back(barred);
  }
  restart(small(), std::move(recovery));
  EXPECT_EQ(forgotten(), std::vector<std::uint64_t>{1});
  std::vector<std::string> admitted;
  for (const auto& one : d.recorded<record::AdmitWorker>()) admitted.push_back(one.name);
  EXPECT_EQ(admitted, (std::vector<std::string>{"w1", "w2"}));
}

// The driver checks after each step that there is an entry for those only who have something
// unproven, and as many as that in the order in which they went.
TEST_F(CanaryTest, NothingStaysBehindOfWorkersThatCameAndWent) {
  d.submit(2, 200);
  for (std::uint8_t start = 1; start <= 10; ++start) {
    for (std::uint64_t life = 0; life < 3; ++life) {
      const std::uint64_t peer = 100 * life + start;
      d.ready(peer, start);
      answer(peer, lease(), 5, canary_position(), kRight);
      d.step(event::WorkerGoodbye{PeerId{peer}, ""});
    }
  }
  mark(1, true);
  EXPECT_EQ(d.recorded<record::ForgetStretch>().size(), 10U) << "the last of each";
}

}  // namespace
}  // namespace puzzled
