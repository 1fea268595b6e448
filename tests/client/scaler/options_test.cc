#include "client/scaler/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/client/support.h"

namespace puzzled::scaler {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Parsed {
  std::optional<int> exit_code;
  Options options;
  std::string error;
};

Parsed parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "puzzle-scaler");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  Parsed parsed;
  ::testing::internal::CaptureStderr();
  parsed.exit_code = parse_options(static_cast<int>(argv.size()), argv.data(), parsed.options);
  parsed.error = ::testing::internal::GetCapturedStderr();
  return parsed;
}

// What every call needs, and more.
Parsed parse_with(std::vector<std::string> more) {
  std::vector<std::string> arguments = {
      "--max", "8", "--worker-endpoint", "tcp://broker:7401", "--script", "/dev/null"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return parse(std::move(arguments));
}

TEST(ScalerOptions, Defaults) {
  const Parsed parsed = parse_with({});
  ASSERT_FALSE(parsed.exit_code) << parsed.error;
  EXPECT_EQ(parsed.options.scaler.min, 0U);
  EXPECT_EQ(parsed.options.scaler.max, 8U);
  EXPECT_EQ(parsed.options.interval_ms, 5'000);
  EXPECT_EQ(parsed.options.slot_work_ms, 10'000U);
  EXPECT_EQ(parsed.options.slurm.fleet, "puzzle-worker");
  EXPECT_FALSE(parsed.options.dry_run);
  EXPECT_FALSE(parsed.options.once);
}

TEST(ScalerOptions, AllOfThem) {
  const Parsed parsed = parse_with({"--min",
                                    "2",
                                    "--slots-per-worker",
                                    "4",
                                    "--slot-work",
                                    "30s",
                                    "--interval",
                                    "500ms",
                                    "--shrink-after",
                                    "2m",
                                    "--join-timeout",
                                    "3m",
                                    "--drain-timeout",
                                    "1h",
                                    "--backoff",
                                    "1s",
                                    "--backoff-max",
                                    "1m",
                                    "--failures-max",
                                    "3",
                                    "--pause",
                                    "10m",
                                    "--fleet",
                                    "night.1",
                                    "--sbatch-argument=--partition=long",
                                    "--sbatch-argument=--exclude=n[1-2]",
                                    "--engine-timeout",
                                    "9s",
                                    "--endpoint",
                                    "tcp://broker:7400",
                                    "--dry-run",
                                    "--once"});
  ASSERT_FALSE(parsed.exit_code) << parsed.error;
  const ScalerOptions& scaler = parsed.options.scaler;
  EXPECT_EQ(scaler.min, 2U);
  EXPECT_EQ(scaler.slots_per_worker, 4U);
  EXPECT_EQ(parsed.options.slurm.slots_per_worker, 4U);
  EXPECT_EQ(parsed.options.slot_work_ms, 30'000U);
  EXPECT_EQ(parsed.options.interval_ms, 500);
  EXPECT_EQ(scaler.shrink_after_ms, 120'000);
  EXPECT_EQ(scaler.join_timeout_ms, 180'000);
  EXPECT_EQ(scaler.drain_timeout_ms, 3'600'000);
  EXPECT_EQ(scaler.backoff_first_ms, 1'000);
  EXPECT_EQ(scaler.backoff_max_ms, 60'000);
  EXPECT_EQ(scaler.failures_max, 3U);
  EXPECT_EQ(scaler.pause_ms, 600'000);
  EXPECT_EQ(parsed.options.slurm.fleet, "night.1");
  EXPECT_THAT(parsed.options.slurm.sbatch_arguments,
              ElementsAre("--partition=long", "--exclude=n[1-2]"));
  EXPECT_EQ(parsed.options.slurm.timeout_ms, 9'000);
  EXPECT_THAT(parsed.options.connection.endpoints, ElementsAre("tcp://broker:7400"));
  EXPECT_TRUE(parsed.options.dry_run);
  EXPECT_TRUE(parsed.options.once);
}

TEST(ScalerOptions, TheHelp) {
  ::testing::internal::CaptureStdout();
  const Parsed parsed = parse({"--help"});
  const std::string help = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(parsed.exit_code, 0);
  client::expect_golden("scaler_help", help);
}

TEST(ScalerOptions, WorkersThatAreToStayDoNotEndForWantOfWork) {
  EXPECT_THAT(parse_with({}).options.slurm.environment, Contains("PUZZLED_IDLE_TIMEOUT=5m"));
  EXPECT_THAT(parse_with({"--min", "1"}).options.slurm.environment,
              Contains("PUZZLED_IDLE_TIMEOUT=0"));
  EXPECT_THAT(parse_with({"--min", "1", "--idle-timeout", "1h"}).options.slurm.environment,
              Contains("PUZZLED_IDLE_TIMEOUT=1h"));
}

TEST(ScalerOptions, OfTwoTheLastCounts) {
  EXPECT_EQ(parse_with({"--max", "3"}).options.scaler.max, 3U);
}

TEST(ScalerOptions, WrongOnesAreNamed) {
  const auto expect_error = [](const Parsed& parsed, const std::string& text) {
    EXPECT_EQ(parsed.exit_code, 2);
    EXPECT_THAT(parsed.error, HasSubstr(text));
  };
  expect_error(parse({}), "--max is required");
  expect_error(parse_with({"--min", "9"}), "--min 9 is more than --max 8");
  expect_error(parse_with({"--interval", "5"}), "no duration such as");
  expect_error(parse_with({"--interval", "0"}), "no duration such as");
  expect_error(parse_with({"--fleet", "a b"}), "--fleet 'a b'");
  expect_error(parse_with({"--fleet", "-a"}), "-a");
  expect_error(parse_with({"--endpoint", "broker"}), "--endpoint 'broker'");
  expect_error(parse_with({"--idle-timeout", "soon"}), "--idle-timeout 'soon'");
  expect_error(parse_with({"--worker-key", "/k"}), "--worker-key needs --server-key");
  expect_error(parse_with({"--worker-key", "cluster.key"}),
               "--worker-key 'cluster.key' is read on the nodes: give its whole path");
  expect_error(parse_with({"--worker-program", "./puzzle-worker"}),
               "--worker-program './puzzle-worker' is read on the nodes: give its whole path");
  expect_error(parse_with({"--worker-label", "gpu"}), "--worker-label 'gpu': expected KEY=VALUE");
  expect_error(parse_with({"--worker-label", "a=1", "--worker-label", "a=2"}),
               "'a' is given twice");
  expect_error(parse_with({"--key", "/nowhere/a.key"}), "--server-key");
  expect_error(parse({"--max", "8", "--worker-endpoint", "7401", "--script", "/dev/null"}),
               "--worker-endpoint '7401'");
  expect_error(parse({"--max", "8", "--worker-endpoint", "tcp://b:1", "--script", "/nowhere"}),
               "'/nowhere' cannot be read");
  expect_error(parse({"--max", "0", "--worker-endpoint", "tcp://b:1"}), "--max");
}

// The scaler's own key is a client's; a job that inherited it would be refused, or could read.
TEST(ScalerOptions, JobsGetWhatWorkersNeedAndNothingOfOurs) {
  ::setenv("PUZZLED_KEY", "", 1);
  ::setenv("PUZZLED_ENDPOINT", "tcp://broker:7400", 1);
  const Parsed parsed = parse_with({"--idle-timeout", "90s", "--worker-program", "/opt/worker"});
  ::unsetenv("PUZZLED_KEY");
  ::unsetenv("PUZZLED_ENDPOINT");
  ASSERT_FALSE(parsed.exit_code) << parsed.error;
  EXPECT_THAT(parsed.options.connection.endpoints, ElementsAre("tcp://broker:7400"));
  EXPECT_THAT(
      parsed.options.slurm.environment,
      AllOf(Contains("PUZZLED_WORKER_ENDPOINT=tcp://broker:7401"),
            Contains("PUZZLED_IDLE_TIMEOUT=90s"), Contains("PUZZLED_WORKER_PROGRAM=/opt/worker"),
            Not(Contains(HasSubstr("PUZZLED_ENDPOINT"))), Not(Contains(HasSubstr("PUZZLED_KEY"))),
            Contains(HasSubstr("PATH="))));
}

TEST(ScalerOptions, JobsGetTheLabelsOfTheirNodesALineEach) {
  const Parsed parsed = parse_with({"--worker-label", "os=linux", "--worker-label",
                                    "gpu=NVIDIA A100, 80 GB", "--worker-program", "worker"});
  ASSERT_FALSE(parsed.exit_code) << parsed.error;
  EXPECT_THAT(parsed.options.slurm.environment,
              AllOf(Contains("PUZZLED_WORKER_LABELS=gpu=NVIDIA A100, 80 GB\nos=linux"),
                    Contains("PUZZLED_WORKER_PROGRAM=worker")));
  EXPECT_EQ(parsed.options.worker_labels, (Labels{{"gpu", "NVIDIA A100, 80 GB"}, {"os", "linux"}}));
}

TEST(ScalerOptions, JobsGetWhatOnlyTheyRead) {
  std::vector<std::string> own = {"PUZZLED_SCRATCH=/local", "PUZZLED_GIVE_UP_AFTER=1h",
                                  "PUZZLED_SCRATCHY=1", "PUZZLED_WORKER_LABELS=a=b", "HOME=/h"};
  std::vector<char*> entries;
  for (std::string& entry : own) entries.push_back(entry.data());
  entries.push_back(nullptr);
  EXPECT_THAT(job_environment(entries.data(), {"PUZZLED_IDLE_TIMEOUT=5m"}),
              ElementsAre("PUZZLED_SCRATCH=/local", "PUZZLED_GIVE_UP_AFTER=1h", "HOME=/h",
                          "PUZZLED_IDLE_TIMEOUT=5m"));
}

}  // namespace
}  // namespace puzzled::scaler
