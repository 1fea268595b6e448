// Workers that differ, and an operator who changes them while jobs run.
#include <gmock/gmock.h>
#include <signal.h>

#include <list>

#include "tests/e2e/faults.h"
#include "tests/support/test_registry.h"

namespace puzzled::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr Duration kLong = seconds(120);

class FleetTest : public FaultsTest {
 protected:
  Process start_worker(const std::string& name, const std::string& version,
                       const Arguments& more = {}) {
    environment_[kVersionVariable] = version;
    Arguments arguments = {"--name", name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return start_test_worker(arguments);
  }
  // What the daemon says of a worker; "" if it is not there.
  std::string state_of(const std::string& name) {
    for (const Json& worker : workers()) {
      if (worker.at("worker") == name) return worker.at("state");
    }
    return "";
  }
  bool becomes(const std::string& name, const std::string& state) {
    return eventually([&] { return state_of(name) == state; }, kLong);
  }
  std::string waiting_for(const std::string& job) {
    const Json job_status = status(job);
    return job_status.at("waiting_for").is_null() ? "" : job_status.at("waiting_for");
  }
};

// ---- The operator.

TEST_F(FleetTest, DrainResumeAndRemove) {
  Process daemon = start_daemon(kPatient);
  Process first = start_worker("node1-a", "1");
  Process second = start_worker("node2-a", "1");
  ASSERT_TRUE(workers_become(2));
  EXPECT_EQ(state_of("node1-a"), "working");

  const Ended drained = ctl({"workers", "drain", "node*", "--output", "jsonl"});
  EXPECT_EQ(drained.exit_code, 0) << drained.err;
  EXPECT_THAT(drained.err, HasSubstr("2 workers drained"));
  EXPECT_THAT(drained.out, HasSubstr("\"worker\":\"node1-a\""));
  EXPECT_TRUE(becomes("node1-a", "drained"));
  EXPECT_TRUE(becomes("node2-a", "drained"));
  EXPECT_THAT(ctl({"workers", "drain", "node1-a"}).err,
              HasSubstr("0 workers drained, 1 as before"));

  const std::string input = bishops_file(200);
  const std::string job = submit({"bishops", file("a.in", input)});
  EXPECT_TRUE(
      eventually([&] { return waiting_for(job).find("is drained") != std::string::npos; }, kLong));
  EXPECT_EQ(ctl({"workers", "resume", "node2-a"}).exit_code, 0);
  EXPECT_EQ(ctl({"wait", job, "--timeout", "100s"}).exit_code, 0);
  expect_right(job, input);
  for (const Json& row : results(job)) EXPECT_EQ(row.at("worker"), "node2-a");

  EXPECT_EQ(ctl({"workers", "remove", "--all"}).exit_code, 0);
  for (Process* worker : {&first, &second}) {
    const auto ended = worker->wait(kLong);
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->exit_code, 0) << ended->err;
  }
  EXPECT_TRUE(workers_become(0));
}

TEST_F(FleetTest, ADrainHoldsUntilTheDaemonEnds) {
  Process daemon = start_daemon(kPatient);
  {
    Process worker = start_worker("node1", "1");
    ASSERT_TRUE(workers_become(1));
    EXPECT_EQ(ctl({"workers", "drain", "node1"}).exit_code, 0);
    kill_and_wait(worker, SIGTERM);
  }
  ASSERT_TRUE(workers_become(0));
  Process again = start_worker("node1", "1");
  EXPECT_TRUE(becomes("node1", "drained")) << "another process of that name";
  kill_and_wait(daemon);
  Process next = start_daemon(kPatient);
  EXPECT_TRUE(becomes("node1", "working"));
}

TEST_F(FleetTest, UnknownNamesAreRefusedWithWhatWasMeant) {
  Process daemon = start_daemon(kPatient);
  Process worker = start_worker("node17", "1");
  ASSERT_TRUE(workers_become(1));
  const Ended unknown = ctl({"workers", "drain", "node17", "node71"});
  EXPECT_EQ(unknown.exit_code, 4);
  EXPECT_THAT(unknown.err, HasSubstr("no worker is called \"node71\"; nothing was done"));
  EXPECT_THAT(unknown.err, HasSubstr("did you mean \"node17\"?"));
  EXPECT_EQ(state_of("node17"), "working");
  for (const Arguments& wrong :
       {Arguments{"workers", "drain"}, Arguments{"workers", "drain", "a", "--all"},
        Arguments{"workers", "--all"}, Arguments{"workers", "stop", "a"}}) {
    EXPECT_EQ(ctl(wrong).exit_code, 2) << ::testing::PrintToString(wrong);
  }
}

// ---- Upgrades.

TEST_F(FleetTest, ARollingUpgradeLosesAndChargesNoCase) {
  Process daemon = start_daemon(kPatient);
  std::list<Process> old_workers;
  for (const char* name : {"old1", "old2", "old3"}) {
    old_workers.push_back(start_worker(name, "A", {"--slots", "1"}));
  }
  ASSERT_TRUE(workers_become(3));
  // Half a minute for the old workers; the new ones have more slots and finish it soon.
  const std::string input = bishops_file(20'000);
  const std::string job =
      submit({"bishops", file("a.in", input), "--solver", "slow", "--no-cache"});
  ASSERT_TRUE(done_becomes(job, 100));
  std::list<Process> new_workers;
  int number = 0;
  for (Process& old_worker : old_workers) {
    ++number;
    new_workers.push_back(start_worker("new" + std::to_string(number), "B", {"--slots", "8"}));
    ASSERT_TRUE(becomes("new" + std::to_string(number), "working"));
    const Ended removed = ctl({"workers", "remove", "old" + std::to_string(number)});
    ASSERT_EQ(removed.exit_code, 0) << removed.err;
    const auto ended = old_worker.wait(kLong);
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->exit_code, 0) << ended->err;
  }
  EXPECT_EQ(ctl({"wait", job, "--timeout", "300s"}).exit_code, 0);
  expect_right(job, input);
  expect_no_charges();

  const Json versions = status(job).at("versions");
  ASSERT_TRUE(versions.contains("A") && versions.contains("B")) << versions.dump();
  EXPECT_EQ(versions.at("A").get<int>() + versions.at("B").get<int>(), 20'000);
  EXPECT_THAT(ctl_out({"status", job}), HasSubstr("slow/A"));
  EXPECT_THAT(ctl_out({"results", job, "--limit", "3"}), HasSubstr("SOLVER"));
  kill_and_wait(daemon);
  check_ledger();
}

TEST_F(FleetTest, AJobPinsASolverVersionOrTakesAny) {
  Process daemon = start_daemon(kPatient);
  Process old_worker = start_worker("old", "A");
  ASSERT_TRUE(workers_become(1));
  const std::string input = bishops_file(50);
  const std::string pinned = submit({"bishops", file("a.in", input), "--solver", "busy@B"});
  const std::string any =
      submit({"bishops", file("b.in", input), "--solver", "busy", "--no-cache"});
  EXPECT_EQ(ctl({"wait", any, "--timeout", "100s"}).exit_code, 0);
  EXPECT_EQ(waiting_for(pinned), "no connected worker has busy@B; there are busy@A");
  Process new_worker = start_worker("new", "B");
  EXPECT_EQ(ctl({"wait", pinned, "--timeout", "100s"}).exit_code, 0);
  for (const Json& row : results(pinned)) EXPECT_EQ(row.at("solver"), "busy/B");
  for (const Json& row : results(any)) EXPECT_EQ(row.at("solver"), "busy/A");
  EXPECT_EQ(status(pinned).at("solver_version"), "B");
}

// ---- Labels.

TEST_F(FleetTest, AJobWaitsForAWorkerThatMeetsWhatItRequires) {
  Process daemon = start_daemon(kPatient);
  Process near = start_worker("near", "1", {"--label", "gpu=a100"});
  ASSERT_TRUE(workers_become(1));
  const std::string input = bishops_file(50);
  const std::string job =
      submit({"bishops", file("a.in", input), "--require", "zone=west", "--require", "gpu=a100"});
  const std::string missing = "no connected worker has gpu=a100, zone=west";
  EXPECT_TRUE(eventually([&] { return waiting_for(job) == missing; }, kLong));
  {
    const Process waiting = start({kCtl, "wait", job});
    const std::string told = "waiting: " + missing;
    EXPECT_TRUE(eventually([&] { return waiting.err().find(told) != std::string::npos; }, kLong));
  }
  EXPECT_THAT(ctl({"doctor"}).out, HasSubstr(missing));

  // What a job requires is as durable as its cases.
  kill_and_wait(daemon);
  Process next = start_daemon(kPatient);
  ASSERT_TRUE(workers_become(1));
  EXPECT_TRUE(eventually([&] { return waiting_for(job) == missing; }, kLong));
  Process fit = start_worker("fit", "1", {"--label", "zone=west", "--label", "gpu=a100"});
  EXPECT_EQ(ctl({"wait", job, "--timeout", "100s"}).exit_code, 0);
  for (const Json& row : results(job)) EXPECT_EQ(row.at("worker"), "fit");
  EXPECT_EQ(status(job).at("require"), Json({{"gpu", "a100"}, {"zone", "west"}}));
  EXPECT_THAT(ctl_out({"status", job}), HasSubstr("gpu=a100, zone=west"));
  EXPECT_THAT(ctl_out({"workers"}), HasSubstr("gpu=a100, zone=west"));
}

TEST_F(FleetTest, LabelsThatCannotBeAreRefusedWhereTheyAreGiven) {
  const std::string input = file("a.in", bishops_file(3));
  const Ended submitted = ctl({"submit", "bishops", input, "--require", "GPU=1"});
  EXPECT_EQ(submitted.exit_code, 2);
  EXPECT_THAT(submitted.err, HasSubstr("--require 'GPU': expected a key of a-z"));
  EXPECT_EQ(ctl({"submit", "bishops", input, "--solver", "staircase@"}).exit_code, 2);
  Process worker = start_worker("w", "1", {"--label", "gpu"});
  const auto ended = worker.wait(kLong);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 2);
  EXPECT_THAT(ended->err, HasSubstr("--label 'gpu': expected KEY=VALUE"));
}

}  // namespace
}  // namespace puzzled::testing
