#include <gtest/gtest.h>

#include "client/failure.h"
#include "tests/client/fake_broker.h"
#include "tests/client/support.h"

namespace puzzled::client {
namespace {

class Submit : public testing::Test {
 protected:
  Outcome submit(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--endpoint", broker_.endpoint(), "submit", "bishops"});
    Outcome outcome = run_puzzlectl(arguments);
    outcome.err = replaced(outcome.err, broker_.endpoint(), "ENDPOINT");
    outcome.err = replaced(outcome.err, folder_.path(), "DIR");
    return outcome;
  }
  ModelJob job() {
    broker_.stop();
    EXPECT_EQ(broker_.jobs().size(), 1U);
    return broker_.jobs().empty() ? ModelJob{} : broker_.jobs().front();
  }
  FakeBroker broker_;
  TemporaryFolder folder_;
};

TEST_F(Submit, PrintsTheJobAlone) {
  folder_.file("a.in", "3 2\n4 4\n0 0\n");
  folder_.file("a.ans", "26\n260\n");
  folder_.file("b.in", "0 0\n");
  const Outcome outcome = submit({folder_.path(), "--name", "nightly", "--priority", "7",
                                  "--time-limit", "2s", "--memory-limit", "64MiB"});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_EQ(outcome.out, "17\n");
  EXPECT_EQ(outcome.err,
            "puzzlectl: job 17: 2 cases in 2 files, answers of 1 file to grade\n"
            "puzzlectl: wait for it: puzzlectl --endpoint ENDPOINT wait 17\n");
  const ModelJob stored = job();
  EXPECT_TRUE(stored.sealed);
  EXPECT_EQ(stored.spec.name(), "nightly");
  EXPECT_EQ(stored.spec.solver(), "staircase");
  EXPECT_EQ(stored.spec.priority(), 7);
  EXPECT_EQ(stored.spec.limits().time_limit_us(), 2'000'000U);
  EXPECT_EQ(stored.spec.limits().memory_limit_bytes(), 64U << 20U);
  EXPECT_EQ(stored.spec.limits().answer_bytes_max(), 16U << 20U);
  EXPECT_EQ(stored.results.at(0).label(), "a#1");
  EXPECT_EQ(stored.results.at(1).label(), "a#2");
  EXPECT_EQ(stored.results.at(0).verdict(), proto::ACCEPTED);
}

TEST_F(Submit, AnEmptyJob) {
  folder_.file("b.in", "0 0\n");
  EXPECT_EQ(submit({folder_.path(), "--wait"}).exit_code, kExitOk);
  EXPECT_TRUE(job().sealed);
}

TEST_F(Submit, WaitGivesTheExitCodeOfTheVerdicts) {
  folder_.file("a.in", "3 2\n4 4\n0 0\n");
  folder_.file("a.ans", "26\n261\n");
  const Outcome outcome = submit({folder_.path(), "--wait"});
  EXPECT_EQ(outcome.exit_code, kExitVerdicts);
  EXPECT_EQ(outcome.out, "17\n");
  expect_golden("submit_wait", outcome.err);
}

TEST_F(Submit, OneInvalidFileStopsAll) {
  folder_.file("a.in", "3 2\n0 0\n");
  folder_.file("b.in", "3 2\n2 9\n0 0\n");
  folder_.file("c.in", "1 1\n0 0\n");
  folder_.file("c.ans", "1\nextra\n");
  folder_.file("d.in", "1\x1b 1\n0 0\n");
  const Outcome outcome = submit({folder_.path()});
  EXPECT_EQ(outcome.exit_code, kExitInvalid);
  EXPECT_EQ(outcome.out, "");
  expect_golden("submit_invalid", outcome.err);
  broker_.stop();
  EXPECT_TRUE(broker_.jobs().empty());
}

TEST_F(Submit, KeepGoingSubmitsTheGoodCases) {
  folder_.file("a.in", "3 2\n2 9\n4 4\n0 0\n");
  folder_.file("b.in", "0 0\n");
  const Outcome outcome = submit({folder_.path(), "--keep-going"});
  EXPECT_EQ(outcome.exit_code, kExitInvalid);
  EXPECT_EQ(outcome.out, "17\n");
  expect_golden("submit_keep_going", outcome.err);
  const ModelJob stored = job();
  ASSERT_EQ(stored.results.size(), 3U);
  EXPECT_EQ(stored.results[0].verdict(), proto::SOLVED);
  EXPECT_EQ(stored.results[1].verdict(), proto::INVALID_INSTANCE);
  EXPECT_EQ(stored.results[1].message(), "2:3: found 9, expected k in 0..4");
  EXPECT_EQ(stored.results[2].label(), "a#3");
}

TEST_F(Submit, NoAnswersGradesNothing) {
  folder_.file("a.in", "3 2\n0 0\n");
  folder_.file("a.ans", "not even a number\nand more\n");
  EXPECT_EQ(submit({folder_.path(), "--no-answers", "--wait"}).exit_code, kExitOk);
  EXPECT_EQ(job().results.at(0).verdict(), proto::SOLVED);
}

TEST_F(Submit, ResumeOfAFinishedUploadIsHarmlessAndChecksTheOptions) {
  folder_.file("a.in", "3 2\n0 0\n");
  EXPECT_EQ(submit({folder_.path(), "--name", "n"}).exit_code, kExitOk);
  // The fake hides the request id of sealed jobs, so this opens another: only the refusals matter.
  const Outcome solver = submit({folder_.path(), "--resume", "17", "--solver", "brute-force"});
  EXPECT_EQ(solver.exit_code, kExitInvalid);
  EXPECT_NE(solver.err.find("job 17 was opened with the solver staircase"), std::string::npos);
  const Outcome limit = submit({folder_.path(), "--resume", "17", "--time-limit", "1s"});
  EXPECT_EQ(limit.exit_code, kExitInvalid);
  EXPECT_NE(limit.err.find("the time limit 10s"), std::string::npos) << limit.err;
  EXPECT_EQ(submit({folder_.path(), "--resume", "99"}).exit_code, kExitRefused);
}

TEST_F(Submit, RequirementsAndAPinnedVersionAreOfTheSpec) {
  folder_.file("a.in", "2 1\n0 0\n");
  EXPECT_EQ(submit({folder_.path(), "--require", "os=linux", "--require", "gpu=a100", "--solver",
                    "staircase@2"})
                .exit_code,
            kExitOk);
  broker_.stop();
  const proto::JobSpec& spec = broker_.jobs().at(0).spec;
  EXPECT_EQ(spec.solver(), "staircase");
  EXPECT_EQ(spec.solver_version(), "2");
  ASSERT_EQ(spec.require_size(), 2);
  EXPECT_EQ(spec.require(0).key(), "gpu");
  broker_.start();
  EXPECT_EQ(submit({folder_.path(), "--resume", "17"}).exit_code, kExitOk);
  const Outcome other = submit({folder_.path(), "--resume", "17", "--require", "gpu=a100"});
  EXPECT_NE(other.err.find("opened with the requirements gpu=a100, os=linux"), std::string::npos)
      << other.err;
  EXPECT_NE(submit({folder_.path(), "--resume", "17", "--solver", "staircase"})
                .err.find("opened with the solver staircase@2"),
            std::string::npos);
}

TEST_F(Submit, UsageErrors) {
  folder_.file("a.in", "0 0\n");
  EXPECT_EQ(submit({}).exit_code, kExitInvalid);
  EXPECT_EQ(submit({folder_.path() + "/none.in"}).exit_code, kExitInvalid);
  EXPECT_EQ(submit({folder_.path(), "--solver", "x"}).exit_code, kExitInvalid);
  EXPECT_EQ(submit({folder_.path(), "--name", std::string(201, 'n')}).exit_code, kExitInvalid);
  EXPECT_EQ(submit({folder_.path(), folder_.path()}).exit_code, kExitInvalid);
}

}  // namespace
}  // namespace puzzled::client
