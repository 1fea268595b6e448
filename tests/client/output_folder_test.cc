#include "client/output_folder.h"

#include <gtest/gtest.h>

#include "client/failure.h"
#include "tests/client/support.h"

namespace puzzled::client {
namespace {

namespace fs = std::filesystem;

std::size_t entries(const std::string& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::recursive_directory_iterator(folder), fs::recursive_directory_iterator()));
}

TEST(UnsafePath, RefusesWhatLeavesTheFolder) {
  for (const std::string& path :
       {std::string(""), std::string("/etc/passwd"), std::string(".."), std::string("../a"),
        std::string("a/../b"), std::string("a/.."), std::string("./a"), std::string("a//b"),
        std::string("a/"), std::string("a\0b", 3)}) {
    EXPECT_TRUE(unsafe_path(path)) << path;
  }
  for (const char* path : {"a", "a/b.ans", "..a", "a..", "...", ".hidden", "a b\n"}) {
    EXPECT_FALSE(unsafe_path(path)) << path;
  }
}

TEST(OutputFolder, FilesAppearWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const OutputFolder out(folder.path() + "/new");
  {
    OutputFolder::File file(out, "sub/deep/a.ans");
    file.write(std::string(200'000, 'x'));
    EXPECT_FALSE(out.exists("sub/deep/a.ans"));
    file.commit(false);
  }
  EXPECT_EQ(read_file(folder.path() + "/new/sub/deep/a.ans"), std::string(200'000, 'x'));
  {
    OutputFolder::File file(out, "sub/deep/b.ans");
    file.write("dropped");
  }
  EXPECT_EQ(entries(folder.path() + "/new"), 3U);  // two folders and a file
}

TEST(OutputFolder, OverwritesOnlyIfTold) {
  const TemporaryFolder folder;
  folder.file("a.ans", "old");
  const OutputFolder out(folder.path());
  EXPECT_TRUE(out.exists("a.ans"));
  {
    OutputFolder::File file(out, "a.ans");
    file.write("new");
    EXPECT_THROW(file.commit(false), Failure);
  }
  EXPECT_EQ(read_file(folder.path() + "/a.ans"), "old");
  {
    OutputFolder::File file(out, "a.ans");
    file.write("new");
    file.commit(true);
  }
  EXPECT_EQ(read_file(folder.path() + "/a.ans"), "new");
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(OutputFolder, FollowsNoLinks) {
  const TemporaryFolder folder;
  const TemporaryFolder outside;
  outside.file("victim", "safe");
  fs::create_directory_symlink(outside.path(), folder.path() + "/sub");
  fs::create_symlink(outside.path() + "/victim", folder.path() + "/a.ans");
  const OutputFolder out(folder.path());
  EXPECT_THROW(OutputFolder::File(out, "sub/b.ans"), Failure);
  {
    OutputFolder::File file(out, "a.ans");
    file.write("new");
    file.commit(true);  // replaces the link, not what it points to.
  }
  EXPECT_EQ(read_file(outside.path() + "/victim"), "safe");
  EXPECT_EQ(entries(outside.path()), 1U);
  EXPECT_EQ(read_file(folder.path() + "/a.ans"), "new");
}

TEST(OutputFolder, FailuresNameThePlace) {
  const TemporaryFolder folder;
  folder.file("file");
  EXPECT_THROW(OutputFolder(folder.path() + "/file"), Failure);
  EXPECT_THROW(OutputFolder(folder.path() + "/no/parent"), Failure);
  const OutputFolder out(folder.path());
  EXPECT_THROW(OutputFolder::File(out, "file/a.ans"), Failure);
  EXPECT_THROW(OutputFolder::File(out, std::string(300, 'x') + "/a"), Failure);
}

}  // namespace
}  // namespace puzzled::client
