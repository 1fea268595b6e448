#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "daemon/net/listen.h"
#include "proto/base/fatal.h"

namespace puzzled {
namespace {

class ListenTest : public testing::Test {
 protected:
  ListenTest() {
    char path[] = "/tmp/puzzled_listen_XXXXXX";
    folder_ = ::mkdtemp(path);
  }
  ~ListenTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string socket_path() const { return folder_ + "/client.sock"; }
  [[nodiscard]] std::string endpoint() const { return "ipc://" + socket_path(); }

  // The exit code of the refusal, and its text in `text_`; 0: none.
  int refusal(const std::string& endpoint, bool insecure = false) {
    try {
      const EndpointLock lock(endpoint, insecure);
      zmq::context_t context;
      zmq::socket_t socket(context, zmq::socket_type::router);
      listen(socket, lock);
      return 0;
    } catch (const Fatal& error) {
      text_ = error.what();
      return error.exit_code();
    }
  }

  std::string folder_;
  std::string text_;
};

TEST_F(ListenTest, TheSocketIsOursAlone) {
  const EndpointLock lock(endpoint(), false);
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::router);
  EXPECT_EQ(listen(socket, lock), endpoint());
  struct stat info {};
  ASSERT_EQ(::stat(socket_path().c_str(), &info), 0);
  EXPECT_TRUE(S_ISSOCK(info.st_mode));
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(ListenTest, ASecondDaemonIsRefusedWithThePid) {
  const EndpointLock lock(endpoint(), false);
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::router);
  EXPECT_EQ(listen(socket, lock), endpoint());
  EXPECT_EQ(refusal(endpoint()), kExitRefused);
  EXPECT_NE(text_.find(std::to_string(::getpid())), std::string::npos) << text_;
  EXPECT_TRUE(std::filesystem::exists(socket_path()));
}

TEST_F(ListenTest, AStaleSocketIsReplaced) {
  {
    const EndpointLock lock(endpoint(), false);
    zmq::context_t context;
    zmq::socket_t socket(context, zmq::socket_type::router);
    listen(socket, lock);
    std::filesystem::rename(socket_path(), folder_ + "/kept");  // as after kill -9
  }
  std::filesystem::rename(folder_ + "/kept", socket_path());
  EXPECT_EQ(refusal(endpoint()), 0);
}

TEST_F(ListenTest, AFileThatIsNoSocketStays) {
  std::ofstream(socket_path()) << "precious";
  EXPECT_EQ(refusal(endpoint()), 2);
  EXPECT_TRUE(std::filesystem::is_regular_file(socket_path()));
}

TEST_F(ListenTest, MakesAPrivateFolder) {
  EXPECT_EQ(refusal("ipc://" + folder_ + "/new/client.sock"), 0);
  struct stat info {};
  ASSERT_EQ(::stat((folder_ + "/new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
}

TEST_F(ListenTest, OnlyLoopbackTcpUnlessAskedFor) {
  EXPECT_EQ(refusal("tcp://127.0.0.1:*"), 0);
  EXPECT_EQ(refusal("tcp://0.0.0.0:*"), 2);
  EXPECT_NE(text_.find("--insecure-tcp"), std::string::npos) << text_;
  EXPECT_EQ(refusal("tcp://*:*"), 2);
  EXPECT_EQ(refusal("tcp://0.0.0.0:*", true), 0);
  EXPECT_TRUE(is_loopback("tcp://[::1]:5"));
  EXPECT_TRUE(is_loopback("tcp://localhost:5"));
  EXPECT_FALSE(is_loopback("tcp://127.evil.example:5"));
  EXPECT_FALSE(is_loopback("tcp://10.0.0.1:5"));
}

TEST_F(ListenTest, APortInUseIsAnotherDaemon) {
  const EndpointLock lock("tcp://127.0.0.1:*", false);
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::router);
  EXPECT_EQ(refusal(listen(socket, lock)), kExitRefused);
}

}  // namespace
}  // namespace puzzled
