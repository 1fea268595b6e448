// Messages between client and broker are lost, repeated, or take their connection with them.
#include <gmock/gmock.h>

#include <atomic>
#include <optional>
#include <set>

#include "proto/client.pb.h"
#include "tests/e2e/faults.h"
#include "tests/e2e/messages.h"
#include "tests/support/frame_proxy.h"

namespace puzzled::testing {
namespace {

using Fate = FrameProxy::Fate;
using Way = FrameProxy::Way;

class LostRepliesTest : public FaultsTest {
 protected:
  using Kind = proto::ClientReply::BodyCase;
  static constexpr std::size_t kCases = 5'000;  // five chunks

  // Clients that are started from now on go through a proxy with this rule.
  void between_clients(FrameProxy::Rule rule) {
    proxy_.emplace(path("p.sock"), path("client.sock"), std::move(rule));
    environment_["PUZZLED_ENDPOINT"] = "ipc://" + path("p.sock").string();
  }
  void expect_one_right_job(const std::string& input) {
    environment_["PUZZLED_ENDPOINT"] = endpoint_;
    EXPECT_EQ(Json::parse(ctl_out({"jobs", "--output", "json"})).size(), 1U);
    expect_right("1", input);
    EXPECT_EQ(status("1").at("cases"), kCases);
  }

  std::optional<FrameProxy> proxy_;
};

TEST_F(LostRepliesTest, ARequestWhoseReplyIsLostWithTheConnectionIsRepeated) {
  Process daemon = start_daemon({"--workers", "0"});
  // The first reply of each kind never arrives.
  std::set<Kind> lost;
  between_clients([&](Way way, int, std::string_view message) {
    if (way == Way::kToBroker) return Fate::kPass;
    const Kind kind = decoded<proto::ClientReply>(message).body_case();
    return lost.insert(kind).second ? Fate::kCut : Fate::kPass;
  });
  const std::string input = bishops_file(kCases);
  Process client = start({kCtl, "submit", "bishops", file("a.in", input), "--wait"});
  ASSERT_TRUE(eventually([&] { return !client.out().empty(); })) << "it waits now";
  Process worker = start_test_worker();
  const auto ended = client.wait(std::chrono::seconds(100));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 0) << ended->err;
  EXPECT_EQ(ended->out, "1\n");
  EXPECT_GE(proxy_->connections(), 5);
  proxy_.reset();
  for (const Kind kind :
       {Kind::kJobOpened, Kind::kChunkAccepted, Kind::kJobSealed, Kind::kJobDone}) {
    EXPECT_TRUE(lost.contains(kind)) << kind;
  }
  expect_one_right_job(input);
}

TEST_F(LostRepliesTest, ADaemonThatSeemsDeafIsAskedAgainOverAnotherConnection) {
  Process daemon = start_daemon();
  between_clients([](Way way, int connection, std::string_view) {
    return way == Way::kFromBroker && connection == 0 ? Fate::kLose : Fate::kPass;
  });
  const std::string input = bishops_file(kCases);
  EXPECT_EQ(submit({"--connect-timeout", "60s", "bishops", file("a.in", input), "--wait"}), "1");
  EXPECT_GE(proxy_->connections(), 2);
  expect_one_right_job(input);
}

TEST_F(LostRepliesTest, RequestsAndRepliesThatComeTwiceChangeNothing) {
  Process daemon = start_daemon();
  between_clients([](Way, int, std::string_view) { return Fate::kTwice; });
  const std::string input = bishops_file(kCases);
  EXPECT_EQ(submit({"bishops", file("a.in", input), "--wait"}), "1");
  expect_one_right_job(input);
}

TEST_F(LostRepliesTest, ChunksThatGetLostAreRepeatedInTheirOrder) {
  Process daemon = start_daemon();
  std::atomic<int> chunks{0};
  between_clients([&](Way way, int, std::string_view message) {
    const bool chunk =
        way == Way::kToBroker && decoded<proto::ClientRequest>(message).has_add_chunk();
    return chunk && ++chunks % 4 == 0 ? Fate::kCut : Fate::kPass;
  });
  const std::string input = bishops_file(kCases);
  EXPECT_EQ(submit({"bishops", file("a.in", input), "--wait"}), "1");
  EXPECT_GT(proxy_->connections(), 1);
  expect_one_right_job(input);
}

}  // namespace
}  // namespace puzzled::testing
