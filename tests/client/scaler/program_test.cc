#include "client/scaler/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace puzzled::scaler {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

ProgramEnd shell(const std::string& script, std::int64_t timeout_ms = 60'000,
                 std::size_t bytes_max = 1U << 20U) {
  return run_program({"sh", "-c", script}, {"PATH=/usr/bin:/bin", "WORD=hello"}, timeout_ms,
                     bytes_max);
}

TEST(Program, TakesWhatItWritesAndHowItEnds) {
  const ProgramEnd end = shell("echo $WORD\"$HOME\"; echo no >&2; exit 3");
  EXPECT_TRUE(end.started);
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.out, "hello\n") << "its environment is what was given";
  EXPECT_EQ(end.err, "no\n");
  EXPECT_EQ(describe_failure("sh", end), "sh ended with code 3: no");
  EXPECT_EQ(describe_failure("sh", shell("exit 0")), "");
  EXPECT_EQ(describe_failure("sh", shell("kill -9 $$")), "sh was killed by signal 9");
}

TEST(Program, MuchOutputOnBothSidesDoesNotBlock) {
  const ProgramEnd end =
      shell("head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; head -c 9 /dev/zero");
  EXPECT_THAT(end.out, SizeIs(300'009));
  EXPECT_THAT(end.err, SizeIs(300'000));
}

TEST(Program, TooMuchOutputEndsIt) {
  const ProgramEnd end = shell("cat /dev/zero", 60'000, 1'000'000);
  EXPECT_TRUE(end.too_long);
  EXPECT_THAT(describe_failure("cat", end), HasSubstr("wrote too much"));
}

TEST(Program, TooLongEndsItAndWhatItStarted) {
  const auto begin = std::chrono::steady_clock::now();
  const ProgramEnd end = shell("sleep 1000 & sleep 1000", 200);
  EXPECT_TRUE(end.timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(500));
  EXPECT_THAT(describe_failure("sleep", end), HasSubstr("took too long"));
}

TEST(Program, OneThatIsNotThereIsSaidToBe) {
  const ProgramEnd end = run_program({"no-such-program-here"}, {}, 1'000, 100);
  EXPECT_FALSE(end.started);
  EXPECT_EQ(describe_failure("sbatch", end), "sbatch cannot be started: No such file or directory");
}

}  // namespace
}  // namespace puzzled::scaler
