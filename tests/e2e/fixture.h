// A test with real programs: its own folder, endpoint, database and home; nothing is shared with
// the machine's own daemon.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace puzzled::testing {

using Arguments = std::vector<std::string>;
using Json = nlohmann::json;

// Where the programs and the handed cases are.
inline const std::filesystem::path kPuzzled = PUZZLED_PROGRAM;
inline const std::filesystem::path kWorker = PUZZLED_WORKER_PROGRAM;
inline const std::filesystem::path kCtl = PUZZLED_CTL_PROGRAM;
// The same programs with a registry that adds solvers which misbehave.
inline const std::filesystem::path kTestWorker = PUZZLED_TEST_WORKER_PROGRAM;
inline const std::filesystem::path kTestCtl = PUZZLED_TEST_CTL_PROGRAM;
inline const std::filesystem::path kCases = PUZZLED_CASES;

inline const Arguments kPuzzleNames = {"bishops", "chinese-checkers", "draughts", "duel",
                                       "shuttle"};

class EndToEnd : public ::testing::Test {
 protected:
  EndToEnd();
  // Prints what the daemons wrote if the test failed.
  ~EndToEnd() override;

  // Starts a program in this test's environment.
  Process start(const Arguments& command, const std::string& input = "");
  // A daemon on this test's endpoint and database, and waits until it answers.
  Process start_daemon(const Arguments& more = {"--workers", "2"});
  // A worker of the test registry for a daemon that was started with `--workers 0`.
  Process start_test_worker(const Arguments& more = {"--slots", "2"});

  // Runs puzzlectl to its end.
  Ended ctl(const Arguments& arguments, const std::string& input = "");
  Ended test_ctl(const Arguments& arguments, const std::string& input = "");
  // The standard output of a command that must end with `exit_code`.
  std::string ctl_out(const Arguments& arguments, int exit_code = 0);
  // `submit` with these arguments, which must succeed: the job's id.
  std::string submit(const Arguments& arguments, const std::string& input = "");
  Json status(const std::string& job);
  std::vector<Json> results(const std::string& job, const Arguments& more = {});
  // How many results have this verdict (its long name).
  std::size_t count(const std::vector<Json>& rows, const std::string& verdict);

  [[nodiscard]] std::filesystem::path path(const std::string& name) const {
    return folder_.path() / name;
  }
  // Writes a file below the test's folder; its path.
  std::string file(const std::string& name, const std::string& text);

  TemporaryFolder folder_;
  std::map<std::string, std::string> environment_;
  std::string endpoint_;
  std::string worker_endpoint_;
  std::string database_;
  // What daemons and workers are started with, such as {"ip", "netns", "exec", NAME}.
  Arguments daemon_prefix_;
  Arguments worker_prefix_;
};

// Bishops files in which every case is quick: `cases` lines, the end mark.
std::string bishops_file(std::size_t cases);

}  // namespace puzzled::testing
