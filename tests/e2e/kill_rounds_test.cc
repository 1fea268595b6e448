// Daemon, workers, solver processes and clients are killed at random under load. After each round
// everything that died is started again; the store must add up whenever the daemon is down, and in
// the end every result is there once and right.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <thread>

#include "tests/e2e/faults.h"

namespace puzzled::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kWorkers = 2;          // that the test starts, beside the daemon's own one
constexpr std::size_t kSideCases = 3'000;    // at least, of each job that comes in meanwhile
constexpr std::size_t kLongUpload = 20'000;  // of those that are cut off
// Between two deaths of solver processes under one worker it must have got on with so many cases:
// a case whose process dies twice in a row is CRASHED, and rightly so.
constexpr std::uint64_t kCasesBetween = 200;

bool is_long() { return std::getenv("PUZZLED_LONG") != nullptr; }

struct Plan {
  int rounds;
  std::size_t cases;
};

class KillRoundsTest : public FaultsTest {
 protected:
  struct Side {  // a job that comes in while others are graded
    std::string name;
    std::string input;
    std::string file;
    std::unique_ptr<Process> client;  // null: dead, to be resumed
  };

  [[nodiscard]] std::size_t random(std::size_t below) { return random_() % below; }
  // The moment of a death is drawn, too. This waits for nothing.
  void let_time_pass(int ms_max) {
    std::this_thread::sleep_for(milliseconds(random(static_cast<std::size_t>(ms_max) + 1)));
  }

  void start_all() {
    if (!daemon_) {
      // Random deaths hit the same case now and then; that is not what is tested here.
      daemon_.emplace(start_daemon({"--workers", "1", "--worker-program", kTestWorker,
                                    "--heartbeat-interval", "100ms", "--liveness", "1s",
                                    "--attempts-max", "100", "--restart-delay-max", "200ms"}));
    }
    while (workers_.size() < kWorkers) {
      workers_.push_back(
          std::make_unique<Process>(start_test_worker({"--slots", "1", "--name", "apart"})));
    }
    if (!waiting_) waiting_.emplace(start({kCtl, "--connect-timeout", "60s", "wait", "1"}));
  }

  void kill_daemon() {
    const std::vector<pid_t> family = children_of(daemon_->pid());
    kill_and_wait(*daemon_);
    ++deaths_["daemon"];
    check_ledger();
    daemon_.reset();
    for (const pid_t pid : family) {
      EXPECT_TRUE(eventually([&] { return !is_alive(pid); })) << "left behind: " << pid;
    }
  }

  void kill_worker() {
    const std::size_t at = random(workers_.size());
    const std::vector<pid_t> solvers = children_of(workers_[at]->pid());
    kill_and_wait(*workers_[at]);
    ++deaths_["worker"];
    for (const pid_t pid : solvers) {
      EXPECT_TRUE(eventually([&] { return !is_alive(pid); })) << "left behind: " << pid;
    }
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void kill_solver() {
    const std::size_t at = random(workers_.size());
    const pid_t worker = workers_[at]->pid();
    for (const Json& row : workers()) {
      if (row.at("pid") != worker) continue;
      const auto cases = row.at("cases_done").get<std::uint64_t>();
      std::uint64_t& next = next_solver_death_[worker];
      if (next == 0) next = kCasesBetween;
      if (cases < next) return;
      next = cases + kCasesBetween;
      for (const pid_t pid : children_of(worker)) {
        ::kill(pid, SIGKILL);
        ++deaths_["solver"];
      }
    }
  }

  void kill_client() {
    if (random(2) == 0) {
      kill_and_wait(*waiting_);
      waiting_.reset();
      ++deaths_["waiting client"];
      return;
    }
    // In the middle of its upload: some time after its job has come into being.
    start_side(kLongUpload);
    Side& side = sides_.back();
    const std::string there = "SELECT count(*) FROM jobs WHERE name = '" + side.name + "'";
    ASSERT_TRUE(eventually([&] { return number_in_store(there) > 0 || !side.client->running(); }));
    let_time_pass(20);
    if (!side.client->running()) return;
    kill_and_wait(*side.client);
    side.client.reset();
    ++deaths_["uploading client"];
  }

  void start_side(std::size_t cases_min) {
    Side side;
    side.name = "side-" + std::to_string(sides_.size());
    side.input = bishops_file(cases_min + random(kSideCases));
    side.file = file(side.name + ".in", side.input);
    side.client = std::make_unique<Process>(start(
        {kCtl, "--connect-timeout", "60s", "submit", "bishops", side.file, "--name", side.name}));
    sides_.push_back(std::move(side));
  }

  // The job of this name, if its client came so far.
  std::optional<std::string> job_named(const std::string& name) {
    const Json jobs = Json::parse(
        ctl_out({"--connect-timeout", "60s", "jobs", "--limit", "0", "--output", "json"}));
    for (const Json& job : jobs) {
      if (job.at("name") == name) return std::to_string(job.at("job").get<std::uint64_t>());
    }
    return std::nullopt;
  }

  void resume_sides() {
    for (Side& side : sides_) {
      if (side.client) continue;
      Arguments command = {kCtl, "--connect-timeout", "60s", "submit", "bishops", side.file};
      if (const auto job = job_named(side.name)) {
        command.insert(command.end(), {"--resume", *job});
        ++resumed_;
      } else {
        command.insert(command.end(), {"--name", side.name});
      }
      side.client = std::make_unique<Process>(start(command));
    }
  }

  void round() {
    let_time_pass(300);
    switch (random(10)) {
      case 0:
      case 1:
      case 2:
        return kill_daemon();
      case 3:
      case 4:
        return kill_worker();
      case 5:
      case 6:
        return kill_solver();
      case 7:
        kill_worker();
        return kill_daemon();
      default:
        return kill_client();
    }
  }

  void expect_all_right(const std::string& main_input) {
    const auto waited = waiting_->wait(seconds(600));
    ASSERT_TRUE(waited.has_value()) << "the job does not end: " << status("1").dump();
    EXPECT_EQ(waited->exit_code, 0) << waited->err;
    expect_right("1", main_input);
    for (Side& side : sides_) {
      const auto ended = side.client->wait(seconds(120));
      ASSERT_TRUE(ended.has_value());
      EXPECT_EQ(ended->exit_code, 0) << ended->err;
      const auto job = job_named(side.name);
      ASSERT_TRUE(job.has_value()) << side.name;
      EXPECT_EQ(ctl({"--connect-timeout", "60s", "wait", *job}).exit_code, 0);
      expect_right(*job, side.input);
    }
    EXPECT_EQ(number_in_store("SELECT count(*) FROM jobs"), sides_.size() + 1);
  }

  std::mt19937_64 random_ = seeded_random();
  std::optional<Process> daemon_;
  std::vector<std::unique_ptr<Process>> workers_;
  std::optional<Process> waiting_;
  std::vector<Side> sides_;
  std::map<pid_t, std::uint64_t> next_solver_death_;
  std::map<std::string, int> deaths_;
  int resumed_ = 0;
};

TEST_F(KillRoundsTest, EveryResultIsThereOnceAndRight) {
  const Plan plan = is_long() ? Plan{300, 50'000} : Plan{8, 1'500};
  const std::string input = bishops_file(plan.cases);
  daemon_.emplace(start_daemon({"--workers", "0"}));
  ASSERT_EQ(submit({"bishops", file("main.in", input), "--solver", "slow", "--no-cache"}), "1");
  kill_and_wait(*daemon_);
  check_ledger();
  daemon_.reset();
  start_all();
  for (int i = 1; i <= plan.rounds && !HasFailure(); ++i) {
    SCOPED_TRACE("round " + std::to_string(i));
    if (i % 3 == 0) start_side(kSideCases);
    round();
    start_all();
    resume_sides();
  }
  for (const auto& [what, count] : deaths_) std::cout << count << " x " << what << ", ";
  std::cout << resumed_ << " uploads resumed, " << sides_.size() + 1 << " jobs\n";
  ASSERT_NO_FATAL_FAILURE(expect_all_right(input));
  kill_and_wait(*daemon_);
  check_ledger();
}

}  // namespace
}  // namespace puzzled::testing
