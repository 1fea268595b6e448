// What the command line promises: exit codes, labels, answers, files, filters.
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/e2e/fixture.h"

namespace puzzled::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

class CommandsTest : public EndToEnd {
 protected:
  std::vector<std::string> labels(const std::string& job, const Arguments& more = {}) {
    std::vector<std::string> result;
    for (const Json& row : results(job, more)) result.push_back(row.at("label"));
    return result;
  }
  std::vector<std::string> verdicts(const std::string& job) {
    std::vector<std::string> result;
    for (const Json& row : results(job)) result.push_back(row.at("verdict"));
    return result;
  }
};

// ---- Grading.

TEST_F(CommandsTest, ClaimedAnswersAreGradedByLine) {
  Process daemon = start_daemon();
  file("t/a.in", "4 4\n4 4\n8 6\n4 4\n0 0\n");
  file("t/a.ans", "260\n 276\nfive\n");
  const std::string job = submit({"bishops", path("t")});
  EXPECT_EQ(ctl({"wait", job}).exit_code, 1);
  EXPECT_THAT(verdicts(job),
              ElementsAre("ACCEPTED", "WRONG_ANSWER", "INVALID_ANSWER", "INVALID_ANSWER"));
  EXPECT_EQ(ctl({"wait", job, "--fail-on", "none"}).exit_code, 0);
  EXPECT_EQ(ctl({"wait", job, "--fail-on", "tle,MEMORY_LIMIT"}).exit_code, 0);
  EXPECT_EQ(ctl({"wait", job, "--fail-on", "Wa"}).exit_code, 1);
  EXPECT_THAT(labels(job, {"--verdict", "pe"}), ElementsAre("a#3", "a#4"));
  EXPECT_THAT(labels(job, {"--verdict", "invalid_answer", "--limit", "1"}), ElementsAre("a#3"));
  EXPECT_THAT(labels(job, {"--label", "a#[12]"}), ElementsAre("a#1", "a#2"));
  EXPECT_THAT(labels(job, {"--after", "2"}), ElementsAre("a#3", "a#4"));
}

TEST_F(CommandsTest, TheRightAnswerIsStoredWhateverWasClaimed) {
  Process daemon = start_daemon();
  file("t/a.in", "4 4\n8 6\n0 0\n");
  file("t/a.ans", "276\n1\n");
  const std::string job = submit({"bishops", path("t")});
  EXPECT_EQ(ctl({"wait", job}).exit_code, 1);
  ctl_out({"export", job, path("exported")});
  EXPECT_EQ(read_file(path("exported/a.ans")), "260\n5599888\n");
}

TEST_F(CommandsTest, AnswersAreFoundBesideAndElsewhere) {
  Process daemon = start_daemon();
  file("t/a.in", "4 4\n0 0\n");
  file("t/a.out", "260\n");
  file("t/b.in", "4 4\n0 0\n");
  file("t/b.ans", "260\n");
  file("t/b.out", "1\n");  // .ans comes first
  file("t/c.in", "4 4\n0 0\n");
  const std::string beside = submit({"bishops", path("t"), "--wait"});
  EXPECT_THAT(verdicts(beside), ElementsAre("ACCEPTED", "ACCEPTED", "SOLVED"));

  file("elsewhere/c.ans", "260\n");
  const std::string elsewhere =
      submit({"bishops", path("t"), "--answers", path("elsewhere"), "--wait"});
  EXPECT_THAT(results(elsewhere).at(2).at("verdict"), "ACCEPTED");
}

TEST_F(CommandsTest, ExtraTextInAnAnswerFileIsInvalidInput) {
  Process daemon = start_daemon();
  file("t/a.in", "4 4\n0 0\n");
  const std::string answers = file("t/a.ans", "260\n\n17\n");
  const Ended ended = ctl({"submit", "bishops", path("t")});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr(answers + ":3:1: error: found "));
}

TEST_F(CommandsTest, KeepGoingSubmitsTheGoodCases) {
  Process daemon = start_daemon();
  file("t/a.in", "4 4\n3 10\nfour 4\n8 6\n0 0\n");
  file("t/b.in", "2 1\n0 0\n");
  EXPECT_EQ(ctl({"submit", "bishops", path("t")}).exit_code, 2);
  const Ended ended = ctl({"submit", "bishops", path("t"), "--keep-going", "--wait"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("a.in:2:3: error: found "));
  EXPECT_THAT(ended.err, HasSubstr("a.in:3:1: error: found "));
  EXPECT_THAT(labels("1"), ElementsAre("a#1", "a#2", "a#3", "a#4", "b#1"));
  EXPECT_THAT(verdicts("1"),
              ElementsAre("SOLVED", "INVALID_INSTANCE", "INVALID_INSTANCE", "SOLVED", "SOLVED"));
  // A file with a case that lacks an answer is not written, and named.
  const Ended exported = ctl({"export", "1", path("exported")});
  EXPECT_EQ(exported.exit_code, 1);
  EXPECT_THAT(exported.err, HasSubstr("a"));
  EXPECT_FALSE(fs::exists(path("exported/a.ans")));
  EXPECT_EQ(read_file(path("exported/b.ans")), "4\n");
}

// ---- Which files.

TEST_F(CommandsTest, FoldersAreReadInNaturalOrderAndNotDeeperUnlessAsked) {
  Process daemon = start_daemon();
  for (const char* name : {"t/10.in", "t/9.in", "t/deep/1.in"}) file(name, "1 1\n0 0\n");
  file("t/notes.txt", "not a test");
  EXPECT_THAT(labels(submit({"bishops", path("t"), "--wait"})), ElementsAre("9#1", "10#1"));
  const std::string all = submit({"bishops", path("t"), "--recursive", "--wait"});
  EXPECT_THAT(labels(all), ElementsAre("9#1", "10#1", "deep/1#1"));
  ctl_out({"export", all, path("exported")});
  EXPECT_EQ(read_file(path("exported/deep/1.ans")), "1\n");
}

TEST_F(CommandsTest, AFolderWithoutInputsAndEqualLabelsAreRefused) {
  Process daemon = start_daemon();
  fs::create_directories(path("empty"));
  EXPECT_EQ(ctl({"submit", "bishops", path("empty")}).exit_code, 2);
  EXPECT_EQ(ctl({"submit", "bishops", path("none.in")}).exit_code, 2);
  file("a/1.in", "1 1\n0 0\n");
  file("b/1.in", "1 1\n0 0\n");
  const Ended ended = ctl({"submit", "bishops", path("a"), path("b")});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("1"));
}

TEST_F(CommandsTest, ManyFilesThroughFilesFrom) {
  Process daemon = start_daemon();
  constexpr int kFiles = 3'000;
  const std::string board = read_file(kCases / "draughts" / "s04-start-position.in");
  std::string list;
  for (int i = 0; i < kFiles; ++i) {
    const std::string name = "many/" + std::to_string(i % 30) + "/" + std::to_string(i) + ".in";
    list += file(name, board) + "\n";
  }
  const std::string job = submit({"draughts", "--files-from", "-", "--wait"}, list);
  const std::vector<Json> rows = results(job);
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(kFiles));
  EXPECT_EQ(count(rows, "SOLVED"), static_cast<std::size_t>(kFiles));
  EXPECT_EQ(status(job).at("files"), kFiles);
}

TEST_F(CommandsTest, StandardInputIsAFile) {
  Process daemon = start_daemon();
  const std::string job = submit({"bishops", "-", "--wait"}, "4 4\n8 6\n0 0\n");
  EXPECT_THAT(verdicts(job), ElementsAre("SOLVED", "SOLVED"));
  const Ended bad = ctl({"submit", "bishops", "-"}, "4 4\n");
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("<stdin>:2:1: error: found "));
}

TEST_F(CommandsTest, OddNamesComeThrough) {
  Process daemon = start_daemon();
  const Arguments names = {"x'; DROP TABLE results; --", "-rf", "a#1", "ünï", "50%s%n"};
  for (const std::string& name : names) file("t/" + name + ".in", "1 1\n0 0\n");
  const std::string job = submit({"bishops", path("t"), "--name", names[0], "--wait"});
  EXPECT_EQ(status(job).at("name"), names[0]);
  std::vector<std::string> expected;
  for (const std::string& name : names) expected.push_back(name + "#1");
  EXPECT_THAT(labels(job), UnorderedElementsAreArray(expected));
  ctl_out({"export", job, path("exported")});
  for (const std::string& name : names) {
    EXPECT_EQ(read_file(path("exported/" + name + ".ans")), "1\n") << name;
  }
}

// They would move the cursor or fool the reader wherever they are shown.
TEST_F(CommandsTest, NamesThatATerminalWouldObeyAreRefused) {
  Process daemon = start_daemon();
  file("good.in", "1 1\n0 0\n");
  for (const std::string name : {"\x1b[2J", "a\nb", "\xff", "\xe2\x80\xae"}) {
    const std::string odd = file("t/" + name + ".in", "1 1\n0 0\n");
    for (const Arguments& command :
         {Arguments{"submit", "bishops", odd},
          Arguments{"submit", "bishops", path("good.in"), "--name", name}}) {
      const Ended ended = ctl(command);
      EXPECT_NE(ended.exit_code, 0) << ::testing::PrintToString(name);
      EXPECT_EQ(ended.out, "");
      EXPECT_THAT(ended.err, Not(HasSubstr(name))) << ::testing::PrintToString(name);
    }
  }
}

// ---- Export.

TEST_F(CommandsTest, ExportNeverLeavesItsFolder) {
  Process daemon = start_daemon();
  file("t/sub/a.in", "1 1\n0 0\n");
  const std::string job = submit({"bishops", path("t"), "--recursive", "--wait"});
  fs::create_directories(path("outside"));
  fs::create_directories(path("exported"));
  fs::create_directory_symlink(path("outside"), path("exported/sub"));
  EXPECT_NE(ctl({"export", job, path("exported")}).exit_code, 0);
  EXPECT_TRUE(fs::is_empty(path("outside")));
}

TEST_F(CommandsTest, ExportOverwritesOnlyWhenForced) {
  Process daemon = start_daemon();
  file("t/a.in", "1 1\n0 0\n");
  const std::string job = submit({"bishops", path("t"), "--wait"});
  file("exported/a.ans", "mine\n");
  EXPECT_NE(ctl({"export", job, path("exported")}).exit_code, 0);
  EXPECT_EQ(read_file(path("exported/a.ans")), "mine\n");
  ctl_out({"export", job, path("exported"), "--force"});
  EXPECT_EQ(read_file(path("exported/a.ans")), "1\n");
}

// ---- Jobs.

TEST_F(CommandsTest, AnEmptyJobIsDoneAtOnce) {
  Process daemon = start_daemon({"--workers", "0"});
  const std::string job = submit({"bishops", file("a.in", "0 0\n")});
  EXPECT_EQ(ctl({"wait", job, "--timeout", "60s"}).exit_code, 0);
  EXPECT_EQ(status(job).at("state"), "DONE");
  ctl_out({"export", job, path("exported")});
  EXPECT_TRUE(fs::exists(path("exported/a.ans")));
}

TEST_F(CommandsTest, ACancelledJobShowsItsOpenCasesAsCancelled) {
  Process daemon = start_daemon({"--workers", "0"});
  const std::string job = submit({"bishops", file("a.in", bishops_file(2'500))});
  ctl_out({"cancel", job, "--reason", "changed my mind"});
  EXPECT_EQ(status(job).at("state"), "CANCELLED");
  EXPECT_THAT(ctl_out({"status", job}), HasSubstr("changed my mind"));
  EXPECT_EQ(ctl({"wait", job}).exit_code, 1);
  EXPECT_EQ(count(results(job), "CANCELLED"), 2'500U);
  EXPECT_EQ(ctl({"cancel", job}).exit_code, 0) << "cancelling again changes nothing";
  // A worker that comes now finds nothing of it to do.
  Process worker = start_test_worker();
  const std::string next = submit({"bishops", file("b.in", bishops_file(10)), "--wait"});
  EXPECT_EQ(count(results(next), "SOLVED"), 10U);
  EXPECT_EQ(count(results(job), "CANCELLED"), 2'500U);
}

TEST_F(CommandsTest, HigherPriorityIsGradedFirst) {
  Process daemon = start_daemon({"--workers", "0"});
  const std::string input = file("a.in", bishops_file(20'000));
  const std::string low = submit({"bishops", input, "--priority", "-5"});
  const std::string high = submit({"bishops", input, "--priority", "5"});
  Process worker = start_test_worker({"--slots", "1"});
  EXPECT_EQ(ctl({"wait", low, high}).exit_code, 0);
  // Only dispatches that were on their way before may be of the other job.
  EXPECT_LE(status(high).at("finished_at").get<std::string>(),
            status(low).at("finished_at").get<std::string>());
  EXPECT_LE(results(high).back().at("graded_at").get<std::string>(),
            results(low).back().at("graded_at").get<std::string>());
}

TEST_F(CommandsTest, AnInterruptedUploadIsResumed) {
  Process daemon = start_daemon();
  constexpr std::size_t kMany = 200'000;
  const std::string input = file("many.in", bishops_file(kMany));
  Process upload = start({kCtl, "submit", "bishops", input});
  ASSERT_TRUE(eventually([&] {
    const Json jobs = Json::parse(ctl_out({"jobs", "--output", "json"}));
    return !jobs.empty() && jobs[0].at("cases") > 0;
  }));
  upload.signal(SIGSTOP);
  ASSERT_EQ(status("1").at("state"), "UPLOADING") << "the upload was too quick for this test";
  upload.signal(SIGKILL);
  ASSERT_TRUE(upload.wait(seconds(60)).has_value());

  EXPECT_EQ(submit({"bishops", input, "--resume", "1", "--wait"}), "1");
  EXPECT_EQ(status("1").at("cases"), kMany);
  EXPECT_EQ(count(results("1"), "SOLVED"), kMany);
}

TEST_F(CommandsTest, ResumingWithOtherFilesIsRefused) {
  Process daemon = start_daemon();
  const std::string job = submit({"bishops", file("a.in", bishops_file(10)), "--wait"});
  const Ended other = ctl({"submit", "bishops", file("b.in", bishops_file(11)), "--resume", job});
  EXPECT_NE(other.exit_code, 0);
  EXPECT_EQ(status(job).at("cases"), 10);
}

// ---- Exit codes.

TEST_F(CommandsTest, UsageIsTwo) {
  for (const Arguments& command :
       {Arguments{}, Arguments{"nonsense"}, Arguments{"solve", "chess"},
        Arguments{"solve", "bishops", "--solver", "magic"}, Arguments{"submit"},
        Arguments{"submit", "bishops"}, Arguments{"results", "x"},
        Arguments{"results", "1", "--verdict", "great"},
        Arguments{"submit", "bishops", "a.in", "--priority", "101"},
        Arguments{"submit", "bishops", "a.in", "--time-limit", "soon"}}) {
    const Ended ended = ctl(command);
    EXPECT_EQ(ended.exit_code, 2) << ::testing::PrintToString(command) << ended.err;
    EXPECT_THAT(ended.out, IsEmpty()) << ::testing::PrintToString(command);
    EXPECT_THAT(ended.err, Not(IsEmpty()));
  }
}

TEST_F(CommandsTest, NoDaemonIsThree) {
  const Ended ended = ctl({"--connect-timeout", "200ms", "jobs"});
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_THAT(ended.err, HasSubstr("puzzled")) << "say how to start one";
  file("a.in", "1 1\n0 0\n");
  EXPECT_EQ(ctl({"--connect-timeout", "200ms", "submit", "bishops", path("a.in")}).exit_code, 3);
}

TEST_F(CommandsTest, TimeoutIsThreeAndUnknownJobIsFour) {
  Process daemon = start_daemon({"--workers", "0"});
  const std::string job = submit({"bishops", file("a.in", bishops_file(10))});
  EXPECT_EQ(ctl({"wait", job, "--timeout", "100ms"}).exit_code, 3);
  for (const char* command : {"status", "results", "wait", "cancel"}) {
    EXPECT_EQ(ctl({command, "4711"}).exit_code, 4) << command;
  }
  EXPECT_EQ(ctl({"export", "4711", path("exported")}).exit_code, 4);
  EXPECT_EQ(ctl({"show", job, "11"}).exit_code, 4);
}

TEST_F(CommandsTest, CancellingAFinishedJobIsRefused) {
  Process daemon = start_daemon();
  const std::string job = submit({"bishops", file("a.in", bishops_file(10)), "--wait"});
  EXPECT_EQ(ctl({"cancel", job}).exit_code, 4);
  EXPECT_EQ(status(job).at("state"), "DONE");
}

TEST_F(CommandsTest, AnInterruptedWaitIs130AndTheJobGoesOn) {
  Process daemon = start_daemon({"--workers", "0"});
  Process waiting = start({kCtl, "submit", "bishops", file("a.in", bishops_file(10)), "--wait"});
  ASSERT_TRUE(eventually([&] { return !waiting.out().empty(); })) << "the id comes first";
  waiting.signal(SIGINT);
  const auto ended = waiting.wait(seconds(60));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 130);
  EXPECT_THAT(ended->err, HasSubstr("wait 1")) << "say how to go on";

  Process worker = start_test_worker();
  EXPECT_EQ(ctl({"wait", "1"}).exit_code, 0);
}

// ---- Looking.

TEST_F(CommandsTest, EveryFormatHoldsEveryRow) {
  Process daemon = start_daemon();
  const std::string job = submit({"bishops", file("a.in", bishops_file(2'345)), "--wait"});
  const Json json = Json::parse(ctl_out({"results", job, "--output", "json"}));
  EXPECT_EQ(json.size(), 2'345U);
  EXPECT_EQ(results(job).size(), 2'345U);
  const std::string csv = ctl_out({"results", job, "--output", "csv"});
  EXPECT_EQ(std::ranges::count(csv, '\n'), 2'346);
  EXPECT_THAT(ctl_out({"results", job}), HasSubstr("a#2345"));
}

TEST_F(CommandsTest, ShowDrawsTheCaseAndSaysWhyItIsWrong) {
  Process daemon = start_daemon();
  file("t/a.in", "4 4\n0 0\n");
  file("t/a.ans", "276\n");
  const std::string job = submit({"bishops", path("t")});
  EXPECT_EQ(ctl({"wait", job}).exit_code, 1);
  const std::string shown = ctl_out({"show", job, "1"});
  for (const char* part : {"WRONG_ANSWER", "276", "260", "a#1"}) {
    EXPECT_THAT(shown, HasSubstr(part));
  }
}

TEST_F(CommandsTest, PuzzlesAndVersionWorkWithoutADaemon) {
  const std::string listed = ctl_out({"puzzles"});
  for (const std::string& puzzle : kPuzzleNames) EXPECT_THAT(listed, HasSubstr(puzzle));
  EXPECT_THAT(listed, HasSubstr("brute-force"));
  const Ended version = ctl({"--connect-timeout", "100ms", "version"});
  EXPECT_THAT(version.out, HasSubstr(PUZZLED_VERSION));
}

}  // namespace
}  // namespace puzzled::testing
