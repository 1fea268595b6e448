#include "proto/base/paths.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace puzzled {
namespace {

class PathsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / "puzzled-paths-XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override {
    ::unsetenv("XDG_RUNTIME_DIR");
    ::unsetenv("XDG_DATA_HOME");
    std::filesystem::remove_all(folder_);
  }
  std::string folder_;
};

TEST_F(PathsTest, TheRuntimeFolderIsUsedIfItIsThere) {
  ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  EXPECT_EQ(default_client_endpoint(), "ipc://" + folder_ + "/puzzled/client.sock");
  ::setenv("XDG_RUNTIME_DIR", (folder_ + "/none").c_str(), 1);
  const std::string fallback = "ipc:///tmp/puzzled-" + std::to_string(::getuid()) + "/client.sock";
  EXPECT_EQ(default_client_endpoint(), fallback);
  ::setenv("XDG_RUNTIME_DIR", "relative", 1);
  EXPECT_EQ(default_client_endpoint(), fallback);
}

TEST_F(PathsTest, ClientsLookWhereASocketIs) {
  ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  const auto all = candidate_client_endpoints();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0], default_client_endpoint());
  EXPECT_EQ(all[2], kSystemClientEndpoint);
  std::filesystem::create_directories(folder_ + "/puzzled/client.sock");
  EXPECT_EQ(find_client_endpoint(), all[0]);
}

TEST(Paths, TheWorkerEndpointIsBesideTheClients) {
  EXPECT_EQ(worker_endpoint_for("ipc:///run/puzzled/client.sock"),
            "ipc:///run/puzzled/worker.sock");
  EXPECT_EQ(worker_endpoint_for("ipc:///a/b.sock"), "ipc:///a/b-worker.sock");
  EXPECT_EQ(worker_endpoint_for("ipc:///a/b"), "ipc:///a/b-worker");
  EXPECT_EQ(worker_endpoint_for("ipc://client.sock"), "ipc://worker.sock");
  EXPECT_EQ(worker_endpoint_for("tcp://127.0.0.1:7400"), "tcp://127.0.0.1:7401");
  EXPECT_EQ(worker_endpoint_for("tcp://[::1]:7400"), "tcp://[::1]:7401");
  EXPECT_EQ(worker_endpoint_for("tcp://*:*"), std::nullopt);
  EXPECT_EQ(worker_endpoint_for("tcp://h:65535"), std::nullopt);
  EXPECT_EQ(worker_endpoint_for("inproc://x"), std::nullopt);
}

TEST(Paths, EndpointsAreChecked) {
  EXPECT_FALSE(endpoint_error("ipc:///a/b.sock", false));
  EXPECT_FALSE(endpoint_error("tcp://host:1", false));
  EXPECT_FALSE(endpoint_error("tcp://127.0.0.1:*", true));
  EXPECT_FALSE(endpoint_error("ipc:///" + std::string(kIpcPathBytesMax - 1, 'x'), true));
  const std::vector<std::string> bad = {"",
                                        "host:1",
                                        "ipc://",
                                        "ipc:///a/",
                                        "tcp://host",
                                        "tcp://:1",
                                        "tcp://host:0",
                                        "tcp://host:65536",
                                        "tcp://host:1x",
                                        "tcp://host:*",
                                        "ipc:///" + std::string(kIpcPathBytesMax, 'x')};
  for (const std::string& endpoint : bad) EXPECT_TRUE(endpoint_error(endpoint, false)) << endpoint;
}

TEST_F(PathsTest, TheDatabaseIsUnderTheDataFolder) {
  ::setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(default_database_path(), "/data/puzzled/puzzled.db");
  ::setenv("XDG_DATA_HOME", "relative", 1);
  EXPECT_TRUE(default_database_path().ends_with("/.local/share/puzzled/puzzled.db"));
}

TEST_F(PathsTest, PrivateFoldersAreMadeAndChecked) {
  const std::string path = folder_ + "/a/b";
  EXPECT_EQ(ensure_private_folder(path), std::nullopt);
  EXPECT_EQ(ensure_private_folder(path), std::nullopt);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  EXPECT_TRUE(ensure_private_folder(path));
  ASSERT_EQ(::symlink(path.c_str(), (folder_ + "/link").c_str()), 0);
  EXPECT_TRUE(ensure_private_folder(folder_ + "/link"));
}

TEST(Paths, TheFolderOfThisProgramHoldsIt) {
  EXPECT_EQ(::access((program_folder() + "/proto_test").c_str(), X_OK), 0);
}

TEST(Paths, FoldersOfFiles) {
  EXPECT_EQ(folder_of("/a/b"), "/a");
  EXPECT_EQ(folder_of("/a"), "/");
  EXPECT_EQ(folder_of("a"), ".");
}

}  // namespace
}  // namespace puzzled
