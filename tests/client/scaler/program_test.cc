#include "client/scaler/program.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/client/support.h"

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
  const client::TemporaryFolder folder;
  const std::string fifo = folder.path() + "/held";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  ::fcntl(reader, F_SETFL, 0);
  const ProgramEnd end = shell("exec 3>'" + fifo + "'; sleep 100000 & sleep 100000", 500);
  EXPECT_TRUE(end.timed_out);
  EXPECT_THAT(describe_failure("sleep", end), HasSubstr("took too long"));
  // The end comes when nobody holds the other end any more.
  char more = 0;
  EXPECT_EQ(::read(reader, &more, 1), 0);
  ::close(reader);
}

TEST(Program, OneThatSaysNothingMoreIsEndedLikewise) {
  EXPECT_TRUE(shell("exec >&- 2>&-; sleep 100000", 200).timed_out);
  const ProgramEnd end = shell("exec >&- 2>&-; exit 3");
  EXPECT_FALSE(end.timed_out);
  EXPECT_EQ(end.exit_code, 3);
}

TEST(Program, OneThatIsNotThereIsSaidToBe) {
  const ProgramEnd end = run_program({"no-such-program-here"}, {}, 1'000, 100);
  EXPECT_FALSE(end.started);
  EXPECT_EQ(describe_failure("sbatch", end), "sbatch cannot be started: No such file or directory");
}

}  // namespace
}  // namespace puzzled::scaler
