// What squeue --json writes, as it was written by 22.05 and as later versions do.
#include "client/scaler/slurm_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "client/scaler/slurm.h"
#include "tests/client/support.h"

namespace puzzled::scaler {
namespace {

using State = Allocation::State;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Allocation> jobs(const std::string& list, const std::string& errors = "") {
  auto parsed = parse_queue(
      R"({"meta": {}, "errors": [)" + errors + R"(], "jobs": [)" + list + "]}", "fleet", "alice");
  if (const auto* error = std::get_if<EngineError>(&parsed)) {
    ADD_FAILURE() << error->text;
    return {};
  }
  return std::get<std::vector<Allocation>>(std::move(parsed));
}

std::string error_of(std::string_view text) {
  const auto parsed = parse_queue(text, "fleet", "alice");
  const auto* error = std::get_if<EngineError>(&parsed);
  return error == nullptr ? "" : error->text;
}

// A job as 22.05 writes it; `members` come first.
std::string job(const std::string& members) {
  return "{" + members +
         R"(, "name": "fleet", "user_name": "alice", "array_job_id": 12, "submit_time": 100,
             "start_time": 200})";
}

State state_of(const std::string& members) {
  const auto found = jobs(job(members + R"(, "array_task_id": 1)"));
  return found.size() == 1 ? found[0].state : State::kEnded;
}

TEST(SlurmQueue, RunningTasks) {
  const auto found = jobs(job(R"("array_task_id": 3, "array_task_string": "", "job_state":
      "RUNNING", "state_reason": "None", "state_description": "")"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "12_3");
  EXPECT_EQ(found[0].state, State::kRunning);
  EXPECT_EQ(found[0].since_ms, 200'000);
  EXPECT_EQ(found[0].detail, "RUNNING");
}

TEST(SlurmQueue, WaitingTasksAreOneEntry) {
  const auto found = jobs(job(R"("array_task_id": null, "array_task_string": "5-6,9%4", "job_state":
      "PENDING", "state_reason": "Resources", "state_description": "")"));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].id, "12_5");
  EXPECT_EQ(found[2].id, "12_9");
  EXPECT_EQ(found[2].state, State::kPending);
  EXPECT_EQ(found[2].since_ms, 100'000);
  EXPECT_EQ(found[2].detail, "PENDING: Resources");
}

TEST(SlurmQueue, LaterVersionsWriteStatesAsListsAndNumbersAsObjects) {
  const auto found = jobs(R"({"name": "fleet", "user_name": "alice", "job_state": ["RUNNING"],
      "array_job_id": {"set": true, "infinite": false, "number": 12},
      "array_task_id": {"set": true, "infinite": false, "number": 0},
      "start_time": {"set": true, "number": 200}, "state_reason": "None"},
      {"name": "fleet", "user_name": "alice", "job_state": ["PENDING"],
      "array_job_id": {"set": true, "number": 12}, "array_task_id": {"set": false, "number": 0},
      "array_task_string": "1-2", "state_reason": "Priority"})");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].id, "12_0");
  EXPECT_EQ(found[0].since_ms, 200'000);
  EXPECT_EQ(found[2].id, "12_2");
  EXPECT_EQ(found[2].state, State::kPending);
}

TEST(SlurmQueue, OthersJobsAreNotOurs) {
  EXPECT_THAT(jobs(R"({"name": "fleet2", "user_name": "alice", "array_job_id": 1,
                       "array_task_id": 1, "job_state": "RUNNING"},
                      {"name": "fleet", "user_name": "bob", "array_job_id": 1,
                       "array_task_id": 1, "job_state": "RUNNING"},
                      {"name": "fleet", "user_name": "alice", "array_job_id": 0,
                       "job_state": "RUNNING"}, 7)"),
              IsEmpty());
}

TEST(SlurmQueue, States) {
  EXPECT_EQ(state_of(R"("job_state": "PENDING")"), State::kPending);
  EXPECT_EQ(state_of(R"("job_state": "CONFIGURING")"), State::kPending);
  EXPECT_EQ(state_of(R"("job_state": "SUSPENDED")"), State::kPending);
  EXPECT_EQ(state_of(R"("job_state": "COMPLETING")"), State::kEnding);
  EXPECT_EQ(state_of(R"("job_state": ["COMPLETING", "CANCELLED"])"), State::kEnding);
  for (const char* over : {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED",
                           "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"}) {
    EXPECT_EQ(state_of(std::string(R"("job_state": ")") + over + '"'), State::kEnded);
  }
  EXPECT_TRUE(jobs(job(R"("array_task_id": 1, "job_state": "COMPLETED")"))[0].ended_well);
  EXPECT_FALSE(jobs(job(R"("array_task_id": 1, "job_state": "FAILED")"))[0].ended_well);
}

TEST(SlurmQueue, HeldBySlurmAndHeldByItsOwner) {
  EXPECT_EQ(state_of(R"("job_state": "PENDING", "state_reason": "JobHeldAdmin")"), State::kHeld);
  EXPECT_EQ(state_of(R"("job_state": "PENDING", "state_reason": "JobHoldMaxRequeue")"),
            State::kHeld);
  EXPECT_EQ(state_of(R"("job_state": "PENDING", "state_reason": "JobHeldUser",
                        "state_description": "launch failed requeued held")"),
            State::kHeld);
  EXPECT_EQ(state_of(R"("job_state": "PENDING", "state_reason": "JobHeldUser",
                        "state_description": "job requeued in held state")"),
            State::kPending);
  EXPECT_EQ(state_of(R"("job_state": "RUNNING", "state_reason": "JobHeldAdmin")"), State::kRunning);
}

TEST(SlurmQueue, ErrorsAreErrorsWhateverTheExitCode) {
  EXPECT_THAT(error_of(R"({"errors": [{"description": "Failed while looking for jobs"}],
                          "jobs": []})"),
              HasSubstr("Failed while looking for jobs"));
  EXPECT_THAT(error_of("slurm_load_jobs error"), HasSubstr("no JSON"));
  EXPECT_THAT(error_of(""), HasSubstr("no JSON"));
  EXPECT_THAT(error_of("[]"), HasSubstr("no JSON"));
  EXPECT_THAT(error_of(R"({"errors": []})"), HasSubstr("no list of jobs"));
}

// Nothing may be decided by a list in which tasks are missing.
TEST(SlurmQueue, TasksThatCannotBeReadAreAnError) {
  const auto listed = [](const std::string& members) {
    return error_of(R"({"errors": [], "jobs": [)" + job(members) + "]}");
  };
  EXPECT_EQ(listed(R"("job_state": "PENDING", "array_task_id": null,
                      "array_task_string": "2,5,12,118-120,13...")"),
            "squeue: the tasks of array 12 cannot be read: '2,5,12,118-120,13...'");
  EXPECT_EQ(listed(R"("job_state": "PENDING")"),
            "squeue: the tasks of array 12 cannot be read: ''");
  EXPECT_EQ(listed(R"("job_state": "PENDING", "array_task_id": 3)"), "");
}

TEST(SlurmQueue, OddValuesAreAsIfTheyWereNotThere) {
  const auto found = jobs(R"({"name": "fleet", "user_name": "alice", "job_state": "RUNNING",
      "array_job_id": 12, "array_task_id": 1, "start_time": 9223372036854775807},
      {"name": "fleet", "user_name": "alice", "job_state": "RUNNING",
      "array_job_id": {"set": 1, "number": 12}, "array_task_id": 2, "start_time": -5},
      {"name": "fleet", "user_name": "alice", "job_state": "RUNNING",
      "array_job_id": 12, "array_task_id": 3, "start_time": -9223372036854775807})");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].since_ms, 0);
  EXPECT_EQ(found[1].id, "12_3");
  EXPECT_EQ(found[1].since_ms, 0);
}

TEST(SlurmQueue, TaskNumbers) {
  EXPECT_THAT(parse_task_numbers("7"), ElementsAre(7));
  EXPECT_THAT(parse_task_numbers("5-9%2"), ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(parse_task_numbers("0-8:4,11"), ElementsAre(0, 4, 8, 11));
  EXPECT_THAT(parse_task_numbers("4294967295"), ElementsAre(4294967295U));
  for (const char* bad : {"", "x", "1-", "1,", "1;2", "9-5", "1-4:0", "0-4294967295",
                          "1-2,0-999999", "99999999999", "2,5,12,118-120,13...", "2,5,..."}) {
    EXPECT_THAT(parse_task_numbers(bad), IsEmpty()) << bad;
  }
}

// By default Slurm shortens the list of waiting tasks; so it does if that was asked for.
TEST(Slurm, AsksForWholeListsOfTasks) {
  const client::TemporaryFolder folder;
  const std::string script =
      folder.file("squeue",
                  "#!/bin/sh\n"
                  "[ \"$(env | grep -c ^SLURM_BITSTR_LEN=)\" = 1 ] || exit 1\n"
                  "[ \"$SLURM_BITSTR_LEN\" = 0 ] || exit 1\n"
                  "echo '{\"errors\": [], \"jobs\": []}'\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const std::string path = std::string(::getenv("PATH"));
  ::setenv("PATH", (folder.path() + ":" + path).c_str(), 1);
  SlurmOptions options;
  options.environment = {"SLURM_BITSTR_LEN=64", "PATH=/usr/bin:/bin"};
  const auto listed = Slurm(options).list();
  ::setenv("PATH", path.c_str(), 1);
  const auto* error = std::get_if<EngineError>(&listed);
  EXPECT_EQ(error, nullptr) << error->text;
}

TEST(Slurm, NamesOfWorkersTellTheirTask) {
  SlurmOptions options;
  options.fleet = "night-shift";
  const Slurm slurm(options);
  EXPECT_EQ(slurm.allocation_of("night-shift-12_3"), "12_3");
  for (const char* other :
       {"night-shift", "night-shift-", "night-shift-12", "night-shift-12_", "night-shift-_3",
        "night-shift-1x_3", "night-12_3", "night-shift12_3", "night-shift-x-12_3", "vm-77"}) {
    EXPECT_EQ(slurm.allocation_of(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace puzzled::scaler
