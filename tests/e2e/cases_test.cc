// All handed cases, offline and through the daemon: valid ones byte for byte, invalid ones refused
// with their place, ambiguous ones as ruled.
#include <gmock/gmock.h>

#include <algorithm>
#include <regex>

#include "tests/e2e/fixture.h"

namespace puzzled::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

std::vector<fs::path> inputs_of(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".in") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

fs::path with_suffix(fs::path file, const char* suffix) { return file.replace_extension(suffix); }

class CasesTest : public EndToEnd, public ::testing::WithParamInterface<std::string> {};

TEST_P(CasesTest, SolvedOfflineByteForByte) {
  const std::vector<fs::path> files = inputs_of(kCases / GetParam());
  ASSERT_GE(files.size(), 20U);
  for (const fs::path& file : files) {
    const Ended solved = ctl({"solve", GetParam(), file});
    EXPECT_EQ(solved.exit_code, 0) << file << solved.err;
    EXPECT_EQ(solved.out, read_file(with_suffix(file, ".ans"))) << file;
    EXPECT_EQ(solved.err, "") << file;
  }
}

TEST_P(CasesTest, StandardInputIsSolvedLikeAFile) {
  const fs::path file = inputs_of(kCases / GetParam()).front();
  const std::string right = read_file(with_suffix(file, ".ans"));
  EXPECT_EQ(ctl({"solve", GetParam()}, read_file(file)).out, right);
  EXPECT_EQ(ctl({"solve", GetParam(), "-"}, read_file(file)).out, right);
}

TEST_P(CasesTest, InvalidFilesAreRefusedWithTheirPlace) {
  const std::vector<fs::path> files = inputs_of(kCases / GetParam() / "invalid");
  ASSERT_GE(files.size(), 10U);
  for (const fs::path& file : files) {
    const std::regex placed(R"((.*)/([^/\n]+):[1-9]\d*:[1-9]\d*: error: found .+, expected .+)");
    for (const Arguments& command :
         {Arguments{"solve", GetParam(), file}, Arguments{"validate", GetParam(), file}}) {
      const Ended ended = ctl(command);
      EXPECT_EQ(ended.exit_code, 2) << file << ended.err;
      EXPECT_EQ(ended.out, "") << file;
      EXPECT_TRUE(std::regex_search(ended.err, placed)) << file << ": " << ended.err;
      EXPECT_THAT(ended.err, HasSubstr(file.string() + ":"));
    }
    const Ended piped = ctl({"solve", GetParam()}, read_file(file));
    EXPECT_EQ(piped.exit_code, 2) << file;
    EXPECT_EQ(piped.out, "") << file;
    EXPECT_THAT(piped.err, HasSubstr("<stdin>:")) << file;
  }
}

TEST_P(CasesTest, ValidateAcceptsAllValidFiles) {
  Arguments command = {"validate", GetParam()};
  for (const fs::path& file : inputs_of(kCases / GetParam())) command.push_back(file);
  const Ended ended = ctl(command);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
}

TEST_P(CasesTest, GradedAndExportedByteForByte) {
  Process daemon = start_daemon();
  const std::string job = submit({GetParam(), kCases / GetParam()});
  EXPECT_EQ(ctl({"wait", job}).exit_code, 0);

  const std::vector<Json> rows = results(job);
  EXPECT_EQ(count(rows, "ACCEPTED"), rows.size());
  EXPECT_EQ(status(job).at("cases"), rows.size());

  ctl_out({"export", job, path("exported")});
  const std::vector<fs::path> files = inputs_of(kCases / GetParam());
  for (const fs::path& file : files) {
    const fs::path exported = path("exported") / with_suffix(file.filename(), ".ans");
    EXPECT_EQ(read_file(exported), read_file(with_suffix(file, ".ans"))) << file;
    EXPECT_TRUE(fs::exists(exported)) << file;
  }
}

TEST_P(CasesTest, WithoutAnswersTheVerdictIsSolved) {
  Process daemon = start_daemon();
  const std::string job =
      submit({GetParam(), inputs_of(kCases / GetParam()).front(), "--no-answers"});
  EXPECT_EQ(ctl({"wait", job}).exit_code, 0);
  const std::vector<Json> rows = results(job);
  EXPECT_EQ(count(rows, "SOLVED"), rows.size());
}

TEST_P(CasesTest, AnInvalidFileStopsTheSubmission) {
  Process daemon = start_daemon();
  const fs::path good = inputs_of(kCases / GetParam()).front();
  for (const fs::path& file : inputs_of(kCases / GetParam() / "invalid")) {
    const Ended ended = ctl({"submit", GetParam(), good, file});
    EXPECT_EQ(ended.exit_code, 2) << file << ended.err;
    EXPECT_EQ(ended.out, "") << file;
    EXPECT_THAT(ended.err, HasSubstr(file.string() + ":"));
  }
  EXPECT_EQ(Json::parse(ctl_out({"jobs", "--output", "json"})), Json::array());
}

TEST_P(CasesTest, TheBundledExamplesAreRight) {
  const std::vector<fs::path> files = inputs_of(fs::path(PUZZLED_EXAMPLES) / GetParam());
  ASSERT_FALSE(files.empty());
  for (const fs::path& file : files) {
    const fs::path answers = with_suffix(file, ".ans");
    const std::string solved = ctl_out({"solve", GetParam(), file});
    if (!fs::exists(answers)) continue;
    EXPECT_EQ(solved == read_file(answers), file.stem() != "one-claim-is-wrong") << file;
  }
}

INSTANTIATE_TEST_SUITE_P(Puzzles, CasesTest, ::testing::ValuesIn(kPuzzleNames),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

class DraughtsLayoutTest : public EndToEnd {};

TEST_F(DraughtsLayoutTest, AmbiguousFilesAreTakenAsRuled) {
  const std::vector<fs::path> files = inputs_of(kCases / "draughts" / "ambiguous");
  ASSERT_EQ(files.size(), 7U);
  for (const fs::path& file : files) {
    const Ended solved = ctl({"solve", "draughts", file});
    if (file.stem() == "utf8-bom") {
      EXPECT_EQ(solved.exit_code, 2);
      EXPECT_EQ(solved.out, "");
      EXPECT_THAT(solved.err, HasSubstr(":1:1: error: found "));
    } else {
      EXPECT_EQ(solved.exit_code, 0) << file << solved.err;
      EXPECT_EQ(solved.out, read_file(with_suffix(file, ".ans"))) << file;
    }
  }
}

}  // namespace
}  // namespace puzzled::testing
