// puzzle-scaler with a real daemon and real workers; Slurm's commands are scripts that run tasks as
// processes (tests/support/fake_slurm). With a real Slurm: tests/slurm.
#include <gmock/gmock.h>

#include <set>

#include "tests/e2e/fixture.h"

namespace puzzled::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class ScalerTest : public EndToEnd {
 protected:
  ScalerTest() {
    std::filesystem::create_directory(path("slurm"));
    environment_["FAKE_SLURM"] = path("slurm");
    environment_["PATH"] = std::string(PUZZLED_FAKE_SLURM) + ":" + environment_["PATH"];
  }
  // Tasks are processes of their own: none may outlive the test.
  ~ScalerTest() override {
    for (const auto& task : std::filesystem::directory_iterator(path("slurm"))) {
      const std::string pid = read_file(task.path() / "pid");
      if (!pid.empty() && !std::filesystem::exists(task.path() / "code")) {
        ::kill(std::stoi(pid), SIGKILL);
      }
    }
  }

  // Looks ten times a second; idle workers and surplus ones end quickly.
  Arguments command(const Arguments& more) {
    Arguments all = {PUZZLED_TEST_SCALER_PROGRAM,
                     "--endpoint",
                     endpoint_,
                     "--worker-endpoint",
                     worker_endpoint_,
                     "--worker-program",
                     kTestWorker,
                     "--script",
                     PUZZLED_WORKER_SBATCH,
                     "--max",
                     "4",
                     "--interval",
                     "100ms",
                     "--slot-work",
                     "100ms",
                     "--shrink-after",
                     "500ms",
                     "--idle-timeout",
                     "3s",
                     "--backoff",
                     "100ms"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Process start_scaler(const Arguments& more = {}) { return start(command(more)); }
  Ended run_scaler(const Arguments& more) {
    Process scaler = start(command(more));
    return scaler.wait(std::chrono::minutes(5)).value_or(Ended{});
  }
  // 6,000 cases of 5 ms.
  std::string submit_slow_job() {
    for (const char* name : {"jobs/a.in", "jobs/b.in", "jobs/c.in", "jobs/d.in"}) {
      file(name, bishops_file(1500));
    }
    const Ended ended =
        test_ctl({"submit", "bishops", path("jobs"), "--solver", "slow", "--no-cache"});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return ended.out.substr(0, ended.out.find('\n'));
  }
  std::set<std::string> workers() {
    std::set<std::string> names;
    std::istringstream lines(ctl_out({"workers", "--output", "jsonl"}));
    for (std::string line; std::getline(lines, line);) {
      names.insert(Json::parse(line).at("worker").get<std::string>());
    }
    return names;
  }
  bool is_running(const std::string& task) {
    return std::filesystem::exists(path("slurm/" + task + "/pid")) &&
           !std::filesystem::exists(path("slurm/" + task + "/code"));
  }
  std::size_t tasks() {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path("slurm"))) {
      count += entry.is_directory() ? 1 : 0;
    }
    return count;
  }
  static bool says(Process& scaler, const std::string& text) {
    return eventually([&] { return scaler.err().find(text) != std::string::npos; },
                      std::chrono::minutes(2));
  }
};

TEST_F(ScalerTest, FromNobodyToFourAndBackToNobody) {
  const Process daemon = start_daemon({"--workers", "0"});
  Process scaler = start_scaler();
  ASSERT_TRUE(says(scaler, "0 slots wanted")) << scaler.err();
  EXPECT_EQ(tasks(), 0U);
  const std::string job = submit_slow_job();
  // One finds out what a case costs, three follow.
  const std::set<std::string> four = {"puzzle-worker-1_1", "puzzle-worker-2_1", "puzzle-worker-2_2",
                                      "puzzle-worker-2_3"};
  EXPECT_TRUE(eventually([&] { return workers() == four; }, std::chrono::minutes(2)))
      << scaler.err();
  ctl_out({"wait", job});
  EXPECT_EQ(count(results(job), "SOLVED"), 6'000U);
  EXPECT_TRUE(eventually([&] { return workers().empty(); }, std::chrono::minutes(2)))
      << scaler.err();
  EXPECT_TRUE(says(scaler, "0 running")) << scaler.err();
  for (const char* task : {"1_1", "2_1", "2_2", "2_3"}) {
    EXPECT_TRUE(eventually([&] { return !is_running(task); })) << task;
    EXPECT_EQ(read_file(path("slurm") / task / "code"), "0\n") << "it drained";
  }
  scaler.signal(SIGTERM);
  const auto ended = scaler.wait(std::chrono::minutes(1));
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 0) << ended->err;
}

TEST_F(ScalerTest, SurplusWorkersAreAskedToDrain) {
  const Process daemon = start_daemon({"--workers", "0"});
  // Idle workers stay: it is the scaler that ends them.
  Process first = start_scaler({"--min", "3", "--idle-timeout", "1h"});
  ASSERT_TRUE(eventually([&] { return workers().size() == 3; }, std::chrono::minutes(2)));
  first.signal(SIGTERM);
  ASSERT_TRUE(first.wait(std::chrono::minutes(1)));
  EXPECT_THAT(workers(), SizeIs(3)) << "workers go on without the scaler";
  Process second = start_scaler({"--min", "1"});
  EXPECT_TRUE(eventually([&] { return workers().size() == 1; }, std::chrono::minutes(2)))
      << second.err();
  EXPECT_EQ(tasks(), 3U) << "it took over those that were there";
  EXPECT_THAT(read_file(path("slurm/scancel-calls")), HasSubstr("--batch --signal=TERM"));
}

TEST_F(ScalerTest, ADryRunSaysWhatItWouldDoAndDoesNothing) {
  const Process daemon = start_daemon({"--workers", "0"});
  submit_slow_job();
  const Ended ended = run_scaler({"--dry-run", "--once"});
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_THAT(ended.err, HasSubstr("would submit 1 worker"));
  EXPECT_THAT(ended.err, HasSubstr("1 slot wanted: 1 worker of 0..4"));
  EXPECT_EQ(tasks(), 0U);
}

TEST_F(ScalerTest, RefusedSubmissionsMakeItPauseAndSayWhy) {
  const Process daemon = start_daemon({"--workers", "0"});
  file("slurm/sbatch-fails", "sbatch: error: invalid partition specified: long\n");
  submit_slow_job();
  const Ended once = run_scaler({"--once"});
  EXPECT_EQ(once.exit_code, 5);
  EXPECT_THAT(once.err, HasSubstr("invalid partition specified: long"));
  Process scaler = start_scaler({"--failures-max", "3", "--pause", "1h"});
  ASSERT_TRUE(says(scaler, "that is failure 3 in a row")) << scaler.err();
  EXPECT_TRUE(says(scaler, "none is started for 3600s: sbatch ended with code 1")) << scaler.err();
  EXPECT_EQ(tasks(), 0U);
  std::filesystem::remove(path("slurm/sbatch-fails"));
  scaler.signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return !workers().empty(); }, std::chrono::minutes(2)))
      << scaler.err();
}

TEST_F(ScalerTest, WorkersThatEndAtOnceMakeItPause) {
  const Process daemon = start_daemon({"--workers", "0"});
  submit_slow_job();
  Process scaler = start_scaler({"--worker-program", "/bin/false", "--failures-max", "2"});
  EXPECT_TRUE(says(scaler, "that is failure 2 in a row")) << scaler.err();
  EXPECT_THAT(scaler.err(), HasSubstr("ended (FAILED: NonZeroExitCode) and its worker never came"));
}

TEST_F(ScalerTest, WorkersThatNeverComeAreEnded) {
  const Process daemon = start_daemon({"--workers", "0"});
  submit_slow_job();
  file("stays", "#!/bin/sh\nexec sleep 1000\n");
  std::filesystem::permissions(path("stays"), std::filesystem::perms::owner_all);
  Process scaler =
      start_scaler({"--worker-program", path("stays"), "--join-timeout", "1s", "--backoff", "1h"});
  EXPECT_TRUE(says(scaler, "has not come to the daemon")) << scaler.err();
  EXPECT_TRUE(says(scaler, "killed 1_1")) << scaler.err();
  EXPECT_TRUE(eventually([&] { return !is_running("1_1"); }));
}

TEST_F(ScalerTest, NothingIsDecidedWithoutSlurm) {
  const Process daemon = start_daemon({"--workers", "0"});
  file("slurm/squeue-fails", "Unable to contact slurm controller");
  submit_slow_job();
  const Ended once = run_scaler({"--once"});
  EXPECT_EQ(once.exit_code, 5);
  Process scaler = start_scaler();
  ASSERT_TRUE(says(scaler, "Unable to contact slurm controller")) << scaler.err();
  EXPECT_EQ(tasks(), 0U);
  std::filesystem::remove(path("slurm/squeue-fails"));
  EXPECT_TRUE(eventually([&] { return !workers().empty(); }, std::chrono::minutes(2)))
      << scaler.err();
}

TEST_F(ScalerTest, WorkersThatSlurmForgotCount) {
  const Process daemon = start_daemon({"--workers", "0"});
  Process first = start_scaler({"--min", "2", "--idle-timeout", "1h"});
  ASSERT_TRUE(eventually([&] { return workers().size() == 2; }, std::chrono::minutes(2)));
  file("slurm/forgotten", "1_1\n");
  EXPECT_TRUE(says(first, "worker puzzle-worker-1_1 is connected, but the engine does not list"))
      << first.err();
  EXPECT_TRUE(says(first, "1 connected without an allocation")) << first.err();
  EXPECT_EQ(tasks(), 2U) << "it needs no replacement";
}

TEST_F(ScalerTest, WithoutADaemonNothingHappens) {
  const Ended once = run_scaler({"--once", "--connect-timeout", "200ms"});
  EXPECT_EQ(once.exit_code, 3);
  EXPECT_THAT(once.err, HasSubstr("no daemon answers"));
  Process scaler = start_scaler({"--connect-timeout", "200ms", "--min", "1"});
  ASSERT_TRUE(says(scaler, "no daemon answers")) << scaler.err();
  EXPECT_EQ(tasks(), 0U);
  const Process daemon = start_daemon({"--workers", "0"});
  EXPECT_TRUE(eventually([&] { return workers().size() == 1; }, std::chrono::minutes(2)))
      << scaler.err();
}

TEST_F(ScalerTest, WorkThatNoWorkerCanDoStartsNone) {
  const Process daemon = start_daemon({"--workers", "0"});
  submit_slow_job();
  // The product's own scaler does not know the solver "slow".
  Arguments product = command({"--once"});
  product[0] = PUZZLED_SCALER_PROGRAM;
  Process scaler = start(product);
  const Ended ended = scaler.wait(std::chrono::minutes(2)).value_or(Ended{});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("cases of bishops/slow, which workers of ours do not offer"));
  EXPECT_EQ(tasks(), 0U);
}

TEST_F(ScalerTest, WhatIsRequiredStartsWorkersThatHaveIt) {
  const Process daemon = start_daemon({"--workers", "0"});
  const std::string label = "gpu=NVIDIA A100, 80 GB";
  file("jobs/a.in", bishops_file(20));
  const Ended submitted = test_ctl({"submit", "bishops", path("jobs"), "--require", label});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  const std::string job = submitted.out.substr(0, submitted.out.find('\n'));
  const Ended without = run_scaler({"--once"});
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_THAT(without.err, HasSubstr("with " + label + ", which workers of ours do not offer"));
  EXPECT_EQ(tasks(), 0U);
  const Process scaler = start_scaler({"--worker-label", "os=linux", "--worker-label", label});
  ctl_out({"wait", job});
  EXPECT_EQ(count(results(job), "SOLVED"), 20U);
}

TEST_F(ScalerTest, TheBatchScriptTakesPathsFromTheJobsFolder) {
  file("home/worker", "#!/bin/sh\necho \"$PUZZLED_KEY $*\"\n");
  std::filesystem::permissions(path("home/worker"), std::filesystem::perms::owner_all);
  file("home/c.key", "");
  environment_["PUZZLED_WORKER_ENDPOINT"] = worker_endpoint_;
  environment_["PUZZLED_WORKER_PROGRAM"] = "./worker";
  environment_["PUZZLED_WORKER_LABELS"] = "gpu=a b\nos=linux";
  environment_["PUZZLED_SCRATCH"] = path("slurm");
  const auto run_in_home = [&](const std::string& key) {
    environment_["PUZZLED_KEY"] = key;
    Process script = start({"/bin/bash", "-c", "cd \"$1\"; exec bash \"$2\"", "_", path("home"),
                            PUZZLED_WORKER_SBATCH});
    return script.wait(std::chrono::minutes(5)).value_or(Ended{});
  };
  const Ended ended = run_in_home("c.key");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, StartsWith(path("home/c.key").string() + " --name "));
  EXPECT_THAT(ended.out, HasSubstr(" --label gpu=a b --label os=linux\n"));
  const Ended missing = run_in_home("d.key");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("the key 'd.key' is not on node"));
}

}  // namespace
}  // namespace puzzled::testing
