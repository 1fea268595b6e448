#include "client/upload.h"

#include <gtest/gtest.h>

#include <optional>

#include "client/failure.h"
#include "client/interrupt.h"
#include "proto/wire.h"
#include "tests/client/fake_broker.h"

namespace puzzled::client {
namespace {

// Chunks of one bishops case each; `changed_at` and `other_at` say where they go wrong.
class TestSource : public ChunkSource {
 public:
  explicit TestSource(std::uint32_t count) : count_(count) {}
  bool next(Chunk& chunk, bool with_keys) override {
    asked_keys += with_keys ? '1' : '0';
    if (at_ == changed_at) throw InputChanged("a.in has changed");
    if (at_ == interrupt_at) set_interrupted(true);
    if (at_ == count_) return false;
    chunk = {};
    proto::Case content;
    // Field 1 (n) of a bishops instance: 2, field 2 (k): 0.
    content.set_instance(std::string("\x08\x02", 2));
    if (at_ == other_at) content.set_expected("\x01");
    wire::append_case(content.SerializeAsString(), chunk.cases);
    chunk.case_count = 1;
    proto::File& file = chunk.files.emplace_back();
    file.set_path(std::to_string(at_));
    file.set_first_case(at_ + 1);
    file.set_case_count(1);
    ++at_;
    return true;
  }
  static constexpr std::uint32_t kNever = UINT32_MAX;
  std::uint32_t changed_at = kNever;
  std::uint32_t interrupt_at = kNever;
  std::uint32_t other_at = kNever;
  std::string asked_keys;  // one digit each time

 private:
  std::uint32_t count_;
  std::uint32_t at_ = 0;
};

class Observer : public UploadObserver {
 public:
  void opened(std::uint64_t job, std::uint32_t stored_chunks) override {
    opened_job = job;
    stored = stored_chunks;
  }
  void advanced(std::uint64_t cases) override {
    EXPECT_GE(cases, last);
    last = cases;
  }
  void paused(std::string_view reason) override { pauses.emplace_back(reason); }
  std::uint64_t opened_job = 0;
  std::uint32_t stored = 0;
  std::uint64_t last = 0;
  std::vector<std::string> pauses;
};

ConnectionOptions quick(const FakeBroker& broker) {
  ConnectionOptions options;
  options.endpoints = {broker.endpoint()};
  options.connect_timeout_ms = 10'000;
  options.patience_ms = 10'000;
  options.ping_ms = 50;
  options.liveness_ms = 1'000;
  options.repeat_ms = 100;
  options.retry_ms = 10;
  return options;
}

UploadRequest request() {
  UploadRequest request;
  request.request_id = std::string(16, 'r');
  request.spec.set_puzzle("bishops");
  request.spec.set_solver("staircase");
  return request;
}

// Runs the upload and compares what the daemon has.
void expect_upload(Faults faults, std::uint32_t chunks, std::optional<std::size_t> pauses = 0) {
  FakeBroker broker(faults);
  Observer observer;
  {
    Connection connection(quick(broker));
    TestSource source(chunks);
    EXPECT_EQ(upload(connection, request(), source, observer, {.pause_ms = 1}), 17U);
  }
  broker.stop();
  ASSERT_EQ(broker.jobs().size(), 1U);
  const ModelJob& job = broker.jobs().front();
  EXPECT_TRUE(job.sealed);
  ASSERT_EQ(job.cases.size(), chunks);
  ASSERT_EQ(job.files.size(), chunks);
  for (std::uint32_t i = 0; i < chunks; ++i) EXPECT_EQ(job.files[i].path(), std::to_string(i));
  EXPECT_EQ(observer.opened_job, 17U);
  EXPECT_EQ(observer.pauses.size(), pauses.value_or(observer.pauses.size()));
}

TEST(Upload, StreamsMoreThanTheWindow) { expect_upload({}, 100); }
TEST(Upload, NothingIsAJobToo) { expect_upload({}, 0); }
TEST(Upload, RepliesLost) { expect_upload({.lose_chunk_replies = 5}, 40); }
TEST(Upload, ChunksLost) { expect_upload({.lose_chunks = 5}, 40); }
TEST(Upload, DaemonRestartsAtTheFirstChunk) { expect_upload({.restart_before_chunk = 0}, 40); }
TEST(Upload, DaemonRestartsInTheMiddle) { expect_upload({.restart_before_chunk = 20}, 40); }
TEST(Upload, DaemonRestartsAtTheLastChunk) { expect_upload({.restart_before_chunk = 39}, 40); }
TEST(Upload, IntakePaused) { expect_upload({.unavailable_chunks = 1}, 40, 1); }
TEST(Upload, IntakePausedForLong) { expect_upload({.unavailable_chunks = 5}, 3, 2); }

// This daemon wants none, as those of earlier versions.
TEST(Upload, KeysAreMadeOnlyUntilTheDaemonHasAnswered) {
  FakeBroker broker;
  Observer observer;
  Connection connection(quick(broker));
  TestSource source(20);
  upload(connection, request(), source, observer, {.window_chunks = 3, .pause_ms = 1});
  EXPECT_EQ(source.asked_keys.substr(0, 3), "111") << "one window";
  EXPECT_EQ(source.asked_keys.substr(3).find('1'), std::string::npos) << source.asked_keys;
}

TEST(Upload, AJobThatWantsEveryCaseSolvedHasNoKeys) {
  FakeBroker broker;
  Observer observer;
  Connection connection(quick(broker));
  TestSource source(5);
  UploadRequest without = request();
  without.spec.set_no_cache(true);
  upload(connection, without, source, observer, {.pause_ms = 1});
  EXPECT_EQ(source.asked_keys.find('1'), std::string::npos);
}
TEST(Upload, EverythingAtOnce) {
  expect_upload({.lose_chunk_replies = 3,
                 .lose_chunks = 3,
                 .restart_before_chunk = 7,
                 .unavailable_chunks = 5},
                60, std::nullopt);
}

TEST(Upload, ADaemonThatAcknowledgesNothingIsAskedWhy) {
  FakeBroker broker({.lose_chunk_replies = 16});
  Connection connection(quick(broker));
  TestSource source(40);  // more than the window
  Observer observer;
  upload(connection, request(), source, observer, {.pause_ms = 1, .quiet_ms = 20});
  ASSERT_FALSE(observer.pauses.empty());
  EXPECT_NE(observer.pauses[0].find("a reader of the database"), std::string::npos);
  EXPECT_EQ(connection.unanswered(), 0U);
}

TEST(Upload, AFullDiskForEverEndsWithExitCode3) {
  FakeBroker broker({.unavailable_chunks = 1'000'000});
  Connection connection(quick(broker));
  TestSource source(3);
  Observer observer;
  try {
    upload(connection, request(), source, observer, {.pause_ms = 1, .patience_ms = 50});
    FAIL() << "no failure";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), kExitUnreachable);
    EXPECT_NE(std::string(failure.what()).find("the disk is full"), std::string::npos);
  }
}

// Uploads some chunks and is interrupted.
void interrupt_after(FakeBroker& broker, std::uint32_t chunks, std::uint32_t count) {
  Connection connection(quick(broker));
  TestSource source(count);
  source.interrupt_at = chunks;
  Observer observer;
  try {
    upload(connection, request(), source, observer);
    ADD_FAILURE() << "no interrupt";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), kExitInterrupted);
  }
  set_interrupted(false);
}

TEST(Upload, GoesOnWhereItWasInterrupted) {
  FakeBroker broker({.wants_keys = true});
  interrupt_after(broker, 30, 50);
  broker.stop();
  ASSERT_EQ(broker.jobs().size(), 1U);
  const std::size_t stored = broker.jobs().front().hashes.size();
  EXPECT_GE(stored, 14U);  // all but a window were acknowledged.
  EXPECT_LT(stored, 50U);
  const int before = broker.count(proto::ClientRequest::kAddChunk);
  broker.start();
  {
    Connection connection(quick(broker));
    TestSource source(50);
    Observer observer;
    UploadRequest resumed = request();
    resumed.resume = true;
    EXPECT_EQ(upload(connection, resumed, source, observer), 17U);
    EXPECT_EQ(observer.stored, stored);
    EXPECT_EQ(observer.last, 50U);
    EXPECT_EQ(source.asked_keys.find('1'), stored) << "the daemon has those of the others";
  }
  broker.stop();
  EXPECT_EQ(broker.count(proto::ClientRequest::kAddChunk) - before, 50 - static_cast<int>(stored));
  EXPECT_EQ(broker.jobs().front().cases.size(), 50U);
  EXPECT_TRUE(broker.jobs().front().sealed);
}

TEST(Upload, ResumingASealedJobIsHarmless) {
  FakeBroker broker;
  for (const bool resume : {false, true, false}) {
    Connection connection(quick(broker));
    TestSource source(20);
    Observer observer;
    UploadRequest again = request();
    again.resume = resume;
    EXPECT_EQ(upload(connection, again, source, observer), 17U);
  }
  broker.stop();
  EXPECT_EQ(broker.jobs().size(), 1U);
  EXPECT_EQ(broker.jobs().front().cases.size(), 20U);
}

TEST(Upload, OtherFilesAreRefusedWhenResuming) {
  FakeBroker broker;
  interrupt_after(broker, 30, 50);
  const auto resume = [&](std::uint32_t count, std::uint32_t other_at) {
    Connection connection(quick(broker));
    TestSource source(count);
    source.other_at = other_at;
    Observer observer;
    UploadRequest resumed = request();
    resumed.resume = true;
    try {
      upload(connection, resumed, source, observer);
      return kExitOk;
    } catch (const Failure& failure) {
      EXPECT_NE(std::string(failure.what()).find("the files are not those"), std::string::npos);
      return failure.exit_code();
    }
  };
  EXPECT_EQ(resume(50, 0), kExitInvalid);
  EXPECT_EQ(resume(50, 10), kExitInvalid);
  EXPECT_EQ(resume(3, TestSource::kNever), kExitInvalid);  // fewer than are there already
  EXPECT_EQ(resume(50, TestSource::kNever), kExitOk);
}

TEST(Upload, AChangedFileCancelsTheJob) {
  for (const std::uint32_t at : {0U, 5U, 40U}) {
    FakeBroker broker;
    {
      Connection connection(quick(broker));
      TestSource source(50);
      source.changed_at = at;
      Observer observer;
      try {
        upload(connection, request(), source, observer);
        FAIL() << "no failure";
      } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit_code(), kExitInvalid);
        EXPECT_STREQ(failure.what(), "a.in has changed");
        EXPECT_EQ(failure.advice(), "job 17 was cancelled; submit again");
      }
    }
    broker.stop();
    ASSERT_EQ(broker.jobs().size(), 1U);
    EXPECT_FALSE(broker.jobs().front().sealed);
    EXPECT_TRUE(broker.jobs().front().cancelled);
    EXPECT_EQ(broker.jobs().front().cancel_reason, "a.in has changed");
  }
}

TEST(Upload, ARequestIdOfAnotherJobIsRefused) {
  FakeBroker broker;
  Connection connection(quick(broker));
  TestSource first(3);
  Observer observer;
  upload(connection, request(), first, observer);
  UploadRequest other = request();
  other.spec.set_priority(7);
  TestSource second(3);
  try {
    upload(connection, other, second, observer);
    FAIL() << "no failure";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), kExitRefused);
  }
}

TEST(NewRequestId, DiffersEachTime) {
  EXPECT_EQ(new_request_id().size(), 16U);
  EXPECT_NE(new_request_id(), new_request_id());
}

}  // namespace
}  // namespace puzzled::client
