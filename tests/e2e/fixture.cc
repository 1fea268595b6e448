#include "tests/e2e/fixture.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>

namespace puzzled::testing {
namespace {

// Far longer than anything takes; only a hang gets there.
constexpr Duration kHang = std::chrono::seconds(120);

}  // namespace

EndToEnd::EndToEnd()
    : endpoint_("ipc://" + path("client.sock").string()),
      worker_endpoint_("ipc://" + path("worker.sock").string()),
      database_(path("store/puzzled.db").string()) {
  environment_ = {{"PATH", "/usr/bin:/bin"},
                  {"HOME", path("home").string()},
                  {"LANG", "C.UTF-8"},
                  {"PUZZLED_ENDPOINT", endpoint_}};
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) environment_[name] = value;
  }
  std::filesystem::create_directories(path("home"));
}

EndToEnd::~EndToEnd() {
  if (!HasFailure()) return;
  for (const auto& entry : std::filesystem::directory_iterator(path("output"))) {
    const std::string text = read_file(entry.path());
    if (entry.path().extension() != ".err" || text.empty()) continue;
    std::cout << "---- " << entry.path().filename() << "\n"
              << (text.size() > 4000 ? text.substr(text.size() - 4000) : text);
  }
}

Process EndToEnd::start(const Arguments& command, const std::string& input) {
  return {command, {environment_, path("output"), input, folder_.path()}};
}

Process EndToEnd::start_daemon(const Arguments& more) {
  Arguments command = daemon_prefix_;
  command.insert(command.end(), {kPuzzled, "--endpoint", endpoint_, "--database", database_});
  command.insert(command.end(), more.begin(), more.end());
  Process daemon = start(command);
  EXPECT_EQ(ctl({"--connect-timeout", "60s", "workers"}).exit_code, 0);
  EXPECT_TRUE(daemon.running());
  return daemon;
}

Process EndToEnd::start_test_worker(const Arguments& more) {
  Arguments command = worker_prefix_;
  command.insert(command.end(), {kTestWorker, "--endpoint", worker_endpoint_});
  command.insert(command.end(), more.begin(), more.end());
  return start(command);
}

Ended EndToEnd::ctl(const Arguments& arguments, const std::string& input) {
  Arguments command = {kCtl};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto ended = start(command, input).wait(kHang);
  if (!ended) throw std::runtime_error("puzzlectl hangs: " + ::testing::PrintToString(arguments));
  return *ended;
}

Ended EndToEnd::test_ctl(const Arguments& arguments, const std::string& input) {
  Arguments command = {kTestCtl};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto ended = start(command, input).wait(kHang);
  if (!ended) throw std::runtime_error("puzzlectl hangs: " + ::testing::PrintToString(arguments));
  return *ended;
}

std::string EndToEnd::ctl_out(const Arguments& arguments, int exit_code) {
  const Ended ended = ctl(arguments);
  EXPECT_EQ(ended.exit_code, exit_code) << ::testing::PrintToString(arguments) << ended.err;
  return ended.out;
}

std::string EndToEnd::submit(const Arguments& arguments, const std::string& input) {
  Arguments command = {"submit"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const Ended ended = test_ctl(command, input);
  EXPECT_EQ(ended.exit_code, 0) << ::testing::PrintToString(command) << ended.err;
  const std::size_t digits = std::min(ended.out.find_first_not_of("0123456789"), ended.out.size());
  EXPECT_TRUE(digits > 0 && ended.out.substr(digits) == "\n")
      << "not the job id alone on standard output: " << ended.out;
  return ended.out.substr(0, digits);
}

Json EndToEnd::status(const std::string& job) {
  return Json::parse(ctl_out({"status", job, "--output", "json"}));
}

std::vector<Json> EndToEnd::results(const std::string& job, const Arguments& more) {
  Arguments command = {"results", job, "--output", "jsonl"};
  command.insert(command.end(), more.begin(), more.end());
  std::istringstream lines(ctl_out(command));
  std::vector<Json> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(Json::parse(line));
  return rows;
}

std::size_t EndToEnd::count(const std::vector<Json>& rows, const std::string& verdict) {
  return static_cast<std::size_t>(
      std::ranges::count_if(rows, [&](const Json& row) { return row.at("verdict") == verdict; }));
}

std::string EndToEnd::file(const std::string& name, const std::string& text) {
  write_file(path(name), text);
  return path(name);
}

std::string bishops_file(std::size_t cases) {
  std::string text;
  for (std::size_t i = 0; i < cases; ++i) {
    text += std::to_string(2 + i % 7) + " " + std::to_string(i % 3) + "\n";
  }
  return text + "0 0\n";
}

}  // namespace puzzled::testing
