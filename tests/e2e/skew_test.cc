// Programs of neighbouring protocol versions: a proxy rewrites what passes, so that each side sees
// a peer of another version, with fields and messages that it does not know or without those that
// it does.
#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>

#include <optional>
#include <utility>

#include "proto/client.pb.h"
#include "proto/worker.pb.h"
#include "tests/e2e/faults.h"
#include "tests/e2e/messages.h"
#include "tests/support/frame_proxy.h"

namespace puzzled::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using Way = FrameProxy::Way;

// Fields that a later version may add.
template <class Message>
void add_unknown_fields(Message& message) {
  auto& fields = *message.GetReflection()->MutableUnknownFields(&message);
  fields.AddVarint(9'000, 7);
  fields.AddLengthDelimited(9'001, "news");
}

// What the minor version before did not have.
void make_older(proto::FromWorker& m) {
  if (m.has_ready()) m.mutable_ready()->clear_labels();
}
void make_older(proto::ToWorker&) {}
void make_older(proto::ClientRequest& m) {
  if (!m.has_open_job()) return;
  m.mutable_open_job()->mutable_spec()->clear_require();
  m.mutable_open_job()->mutable_spec()->clear_solver_version();
}
void make_older(proto::ClientReply& m) {
  if (m.has_version()) m.mutable_version()->clear_protocol_minor();
  if (m.has_job_status()) {
    m.mutable_job_status()->clear_versions();
    m.mutable_job_status()->clear_canary();
    m.mutable_job_status()->clear_revised();
  }
  if (!m.has_workers_page()) return;
  m.mutable_workers_page()->clear_barred();
  for (proto::WorkerRow& worker : *m.mutable_workers_page()->mutable_workers()) {
    worker.clear_state();
    worker.clear_labels();
    worker.clear_solver_versions();
    worker.clear_canaries_passed();
  }
}

void make_newer(proto::FromWorker& m) {
  if (m.has_ready()) add_unknown_fields(*m.mutable_ready());
}
void make_newer(proto::ToWorker& m) {
  if (m.has_welcome()) add_unknown_fields(*m.mutable_welcome());
  if (m.has_dispatch()) add_unknown_fields(*m.mutable_dispatch());
}
void make_newer(proto::ClientRequest& m) {
  if (m.has_open_job()) add_unknown_fields(*m.mutable_open_job()->mutable_spec());
  if (m.has_get_job()) add_unknown_fields(*m.mutable_get_job());
}
void make_newer(proto::ClientReply& m) {
  if (m.has_job_status()) add_unknown_fields(*m.mutable_job_status());
}

class SkewTest : public FaultsTest {
 protected:
  // What both sides of each connection see of the other: a peer of version MAJOR.MINOR.
  struct Seen {
    int major = wire::kMajor;
    int minor = wire::kMinor;
  };

  void put_between(Seen to_broker, Seen from_broker) {
    client_proxy_.emplace(path("c.sock"), path("client.sock"), pass(),
                          rewrite<proto::ClientRequest, proto::ClientReply>(
                              wire::Role::kClient, to_broker, from_broker));
    worker_proxy_.emplace(
        path("w.sock"), path("worker.sock"), pass(),
        rewrite<proto::FromWorker, proto::ToWorker>(wire::Role::kWorker, to_broker, from_broker));
    skewed_endpoint_ = "ipc://" + path("c.sock").string();
    worker_endpoint_ = "ipc://" + path("w.sock").string();
  }
  Ended skewed(Arguments arguments) {
    arguments.insert(arguments.begin(), {"--endpoint", skewed_endpoint_});
    return test_ctl(arguments);
  }
  // A daemon, a worker and a client whose peers are of another version grade a job.
  void expect_all_works() {
    Process daemon = start_daemon(kPatient);
    Process worker = start_test_worker();
    const std::string input = bishops_file(100);
    const Ended submitted = skewed({"submit", "bishops", file("a.in", input), "--wait"});
    EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
    EXPECT_EQ(skewed({"status", "1"}).exit_code, 0);
    EXPECT_EQ(skewed({"results", "1"}).exit_code, 0);
    const Ended workers = skewed({"workers"});
    EXPECT_EQ(workers.exit_code, 0);
    EXPECT_THAT(workers.out, HasSubstr("working"));
    expect_right("1", input);
    expect_no_charges();
    EXPECT_TRUE(worker.running());
  }

 private:
  static FrameProxy::Rule pass() {
    return [](Way, int, std::string_view) { return FrameProxy::Fate::kPass; };
  }
  template <class Envelope>
  static std::string changed(Envelope envelope, wire::Role sender, Seen seen) {
    if (seen.minor < wire::kMinor) make_older(envelope);
    if (seen.minor > wire::kMinor) make_newer(envelope);
    std::string frame = wire::encode(sender, envelope);
    frame[5] = static_cast<char>(seen.major);
    frame[6] = static_cast<char>(seen.minor);
    return frame;
  }
  template <class ToBroker, class FromBroker>
  static FrameProxy::Rewrite rewrite(wire::Role peer, Seen to_broker, Seen from_broker) {
    return [=](Way way, std::string_view message) {
      std::vector<std::string> frames;
      if (way == Way::kFromBroker) {
        frames.push_back(changed(decoded<FromBroker>(message), wire::Role::kBroker, from_broker));
      } else {
        frames.push_back(changed(decoded<ToBroker>(message), peer, to_broker));
      }
      // A later worker, or broker to a worker, also says something that is new as a whole.
      const bool to_or_from_worker = peer == wire::Role::kWorker;
      const Seen& seen = way == Way::kFromBroker ? from_broker : to_broker;
      if (to_or_from_worker && seen.minor > wire::kMinor) {
        proto::FromWorker news;  // an envelope with an unknown body looks the same in both ways
        add_unknown_fields(news);
        frames.push_back(changed(news, way == Way::kFromBroker ? wire::Role::kBroker : peer, seen));
      }
      return frames;
    };
  }

  std::string skewed_endpoint_;
  std::optional<FrameProxy> client_proxy_;
  std::optional<FrameProxy> worker_proxy_;
};

TEST_F(SkewTest, PeersOfTheNextMinorVersion) {
  put_between({.minor = wire::kMinor + 1}, {.minor = wire::kMinor + 1});
  expect_all_works();
}

TEST_F(SkewTest, PeersOfTheMinorVersionBefore) {
  put_between({.minor = wire::kMinor - 1}, {.minor = wire::kMinor - 1});
  expect_all_works();
}

TEST_F(SkewTest, WhatAnOlderDaemonWouldIgnoreIsRefusedHere) {
  put_between({}, {.minor = wire::kMinor - 1});
  Process daemon = start_daemon({"--workers", "0"});
  const std::string input = file("a.in", bishops_file(3));
  for (const Arguments& arguments :
       {Arguments{"submit", "bishops", input, "--require", "zone=a"},
        Arguments{"submit", "bishops", input, "--solver", "staircase@1"},
        Arguments{"workers", "drain", "--all"}, Arguments{"canary", "1"},
        Arguments{"admit", "w"}}) {
    const Ended ended = skewed(arguments);
    EXPECT_EQ(ended.exit_code, 4) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("protocol 1.0) is too old for"));
    EXPECT_THAT(ended.err, HasSubstr("upgrade it"));
  }
  EXPECT_EQ(ctl_out({"jobs", "--output", "jsonl"}), "") << "nothing was submitted";
}

TEST_F(SkewTest, PeersTooFarAheadAreRefusedByTheDaemon) {
  put_between({.minor = wire::kMinor + 2}, {});
  Process daemon = start_daemon({"--workers", "0"});
  const Ended client = skewed({"jobs"});
  EXPECT_EQ(client.exit_code, 4);
  EXPECT_THAT(client.err, HasSubstr("the client speaks protocol version 1.3 and this daemon"));
  EXPECT_THAT(client.err, HasSubstr("upgrade this daemon"));
  Process worker = start_test_worker();
  const auto ended = worker.wait(seconds(60));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 4);
  EXPECT_THAT(ended->err, HasSubstr("the worker speaks protocol version 1.3 and this daemon"));
}

TEST_F(SkewTest, ADaemonTooFarAheadIsRefusedByItsPeers) {
  put_between({}, {.minor = wire::kMinor + 2});
  Process daemon = start_daemon({"--workers", "0"});
  const Ended client = skewed({"jobs"});
  EXPECT_EQ(client.exit_code, 4);
  EXPECT_THAT(client.err, HasSubstr("speaks protocol version 1.3 and this puzzlectl"));
  Process worker = start_test_worker();
  const auto ended = worker.wait(seconds(60));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 4);
  EXPECT_THAT(ended->err, HasSubstr("the daemon speaks protocol version 1.3 and this worker"));
}

TEST_F(SkewTest, AnotherMajorVersionIsRefusedByBothSides) {
  put_between({.major = wire::kMajor + 1}, {.major = wire::kMajor + 1});
  Process daemon = start_daemon({"--workers", "0"});
  const Ended client = skewed({"jobs"});
  EXPECT_EQ(client.exit_code, 4);
  EXPECT_THAT(client.err, HasSubstr("different major versions do not work together"));
  Process worker = start_test_worker();
  const auto ended = worker.wait(seconds(60));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 4);
  EXPECT_THAT(ended->err, HasSubstr("different major versions do not work together"));
}

}  // namespace
}  // namespace puzzled::testing
