// The commands that only ask, in all output formats.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "client/commands.h"
#include "client/failure.h"
#include "tests/client/fake_broker.h"
#include "tests/client/support.h"

namespace puzzled::client {
namespace {

TEST(CommandLine, NamesWhatItTakesToReachTheDaemonAgain) {
  std::ostringstream out;
  std::ostringstream err;
  Console console(out, err, {});
  GlobalOptions global;
  const Context context{console, global};
  EXPECT_EQ(command_line(context, "jobs"), "puzzlectl jobs");
  global.endpoint = "tcp://a:1";
  global.key_file = "a.key";
  global.server_key = "b.pub";
  EXPECT_EQ(command_line(context, "jobs"),
            "puzzlectl --endpoint tcp://a:1 --key a.key --server-key b.pub jobs");
}

class Commands : public testing::Test {
 protected:
  void prepare(FakeBroker& broker) {
    endpoint_ = broker.endpoint();
    const TemporaryFolder folder;
    folder.file("a.in", "3 2\n4 4\n1 1\n2 9\n0 0\n");
    folder.file("a.ans", "26\n261\nx\n");
    folder.file("big, \"quoted\".in", "30 20\n0 0\n");
    EXPECT_EQ(run_puzzlectl({"--endpoint", endpoint_, "-q", "submit", "bishops", "--keep-going",
                             folder.path(), "--name", "evil\x1b[2Jname"})
                  .exit_code,
              kExitInvalid);
  }
  Outcome run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--endpoint", endpoint_});
    Outcome outcome = run_puzzlectl(arguments);
    outcome.out = replaced(outcome.out, endpoint_, "ENDPOINT");
    if (arguments[2] == "version" || arguments[2] == "status")
      outcome.out = replaced(outcome.out, PUZZLED_VERSION, "VERSION");
    return outcome;
  }
  void expect_all_formats(const std::string& name, const std::vector<std::string>& command) {
    std::string text;
    for (const char* format : {"table", "csv", "json", "jsonl"}) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--output", format});
      const Outcome outcome = run(arguments);
      EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
      text += "--output " + std::string(format) + "\n" + outcome.out + "\n";
    }
    expect_golden(name, text);
  }
  std::string endpoint_;
};

TEST_F(Commands, InAllFormats) {
  FakeBroker broker({.page_rows = 2});
  prepare(broker);
  expect_all_formats("jobs", {"jobs"});
  expect_all_formats("status", {"status", "17"});
  expect_all_formats("daemon_status", {"status"});
  expect_all_formats("results", {"results", "17"});
  expect_all_formats("show", {"show", "17", "2"});
  expect_all_formats("workers", {"workers"});
  expect_all_formats("workers_remove", {"workers", "remove", "alpha"});
  expect_all_formats("version", {"version"});
}

TEST_F(Commands, ResultsAreFilteredAndPaged) {
  FakeBroker broker({.page_rows = 1});
  prepare(broker);
  const auto cases = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"results", "17", "--output", "csv"});
    const std::string text = run(more).out;
    std::string numbers;
    for (std::size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1)) {
      numbers += text.substr(at + 1, text.find(',', at) - at - 1) + " ";
    }
    return numbers;
  };
  EXPECT_EQ(cases({}), "1 2 3 4 5 ");
  EXPECT_EQ(cases({"--verdict", "wa,PE"}), "2 3 ");
  EXPECT_EQ(cases({"--verdict", "wa", "--verdict", "invalid_instance"}), "2 4 ");
  EXPECT_EQ(cases({"--label", "a#[12]"}), "1 2 ");
  EXPECT_EQ(cases({"--limit", "2"}), "1 2 ");
  EXPECT_EQ(cases({"--limit", "2", "--after", "2"}), "3 4 ");
  EXPECT_EQ(cases({"--limit", "0"}), "1 2 3 4 5 ");
  EXPECT_EQ(cases({"--after", "5"}), "");
}

TEST_F(Commands, EmptyPagesAreNotTheEnd) {
  FakeBroker broker({.empty_pages = 2});
  prepare(broker);
  const Outcome outcome = run({"results", "17", "--output", "jsonl"});
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 3);  // the fake skips two rows.
}

TEST_F(Commands, AnAnswerThatWasLeftOutIsNotShownAsAnEmptyOne) {
  FakeBroker broker;
  broker.stop();
  broker.spoil = [](proto::ResultRow& row) {
    row.set_answer_left_out(row.has_answer());
    row.clear_answer();
  };
  broker.start();
  prepare(broker);
  EXPECT_NE(run({"results", "17", "--limit", "1"}).out.find("(left out: too long)"),
            std::string::npos);
  EXPECT_NE(run({"results", "17", "--limit", "1", "--output", "jsonl"}).out.find("\"answer\":null"),
            std::string::npos);
}

TEST_F(Commands, ShowOfCasesWithoutInstanceOrAnswer) {
  FakeBroker broker;
  prepare(broker);
  expect_golden("show_unreadable", run({"show", "17", "3"}).out);
  expect_golden("show_invalid", run({"show", "17", "4"}).out);
}

TEST_F(Commands, HostileTextNeverReachesTheTerminal) {
  FakeBroker broker;
  broker.stop();
  broker.spoil = [](proto::ResultRow& row) {
    row.set_label("\x1b]0;title\x07\xff");
    row.set_worker("w\r\n");
    row.set_message("m\x1b[2J\xc2\x9b");
  };
  broker.start();
  prepare(broker);
  for (const std::vector<std::string>& command : {std::vector<std::string>{"results", "17"},
                                                  {"show", "17", "1"},
                                                  {"status", "17"},
                                                  {"jobs"},
                                                  {"workers"},
                                                  {"wait", "17"}}) {
    const std::string text = run(command).out;
    for (const char bad : {'\x1b', '\x07', '\r', '\xff'}) {
      EXPECT_EQ(text.find(bad), std::string::npos) << command[0];
    }
    EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos) << command[0];
  }
}

TEST_F(Commands, UnknownJobsAndCasesAreExitCode4) {
  FakeBroker broker;
  prepare(broker);
  for (const std::vector<std::string>& command : {std::vector<std::string>{"status", "99"},
                                                  {"results", "99"},
                                                  {"show", "99", "1"},
                                                  {"show", "17", "99"},
                                                  {"cancel", "99"},
                                                  {"wait", "99"},
                                                  {"export", "99", "/tmp"}}) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.exit_code, kExitRefused) << command[0];
    EXPECT_TRUE(outcome.err.starts_with("puzzlectl: error: ")) << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
}

TEST_F(Commands, WhatWasDoneToWorkersIsSaid) {
  FakeBroker broker;
  prepare(broker);
  const Outcome done = run_puzzlectl({"--endpoint", endpoint_, "workers", "remove", "alpha"});
  EXPECT_EQ(done.exit_code, kExitOk);
  EXPECT_NE(done.err.find("1 worker removed, 1500 as before; the first 1 are listed"),
            std::string::npos)
      << done.err;
  const Outcome unknown = run({"workers", "drain", "alpha", "alpha[31m"});
  EXPECT_EQ(unknown.exit_code, kExitRefused);
  EXPECT_NE(unknown.err.find("no worker is called \"alpha[31m\"; nothing was done"),
            std::string::npos);
  EXPECT_NE(unknown.err.find("did you mean \"alpha\\x1b[31m\"?"), std::string::npos) << unknown.err;
}

TEST_F(Commands, ResultsOfSeveralSolverVersionsShowWhich) {
  FakeBroker broker;
  broker.stop();
  broker.spoil_reply = [](proto::ClientReply& reply) {
    if (!reply.has_job_status()) return;
    for (const char* version : {"1", "2"}) {
      proto::VersionCount& entry = *reply.mutable_job_status()->add_versions();
      entry.set_version(version);
      entry.set_count(3);
    }
    proto::JobSpec& spec = *reply.mutable_job_status()->mutable_spec();
    proto::Label& label = *spec.add_require();
    label.set_key("gpu");
    label.set_value("a100");
    spec.set_solver_version("2");
  };
  broker.start();
  prepare(broker);
  EXPECT_NE(run({"results", "17"}).out.find("SOLVER"), std::string::npos);
  const std::string status = run({"status", "17"}).out;
  for (const char* part : {"3 staircase/1, 3 staircase/2", "gpu=a100", "only version"}) {
    EXPECT_NE(status.find(part), std::string::npos) << status;
  }
}

TEST_F(Commands, NoDaemonIsExitCode3) {
  const TemporaryFolder folder;
  endpoint_ = "ipc://" + folder.path() + "/nobody.sock";
  for (const std::vector<std::string>& command : {std::vector<std::string>{"status", "1"},
                                                  {"jobs"},
                                                  {"workers"},
                                                  {"version"},
                                                  {"wait", "1"},
                                                  {"doctor"},
                                                  {"backup", "copy.db"},
                                                  {"cancel", "1"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--connect-timeout", "20ms"});
    EXPECT_EQ(run(arguments).exit_code, kExitUnreachable) << command[0];
  }
}

TEST_F(Commands, JobsAreListedPageByPage) {
  FakeBroker broker;
  prepare(broker);
  const TemporaryFolder folder;
  const std::string file = folder.file("b.in", "0 0\n");
  for (int i = 0; i < 3; ++i) {
    run_puzzlectl({"--endpoint", endpoint_, "-q", "submit", "bishops", file});
  }
  const auto count = [&](const std::string& limit) {
    return std::ranges::count(run({"jobs", "--limit", limit, "--output", "jsonl"}).out, '\n');
  };
  EXPECT_EQ(count("0"), 4);
  EXPECT_EQ(count("3"), 3);
  EXPECT_EQ(count("100"), 4);
}

}  // namespace
}  // namespace puzzled::client
