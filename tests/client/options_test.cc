#include "client/options.h"

#include <gtest/gtest.h>

#include "client/failure.h"
#include "tests/client/support.h"

namespace puzzled::client {
namespace {

template <class Command>
Command parsed(const std::vector<std::string>& arguments, GlobalOptions* global = nullptr) {
  const auto result = parse_options(arguments);
  const auto* options = std::get_if<Options>(&result);
  if (options == nullptr) {
    ADD_FAILURE() << std::get<ParsedExit>(result).error;
    return {};
  }
  if (global != nullptr) *global = options->global;
  return std::get<Command>(options->command);
}

std::string refusal(const std::vector<std::string>& arguments) {
  const auto result = parse_options(arguments);
  const auto* exit = std::get_if<ParsedExit>(&result);
  if (exit == nullptr) return "(none)";
  EXPECT_EQ(exit->exit_code, kExitInvalid);
  return exit->error;
}

TEST(ParseOptions, SubmitWithEverything) {
  const auto submit = parsed<SubmitOptions>(
      {"submit",       "bishops",        "a.in",        "-",         "b",
       "--files-from", "list",           "--recursive", "--name",    "nightly",
       "--solver",     "staircase",      "--priority",  "-5",        "--time-limit",
       "1.5s",         "--memory-limit", "1GiB",        "--answers", "right",
       "--wait",       "--keep-going",   "--resume",    "17"});
  EXPECT_EQ(submit.puzzle, "bishops");
  EXPECT_EQ(submit.paths, (std::vector<std::string>{"a.in", "-", "b"}));
  EXPECT_EQ(submit.files_from, "list");
  EXPECT_TRUE(submit.recursive && submit.wait && submit.keep_going);
  EXPECT_EQ(submit.name, "nightly");
  EXPECT_EQ(submit.solver, "staircase");
  EXPECT_EQ(submit.priority, -5);
  EXPECT_EQ(submit.time_limit_us, 1'500'000U);
  EXPECT_EQ(submit.memory_limit_bytes, 1U << 30U);
  EXPECT_EQ(submit.answers_folder, "right");
  EXPECT_EQ(submit.resume, 17U);
}

TEST(ParseOptions, WhatIsNotGivenIsNotSet) {
  const auto submit = parsed<SubmitOptions>({"submit", "bishops", "a.in"});
  EXPECT_FALSE(submit.name || submit.solver || submit.priority || submit.time_limit_us ||
               submit.memory_limit_bytes || submit.resume);
}

TEST(ParseOptions, GlobalsBeforeOrAfterTheCommand) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--endpoint", "tcp://h:1", "--output", "csv", "--color", "never",
                                 "--quiet", "--connect-timeout", "250ms", "status", "7"},
        std::vector<std::string>{"status", "7", "--endpoint", "tcp://h:1", "--output", "csv",
                                 "--color", "never", "--quiet", "--connect-timeout", "250ms"}}) {
    GlobalOptions global;
    EXPECT_EQ(parsed<StatusOptions>(arguments, &global).job, 7U);
    EXPECT_EQ(global.endpoint, "tcp://h:1");
    EXPECT_EQ(global.output, OutputFormat::kCsv);
    EXPECT_EQ(global.colour, ColourMode::kNever);
    EXPECT_TRUE(global.quiet);
    EXPECT_EQ(global.connect_timeout_ms, 250U);
  }
}

TEST(ParseOptions, EndpointFromTheEnvironment) {
  ::setenv("PUZZLED_ENDPOINT", "tcp://env:1", 1);
  GlobalOptions global;
  parsed<WorkersOptions>({"workers"}, &global);
  EXPECT_EQ(global.endpoint, "tcp://env:1");
  parsed<WorkersOptions>({"workers", "--endpoint", "tcp://flag:1"}, &global);
  EXPECT_EQ(global.endpoint, "tcp://flag:1");
  ::unsetenv("PUZZLED_ENDPOINT");
}

TEST(ParseOptions, WaitAndResults) {
  const auto wait = parsed<WaitOptions>({"wait", "3", "4", "--fail-on", "none", "--timeout", "2m"});
  EXPECT_EQ(wait.jobs, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(wait.fail_on, "none");
  EXPECT_EQ(wait.timeout_ms, 120'000U);
  const auto results = parsed<ResultsOptions>(
      {"results", "--verdict", "wa,tle", "5", "--label", "a*", "--limit", "10", "--after", "20"});
  EXPECT_EQ(results.job, 5U);
  EXPECT_EQ(results.verdicts, (std::vector<std::string>{"wa", "tle"}));
  EXPECT_EQ(results.label_glob, "a*");
  EXPECT_EQ(results.limit, 10U);
  EXPECT_EQ(results.after, 20U);
}

TEST(ParseOptions, WorkersAndRequirements) {
  const auto list = parsed<WorkersOptions>({"workers"});
  EXPECT_EQ(list.action, "");
  const auto drain = parsed<WorkersOptions>({"workers", "drain", "a", "b*"});
  EXPECT_EQ(drain.action, "drain");
  EXPECT_EQ(drain.names, (std::vector<std::string>{"a", "b*"}));
  EXPECT_TRUE(parsed<WorkersOptions>({"workers", "resume", "--all"}).all);
  const auto submit = parsed<SubmitOptions>({"submit", "bishops", "--require", "a=1", "x.in",
                                             "--require", "b=2", "--solver", "staircase@2"});
  EXPECT_EQ(submit.require, (std::vector<std::string>{"a=1", "b=2"}));
  EXPECT_EQ(submit.paths, std::vector<std::string>{"x.in"});
  EXPECT_EQ(submit.solver, "staircase@2");
  EXPECT_NE(refusal({"workers", "stop", "a"}), "(none)");
}

TEST(ParseOptions, RefusesNonsense) {
  EXPECT_EQ(refusal({"solv"}), "there is no command \"solv\"");
  EXPECT_EQ(refusal({"--nonsense"}), "there is no option --nonsense");
  EXPECT_NE(refusal({}), "(none)");
  EXPECT_NE(refusal({"show"}), "(none)");
  for (const char* job : {"0", "-1", "0x10", "1e3", "99999999999999999999", "x", "1 "}) {
    EXPECT_NE(refusal({"status", job}), "(none)") << job;
  }
  EXPECT_NE(refusal({"submit", "bishops", "a", "--priority", "101"}), "(none)");
  EXPECT_NE(refusal({"submit", "bishops", "a", "--time-limit", "10"}), "(none)");
  EXPECT_NE(refusal({"submit", "bishops", "a", "--time-limit", "0s"}), "(none)");
  EXPECT_NE(refusal({"submit", "bishops", "a", "--memory-limit", "much"}), "(none)");
  EXPECT_NE(refusal({"submit", "bishops", "a", "--answers", "b", "--no-answers"}), "(none)");
  EXPECT_NE(refusal({"results", "1", "--output", "xml"}), "(none)");
  EXPECT_NE(refusal({"status", "1", "2"}), "(none)");
  EXPECT_NE(refusal({"status", "1", "--bogus"}), "(none)");
}

TEST(ParseOptions, HelpAndVersion) {
  const auto help = parse_options({"--help"});
  expect_golden("help", std::get<ParsedExit>(help).output);
  const auto submit_help = parse_options({"submit", "--help"});
  EXPECT_EQ(std::get<ParsedExit>(submit_help).exit_code, kExitOk);
  expect_golden("help_submit", std::get<ParsedExit>(submit_help).output);
  EXPECT_EQ(std::get<ParsedExit>(parse_options({"--version"})).output,
            "puzzlectl " PUZZLED_VERSION "\n");
}

}  // namespace
}  // namespace puzzled::client
