#include "client/connection.h"

#include <gtest/gtest.h>

#include <thread>

#include "client/calls.h"
#include "client/failure.h"
#include "client/interrupt.h"
#include "tests/client/fake_broker.h"
#include "tests/client/support.h"

namespace puzzled::client {
namespace {

// Short, so that a test takes moments; nothing is asserted about them.
ConnectionOptions quick(const std::string& endpoint) {
  ConnectionOptions options;
  options.endpoints = {endpoint};
  options.connect_timeout_ms = 10'000;
  options.patience_ms = 10'000;
  options.ping_ms = 50;
  options.liveness_ms = 200;
  options.repeat_ms = 300;
  options.retry_ms = 20;
  return options;
}

template <class Function>
int exit_code_of(Function function, std::string* text = nullptr) {
  try {
    function();
  } catch (const Failure& failure) {
    if (text != nullptr) *text = failure.what() + std::string("; ") + failure.advice();
    return failure.exit_code();
  }
  return kExitOk;
}

TEST(Connection, CallsAndPipelines) {
  FakeBroker broker;
  Connection connection(quick(broker.endpoint()));
  EXPECT_EQ(get_version(connection).pid(), 42U);
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 100; ++i) {
    proto::ClientRequest request;
    request.mutable_get_version();
    ids.push_back(connection.send(request));
  }
  for (const std::uint64_t id : ids) {
    const auto reply = connection.receive(Connection::Clock::time_point::max());
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->id(), id);
  }
  EXPECT_EQ(connection.unanswered(), 0U);
}

TEST(Connection, RepliesToOthersSurviveACall) {
  FakeBroker broker;
  Connection connection(quick(broker.endpoint()));
  proto::ClientRequest request;
  request.mutable_list_workers();
  const std::uint64_t id = connection.send(request);
  EXPECT_EQ(get_version(connection).pid(), 42U);
  const auto reply = connection.receive(Connection::Clock::time_point::max());
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->id(), id);
}

TEST(Connection, FindsADaemonThatStartsLater) {
  FakeBroker broker;
  broker.stop();
  Connection connection(quick(broker.endpoint()));
  proto::ClientRequest request;
  request.mutable_get_version();
  connection.send(request);
  EXPECT_FALSE(connection.receive(Connection::Clock::now() + std::chrono::milliseconds(50)));
  broker.start();
  EXPECT_TRUE(connection.receive(Connection::Clock::time_point::max()));
}

TEST(Connection, TriesTheOtherCandidates) {
  FakeBroker broker;
  const TemporaryFolder folder;
  ConnectionOptions options = quick("ipc://" + folder.path() + "/nobody.sock");
  folder.file("stale.sock");  // exists, but nobody listens.
  options.endpoints.push_back("ipc://" + folder.path() + "/stale.sock");
  options.endpoints.push_back(broker.endpoint());
  Connection connection(options);
  EXPECT_EQ(get_version(connection).pid(), 42U);
  EXPECT_EQ(connection.endpoint(), broker.endpoint());
}

TEST(Connection, RepeatsAfterARestartOfTheDaemon) {
  FakeBroker broker;
  ConnectionOptions options = quick(broker.endpoint());
  std::vector<std::string> notices;
  options.notice = [&](std::string_view text) { notices.emplace_back(text); };
  Connection connection(options);
  get_version(connection);
  for (int round = 0; round < 3; ++round) {
    broker.stop();
    proto::ClientRequest request;
    request.mutable_list_workers();
    connection.send(request);
    EXPECT_FALSE(connection.receive(Connection::Clock::now() + std::chrono::milliseconds(300)));
    broker.start();
    EXPECT_TRUE(connection.receive(Connection::Clock::time_point::max()));
  }
  ASSERT_EQ(notices.size(), 6U);
  EXPECT_NE(notices[0].find("trying again"), std::string::npos);
  EXPECT_EQ(notices[1], "the daemon is back");
}

TEST(Connection, NobodyThereIsExitCode3) {
  const TemporaryFolder folder;
  ConnectionOptions options = quick("ipc://" + folder.path() + "/nobody.sock");
  options.connect_timeout_ms = 50;
  Connection connection(options);
  std::string text;
  EXPECT_EQ(exit_code_of([&] { get_version(connection); }, &text), kExitUnreachable);
  EXPECT_NE(text.find("no daemon answers at ipc://" + folder.path()), std::string::npos);
  EXPECT_NE(text.find("start one with \"puzzled\""), std::string::npos);
}

TEST(Connection, SilenceIsExitCode3) {
  FakeBroker broker({.silent = true});
  ConnectionOptions options = quick(broker.endpoint());
  options.connect_timeout_ms = 300;
  Connection connection(options);
  EXPECT_EQ(exit_code_of([&] { get_version(connection); }), kExitUnreachable);
}

// Ctrl-Z, a machine that sleeps: nobody listened, and the reply has been there for long.
TEST(Connection, WhatIsNotListenedToIsNotSilent) {
  FakeBroker broker;
  ConnectionOptions options = quick(broker.endpoint());
  options.patience_ms = 1'000;
  Connection connection(options);
  EXPECT_EQ(get_version(connection).pid(), 42U);
  proto::ClientRequest request;
  request.mutable_get_version();
  connection.send(request);
  std::this_thread::sleep_for(std::chrono::milliseconds(1'500));  // the absence that is tested
  EXPECT_EQ(exit_code_of([&] {
              EXPECT_TRUE(connection.receive(Connection::Clock::time_point::max()).has_value());
            }),
            kExitOk);
}

TEST(Connection, RefusalsAreExitCode4WithTheDaemonsWords) {
  FakeBroker broker;
  Connection connection(quick(broker.endpoint()));
  std::string text;
  EXPECT_EQ(exit_code_of([&] { get_job(connection, 99); }, &text), kExitRefused);
  EXPECT_EQ(text, "there is no job 99; ");
}

TEST(Connection, BadEndpointsAreExitCode2) {
  for (const char* endpoint : {"", "here", "http://x", "tcp://host", "ipc://"}) {
    EXPECT_EQ(exit_code_of([&] { Connection connection(quick(endpoint)); }), kExitInvalid)
        << endpoint;
  }
}

TEST(Connection, AnInterruptEndsTheWait) {
  FakeBroker broker({.silent = true});
  Connection connection(quick(broker.endpoint()));
  set_interrupted(true);
  EXPECT_EQ(exit_code_of([&] { get_version(connection); }), kExitInterrupted);
  set_interrupted(false);
}

}  // namespace
}  // namespace puzzled::client
