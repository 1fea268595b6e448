// Opening, chunks, seal, cancel, waiting: what clients are told, and when.
#include <gtest/gtest.h>

#include "tests/broker/driver.h"

namespace puzzled {
namespace {

using message::ErrorCode;

TEST(Upload, RepliesRideWithTheCommit) {
  Driver d;
  d.durable_at_once = false;
  d.open(1);
  EXPECT_EQ(d.effects.step, 1U);
  EXPECT_TRUE(d.effects.now.empty());
  ASSERT_EQ(d.sent_when_durable<message::JobOpened>().size(), 1U);
  EXPECT_EQ(d.recorded<record::InsertJob>().size(), 1U);
  d.add(1, 0, 5);
  EXPECT_TRUE(d.effects.now.empty());
  EXPECT_EQ(d.sent_when_durable<message::ChunkAccepted>().size(), 1U);
  d.seal(1, 1, 5);
  EXPECT_EQ(d.sent_when_durable<message::JobSealed>().size(), 1U);
  EXPECT_EQ(d.effects.step, 3U);
  d.tick_after(1);
  EXPECT_EQ(d.effects.step, 3U) << "a step without records has no number of its own";
}

TEST(Upload, PipelineByRequestIdNeedsNoReply) {
  Driver d;
  d.durable_at_once = false;
  d.open(1);
  for (ChunkNo i = 0; i < 4; ++i) {
    d.add(1, i, 10);
    EXPECT_FALSE(d.error());
  }
  d.seal(1, 4, 40);
  EXPECT_EQ(d.sent_when_durable<message::JobSealed>().front().job, JobId{1});
}

TEST(Upload, SameRequestSameJob) {
  Driver d;
  d.open(1);
  d.add(1, 0, 5);
  d.open(1);
  const auto again = d.sent_when_durable<message::JobOpened>();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].job, JobId{1});
  EXPECT_EQ(again[0].next_chunk, 1U);
  EXPECT_EQ(again[0].digest, wire::fold_digest(wire::kEmptyDigest, 7));
  EXPECT_FALSE(again[0].sealed);
  EXPECT_TRUE(d.recorded<record::InsertJob>().empty());
  EXPECT_EQ(d.open(1, "duel").now.size(), 1U);
  EXPECT_EQ(d.error(), ErrorCode::kConflict);
}

TEST(Upload, DuplicateOpenOfAFinishedJob) {
  Driver d;
  d.open(1);
  d.seal(1, 0, 0);
  d.open(1);
  const auto again = d.sent_when_durable<message::JobOpened>();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_TRUE(again[0].sealed);
  EXPECT_EQ(again[0].digest, wire::kEmptyDigest);
  d.open(1, "duel");
  EXPECT_EQ(d.error(), ErrorCode::kConflict);
}

TEST(Upload, ChunkAgainIsAcceptedOnlyWithTheSameHash) {
  Driver d;
  d.open(1);
  d.add(1, 0, 5, 11);
  d.add(1, 0, 5, 11);
  EXPECT_EQ(d.sent_when_durable<message::ChunkAccepted>().size(), 1U);
  EXPECT_TRUE(d.recorded<record::InsertChunk>().empty());
  d.add(1, 0, 5, 12);
  EXPECT_EQ(d.error(), ErrorCode::kConflict);
}

TEST(Upload, ChunkOfASealedJob) {
  Driver d;
  d.submit(1, 5);
  for (const bool same : {true, false}) {
    d.add(1, 0, 5, 99);
    EXPECT_TRUE(d.effects.when_durable.empty()) << "what is stored is not known yet";
    ASSERT_EQ(d.effects.comparisons.size(), 1U);
    const CompareChunk asked = d.effects.comparisons.front();
    EXPECT_EQ(asked.job, JobId{1});
    EXPECT_EQ(asked.hash, 99U);
    d.step(event::ChunkCompared{asked.peer, asked.request, asked.chunk_no, same});
    EXPECT_EQ(d.sent_when_durable<message::ChunkAccepted>().size(), same ? 1U : 0U);
    EXPECT_EQ(d.error(), same ? std::nullopt : std::optional(ErrorCode::kConflict));
  }
  d.add(1, 1, 5);
  EXPECT_EQ(d.error(), ErrorCode::kJobSealed);
}

TEST(Upload, ThereAreNoMoreJobsThanTheStoreCanNumber) {
  BrokerOptions options;
  options.job_number_max = 2;
  Driver d(options);
  d.open(1);
  d.open(2);
  EXPECT_FALSE(d.error());
  d.open(3);
  EXPECT_EQ(d.error(), ErrorCode::kTooLarge);
  EXPECT_TRUE(d.effects.records.empty());
  d.open(2);
  EXPECT_EQ(d.sent_when_durable<message::JobOpened>().size(), 1U) << "those that are there go on";
}

TEST(Upload, ChunksAndFilesHaveALimit) {
  BrokerOptions options;
  options.job_chunks_max = 2;
  options.job_files_max = 3;
  Driver d(options);
  d.open(1);
  d.add(1, 0, 5);
  d.add(1, 1, 5);
  EXPECT_FALSE(d.error());
  d.add(1, 2, 5);
  EXPECT_EQ(d.error(), ErrorCode::kTooLarge);
  d.open(2);
  const auto with_files = [&](std::size_t files) {
    event::AddChunk chunk{Driver::kClient, ++d.request, bytes16(2), 0, {}, make_cases(1), 7};
    for (std::size_t i = 0; i < files; ++i) {
      chunk.files.push_back({.path = "f", .first_case = 1, .case_count = i + 1 == files ? 1U : 0U});
    }
    d.step(std::move(chunk));
  };
  with_files(4);
  EXPECT_EQ(d.error(), ErrorCode::kTooLarge);
  with_files(3);
  EXPECT_FALSE(d.error());
}

TEST(Upload, ChunksComeInOrder) {
  Driver d;
  d.open(1);
  d.add(1, 1, 5);
  EXPECT_EQ(d.error(), ErrorCode::kOutOfOrder);
  d.add(2, 0, 5);
  EXPECT_EQ(d.error(), ErrorCode::kUnknownJob);
}

TEST(Upload, SealComparesCountsAndDigest) {
  Driver d;
  d.open(1);
  d.add(1, 0, 5);
  d.seal(1, 2, 10);
  EXPECT_EQ(d.error(), ErrorCode::kOutOfOrder);
  d.seal(1, 1, 6);
  EXPECT_EQ(d.error(), ErrorCode::kInvalidArgument);
  d.seal(1, 1, 5, 8);
  EXPECT_EQ(d.error(), ErrorCode::kConflict);
  d.seal(1, 1, 5);
  EXPECT_FALSE(d.error());
  d.seal(1, 1, 5);
  EXPECT_EQ(d.sent_when_durable<message::JobSealed>().size(), 1U);
  EXPECT_TRUE(d.recorded<record::SealJob>().empty());
  d.seal(1, 1, 5, 8);
  EXPECT_EQ(d.error(), ErrorCode::kConflict);
}

TEST(Upload, EmptyJobIsDoneAtOnce) {
  Driver d;
  d.open(1);
  d.step(event::WaitJob{Driver::kClient, 50, JobId{1}});
  EXPECT_TRUE(d.effects.when_durable.empty());
  d.seal(1, 0, 0);
  EXPECT_EQ(d.recorded<record::SealJob>().size(), 1U);
  EXPECT_EQ(d.recorded<record::FinishJob>().size(), 1U);
  ASSERT_EQ(d.sent_when_durable<message::JobDone>().size(), 1U);
  EXPECT_EQ(d.sent_when_durable<message::JobDone>()[0].request, 50U);
  EXPECT_TRUE(d.effects.now.empty());
}

TEST(Upload, ChunkWithoutCases) {
  Driver d;
  d.open(1);
  d.add(1, 0, 0);
  EXPECT_FALSE(d.error());
  d.seal(1, 1, 0);
  EXPECT_EQ(d.recorded<record::FinishJob>().size(), 1U);
}

event::AddChunk with_files(ChunkNo chunk_no, std::uint32_t cases, std::vector<FileEntry> files) {
  return {Driver::kClient, 1, bytes16(1), chunk_no, std::move(files), make_cases(cases), 7};
}

TEST(Upload, FilesMustFollowEachOther) {
  const std::vector<std::vector<FileEntry>> wrong = {
      {{"a", 2, 9}},                 // starts too late
      {{"a", 1, 4}},                 // leaves cases without a file
      {{"a", 1, 4}, {"b", 6, 5}},    // a gap
      {{"a", 1, 4}, {"b", 4, 7}},    // an overlap
      {{"a", 1, 10}, {"b", 11, 1}},  // starts in the next chunk
      {{"a", 0, 10}},
      {{"a", 1, UINT64_MAX}},
  };
  for (const auto& files : wrong) {
    Driver d;
    d.open(1);
    d.step(with_files(0, 10, files));
    EXPECT_EQ(d.error(), ErrorCode::kInvalidArgument) << files[0].first_case;
    EXPECT_TRUE(d.effects.records.empty());
  }
  Driver d;
  d.open(1);
  d.step(with_files(0, 10,
                    {
                        {"empty", 1, 0},
                        {"a", 1, 4},
                        {"b", 5, 16},
                    }));
  EXPECT_FALSE(d.error());
  d.step(with_files(1, 9, {}));
  EXPECT_FALSE(d.error());
  d.step(event::SealJob{Driver::kClient, 2, bytes16(1), 2, 19, 3,
                        wire::fold_digest(wire::fold_digest(wire::kEmptyDigest, 7), 7)});
  EXPECT_EQ(d.error(), ErrorCode::kInvalidArgument) << "file b has one case more";
  d.step(with_files(2, 1, {{"last", 21, 0}}));
  EXPECT_FALSE(d.error());
  EXPECT_EQ(d.recorded<record::InsertChunk>()[0].first_file_no, 4U);
}

TEST(Upload, BadSpecIsRefused) {
  Driver d;
  d.open(1, "", 0);
  EXPECT_EQ(d.error(), ErrorCode::kInvalidArgument);
  d.open(1, "bishops", 101);
  EXPECT_EQ(d.error(), ErrorCode::kInvalidArgument);
  d.add(1, 0, 1);
  EXPECT_EQ(d.error(), ErrorCode::kUnknownJob);
}

TEST(Upload, PausedIntakeTakesNothingNew) {
  Driver d;
  d.open(1);
  d.add(1, 0, 5);
  d.step(event::IntakePaused{"the disk is full"});
  EXPECT_EQ(d.broker->intake_paused(), "the disk is full");
  d.open(2);
  EXPECT_EQ(d.error(), ErrorCode::kUnavailable);
  d.add(1, 1, 5);
  EXPECT_EQ(d.error(), ErrorCode::kUnavailable);
  EXPECT_EQ(d.sent_now<message::Error>()[0].text, "the disk is full");
  d.seal(1, 1, 5);
  EXPECT_EQ(d.error(), ErrorCode::kUnavailable);
  // What was there before is still answered, and solved.
  d.open(1);
  EXPECT_FALSE(d.error());
  d.add(1, 0, 5);
  EXPECT_FALSE(d.error());
  d.loads_at_once = true;
  d.ready(1, 1);
  EXPECT_EQ(d.dispatched(), 5U);
  d.step(event::IntakeResumed{});
  EXPECT_EQ(d.broker->intake_paused(), "");
  d.add(1, 1, 5);
  EXPECT_FALSE(d.error());
}

TEST(Upload, UnacknowledgedChunksOfAClientAreLimited) {
  BrokerOptions options;
  options.unacknowledged_chunks_max = 2;
  Driver d(options);
  d.durable_at_once = false;
  d.open(1);
  d.add(1, 0, 1);
  d.add(1, 1, 1);
  EXPECT_FALSE(d.error());
  d.add(1, 2, 1);
  EXPECT_EQ(d.error(), ErrorCode::kUnavailable);
  d.step(event::RecordsDurable{2});  // the job and the first chunk
  d.add(1, 2, 1);
  EXPECT_FALSE(d.error());
}

TEST(Upload, LimitsOnJobsAndCases) {
  BrokerOptions options;
  options.open_jobs_max = 1;
  options.job_cases_max = 10;
  Driver d(options);
  d.open(1);
  d.open(2);
  EXPECT_EQ(d.error(), ErrorCode::kUnavailable);
  d.add(1, 0, 11);
  EXPECT_EQ(d.error(), ErrorCode::kTooLarge);
  d.add(1, 0, 10);
  EXPECT_FALSE(d.error());
}

TEST(Cancel, EndsTheJobAndTellsEverybody) {
  Driver d;
  d.ready(1, 1);
  d.submit(1, 5);
  d.step(event::WaitJob{PeerId{101}, 9, JobId{1}});
  d.step(event::CancelJob{Driver::kClient, 10, JobId{1}, "wrong files"});
  ASSERT_EQ(d.recorded<record::CancelJob>().size(), 1U);
  EXPECT_EQ(d.recorded<record::CancelJob>()[0].reason, "wrong files");
  EXPECT_EQ(d.sent_when_durable<message::JobCancelled>().size(), 1U);
  EXPECT_EQ(d.sent_when_durable<message::JobDone>().size(), 1U);
  ASSERT_EQ(d.sent_now<message::Revoke>().size(), 1U);
  EXPECT_EQ(d.sent_now<message::Revoke>()[0].leases, std::vector{LeaseId{1}});
  EXPECT_EQ(d.broker->leases(), 0U);
  // Late results are dropped.
  d.results(1, 1, range(0, 5));
  EXPECT_EQ(d.sent_now<message::Stale>().size(), 1U);
  EXPECT_TRUE(d.effects.records.empty());
  // Again, and everything else a client may try.
  d.step(event::CancelJob{Driver::kClient, 11, JobId{1}, "again"});
  EXPECT_EQ(d.sent_when_durable<message::JobCancelled>().size(), 1U);
  EXPECT_TRUE(d.effects.records.empty());
  d.open(1);
  EXPECT_EQ(d.error(), ErrorCode::kJobCancelled);
  d.add(1, 1, 1);
  EXPECT_EQ(d.error(), ErrorCode::kJobCancelled);
  d.seal(1, 1, 5);
  EXPECT_EQ(d.error(), ErrorCode::kJobCancelled);
  d.step(event::WaitJob{Driver::kClient, 12, JobId{1}});
  EXPECT_EQ(d.sent_when_durable<message::JobDone>().size(), 1U);
}

TEST(Cancel, UnknownAndFinishedJobs) {
  Driver d;
  d.step(event::CancelJob{Driver::kClient, 1, JobId{7}, ""});
  EXPECT_EQ(d.error(), ErrorCode::kUnknownJob);
  d.step(event::WaitJob{Driver::kClient, 1, JobId{7}});
  EXPECT_EQ(d.error(), ErrorCode::kUnknownJob);
  d.open(1);
  d.seal(1, 0, 0);
  d.step(event::CancelJob{Driver::kClient, 1, JobId{1}, ""});
  EXPECT_EQ(d.error(), ErrorCode::kJobFinished);
}

TEST(Cancel, AnUploadThatIsNeverSealedExpires) {
  BrokerOptions options;
  options.upload_expiry_ms = 10'000;
  Driver d(options);
  d.open(1);
  d.tick_after(9'000);
  d.add(1, 0, 1);
  d.tick_after(9'999);
  EXPECT_TRUE(d.recorded<record::CancelJob>().empty());
  EXPECT_LE(d.broker->next_deadline(), d.now.steady_ms + 1);
  d.tick_after(1);
  EXPECT_EQ(d.recorded<record::CancelJob>().size(), 1U);
  d.add(1, 1, 1);
  EXPECT_EQ(d.error(), ErrorCode::kJobCancelled);
}

TEST(Wait, AClientThatIsGoneIsForgotten) {
  Driver d;
  d.ready(1, 1);
  d.submit(1, 1);
  d.step(event::WaitJob{PeerId{101}, 1, JobId{1}});
  d.step(event::WaitJob{PeerId{102}, 2, JobId{1}});
  d.step(event::ClientGone{PeerId{101}});
  d.results(1, 1, {0});
  ASSERT_EQ(d.sent_when_durable<message::JobDone>().size(), 1U);
  EXPECT_EQ(d.sent_when_durable<message::JobDone>()[0].request, 2U);
}

TEST(Wait, TwiceByOneClientIsAnsweredTwice) {
  Driver d;
  d.open(1);
  d.step(event::WaitJob{PeerId{101}, 1, JobId{1}});
  d.step(event::WaitJob{PeerId{101}, 2, JobId{1}});
  d.seal(1, 0, 0);
  EXPECT_EQ(d.sent_when_durable<message::JobDone>().size(), 2U);
}

TEST(Wait, RequestsOfAClientAreLimited) {
  BrokerOptions options;
  options.waits_max = 1;
  Driver d(options);
  d.submit(1, 1);
  d.step(event::WaitJob{PeerId{101}, 1, JobId{1}});
  EXPECT_FALSE(d.error());
  d.step(event::WaitJob{PeerId{101}, 2, JobId{1}});
  EXPECT_EQ(d.error(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace puzzled
