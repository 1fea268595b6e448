#include "client/test_set.h"

#include <gtest/gtest.h>

#include "client/failure.h"
#include "tests/client/support.h"

namespace puzzled::client {
namespace {

std::vector<std::string> labels(const TestSetOptions& options) {
  std::vector<std::string> result;
  for (const TestFile& file : collect_test_files(options)) result.push_back(file.label);
  return result;
}

// The message of the failure with exit code 2.
std::string refusal(const TestSetOptions& options) {
  try {
    collect_test_files(options);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), kExitInvalid);
    return failure.what() + std::string("; ") + failure.advice();
  }
  return "(none)";
}

using Names = std::vector<std::string>;

TEST(CollectTestFiles, TakesAFoldersFilesInNaturalOrder) {
  const TemporaryFolder folder;
  for (const char* name :
       {"t10.in", "t2.in", "t1.in", "t1.ans", "notes.txt", ".hidden.in", ".in", "sub/t3.in"}) {
    folder.file(name);
  }
  EXPECT_EQ(labels({.paths = {folder.path()}}), (Names{"t1", "t2", "t10"}));
  EXPECT_EQ(labels({.paths = {folder.path() + "/"}, .recursive = true}),
            (Names{"sub/t3", "t1", "t2", "t10"}));
}

TEST(CollectTestFiles, KeepsTheOrderOfThePaths) {
  const TemporaryFolder folder;
  const std::string b = folder.file("x/b.in");
  const std::string a = folder.file("y/a.in");
  const std::string other = folder.file("z/board.txt");
  EXPECT_EQ(labels({.paths = {b, a, other}}), (Names{"b", "a", "board.txt"}));
}

TEST(CollectTestFiles, FollowsLinksToFilesButNotToFolders) {
  const TemporaryFolder folder;
  folder.file("set/a.in");
  std::filesystem::create_symlink(folder.path() + "/set/a.in", folder.path() + "/set/b.in");
  std::filesystem::create_directory_symlink(folder.path() + "/set", folder.path() + "/set/loop");
  EXPECT_EQ(labels({.paths = {folder.path() + "/set"}, .recursive = true}), (Names{"a", "b"}));
}

TEST(CollectTestFiles, ReadsAListOfPaths) {
  const TemporaryFolder folder;
  const std::string a = folder.file("a.in");
  folder.file("set/2.in");
  folder.file("set/1.in");
  const std::string list = folder.file("list", a + "\n\n" + folder.path() + "/set");
  EXPECT_EQ(labels({.files_from = list}), (Names{"a", "1", "2"}));
}

TEST(CollectTestFiles, FindsAnswersBesideTheFiles) {
  const TemporaryFolder folder;
  for (const char* name : {"a.in", "a.ans", "a.out", "b.in", "b.out", "c.in", "sub/d.in",
                           "right/a.out", "right/sub/d.ans"}) {
    folder.file(name);
  }
  std::filesystem::create_directory(folder.path() + "/c.ans");  // a folder is no answer.
  const auto answers = [&](TestSetOptions options) {
    options.paths = {folder.path() + "/a.in", folder.path() + "/b.in", folder.path() + "/c.in",
                     folder.path()};
    options.recursive = true;
    options.for_job = false;
    std::string text;
    for (const TestFile& file : collect_test_files(options)) {
      text += file.label + "=" + replaced(file.answers, folder.path(), "") + " ";
    }
    return text;
  };
  EXPECT_EQ(answers({}), "a=/a.ans b=/b.out c= a=/a.ans b=/b.out c= sub/d= ");
  EXPECT_EQ(answers({.no_answers = true}), "a= b= c= a= b= c= sub/d= ");
  EXPECT_EQ(answers({.answers_folder = folder.path() + "/right"}),
            "a=/right/a.out b= c= a=/right/a.out b= c= sub/d=/right/sub/d.ans ");
}

TEST(CollectTestFiles, RefusesWhatItCannotUse) {
  const TemporaryFolder folder;
  const std::string a = folder.file("x/a.in");
  const std::string b = folder.file("y/a.in");
  std::filesystem::create_directory(folder.path() + "/empty");
  EXPECT_NE(refusal({.paths = {a, b}}).find("x/a.in and " + b + " have the same label \"a\""),
            std::string::npos);
  EXPECT_NE(refusal({.paths = {folder.path()}}).find("--recursive looks into"), std::string::npos);
  EXPECT_NE(refusal({.paths = {folder.path() + "/empty"}}).find("holds no *.in files"),
            std::string::npos);
  EXPECT_NE(refusal({.paths = {"/nowhere/a.in"}}).find("cannot read /nowhere/a.in: No such file"),
            std::string::npos);
  EXPECT_NE(refusal({.paths = {folder.file("two\nlines.in")}}).find("no printable UTF-8"),
            std::string::npos);
  EXPECT_NE(refusal({}).find("no test files are named"), std::string::npos);
  EXPECT_NE(refusal({.paths = {"-"}, .files_from = "-"}).find("standard input can be either"),
            std::string::npos);
  EXPECT_NE(refusal({.files_from = folder.file("list", std::string("a\0b", 3))}).find("NUL"),
            std::string::npos);
  EXPECT_NE(refusal({.paths = {a}, .answers_folder = a}).find("is no folder"), std::string::npos);
  EXPECT_NE(refusal({.paths = {a}, .answers_folder = folder.path() + "/empty"})
                .find("has no answers to these tests"),
            std::string::npos);
}

TEST(FileText, KnowsWhenTheFileChanged) {
  const TemporaryFolder folder;
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{3} << 20U}) {
    const std::string path = folder.file("a", std::string(size, 'x'));
    const FileText first(path);
    EXPECT_EQ(first.text().size(), size);
    EXPECT_TRUE(first.unchanged());
    const FileStamp before = first.stamp();
    EXPECT_EQ(FileText(path).stamp(), before);
    write_file(path, std::string(size, 'x') + "y");
    EXPECT_FALSE(first.unchanged());
    EXPECT_NE(FileText(path).stamp(), before);
  }
}

}  // namespace
}  // namespace puzzled::client
