// What a broker makes of what the store knows.
#include <gtest/gtest.h>

#include "tests/broker/driver.h"

namespace puzzled {
namespace {

RecoveredJob recovered(std::uint64_t job, std::uint8_t id, std::uint32_t chunks,
                       std::uint32_t cases_each) {
  RecoveredJob r;
  r.job = JobId{job};
  r.request_id = bytes16(id);
  JobSpec spec;
  spec.puzzle = "bishops";
  spec.solver = "fast";
  r.spec = std::make_shared<const JobSpec>(spec);
  r.created_ms = 1'699'999'999'000;
  r.chunk_count = chunks;
  r.case_count = std::uint64_t{chunks} * cases_each;
  r.digest = wire::kEmptyDigest;
  for (ChunkNo i = 0; i < chunks; ++i) {
    r.digest = wire::fold_digest(r.digest, 7);
    r.chunk_hashes.push_back(7);
    r.open_chunks.push_back({.chunk_no = i,
                             .first_case = CaseNo{std::uint64_t{i} * cases_each + 1},
                             .case_count = cases_each});
  }
  return r;
}

Recovery with(std::vector<RecoveredJob> jobs) {
  Recovery recovery;
  recovery.boot = Boot{1};
  recovery.last_worker = WorkerNo{40};
  recovery.last_job = JobId{9};
  recovery.jobs = std::move(jobs);
  return recovery;
}

TEST(Recovery, AnUploadGoesOnWhereItWas) {
  Driver d({}, with({recovered(3, 1, 2, 10)}));
  d.open(1);
  const auto opened = d.sent_when_durable<message::JobOpened>();
  ASSERT_EQ(opened.size(), 1U);
  EXPECT_EQ(opened[0].job, JobId{3});
  EXPECT_EQ(opened[0].next_chunk, 2U);
  d.add(1, 1, 10, 8);
  EXPECT_EQ(d.error(), message::ErrorCode::kConflict);
  d.add(1, 1, 10);
  EXPECT_FALSE(d.error());
  d.add(1, 2, 10);
  EXPECT_EQ(d.recorded<record::InsertChunk>().at(0).first_case, CaseNo{21});
  d.seal(1, 3, 30);
  EXPECT_FALSE(d.error());
  d.open(2);
  EXPECT_EQ(d.recorded<record::InsertJob>().at(0).job, JobId{10}) << "ids are not used again";
}

TEST(Recovery, FilesOfAnUploadGoOnAfterARestart) {
  RecoveredJob job = recovered(3, 1, 1, 10);
  job.file_count = 2;
  Driver d({}, with({job}));
  const auto chunk = [](ChunkNo no, std::vector<FileEntry> files) {
    return event::AddChunk{Driver::kClient, 1, bytes16(1), no, std::move(files), make_cases(10), 7};
  };
  d.step(chunk(1, {{"c", 10, 3}}));
  EXPECT_EQ(d.error(), message::ErrorCode::kInvalidArgument);
  d.step(chunk(1, {{"c", 13, 9}}));
  EXPECT_FALSE(d.error()) << "the file before it reaches into this chunk";
  d.step(chunk(2, {{"d", 23, 9}}));
  EXPECT_EQ(d.error(), message::ErrorCode::kInvalidArgument);
  d.step(chunk(2, {{"d", 22, 9}}));
  EXPECT_FALSE(d.error());
}

TEST(Recovery, OpenCasesAreReadAndDispatched) {
  RecoveredJob job = recovered(3, 1, 3, 10);
  job.sealed = true;
  job.chunk_hashes.clear();
  job.open_chunks.erase(job.open_chunks.begin());
  job.open_chunks[0].done_count = 4;
  job.done_count = 14;
  Driver d({}, with({job}));
  d.tick_after(0);
  EXPECT_TRUE(d.effects.loads.empty()) << "nobody could solve them yet";
  d.ready(1, 1);
  ASSERT_EQ(d.effects.loads.size(), 1U) << "chunks of unknown size are read one by one";
  EXPECT_EQ(d.effects.loads[0].chunk_no, 1U);
  EXPECT_TRUE(d.effects.loads[0].with_done);
  EXPECT_EQ(d.effects.loads[0].first_case, CaseNo{11});
  d.step(event::ChunkLoaded{JobId{3}, 1, make_cases(10), {0, 3, 4, 9}});
  ASSERT_EQ(d.effects.loads.size(), 1U);
  EXPECT_FALSE(d.effects.loads[0].with_done);
  const auto slices = d.sent_now<message::Dispatch>().at(0).slices;
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0].first, 1U);
  EXPECT_EQ(slices[0].count, 2U);
  EXPECT_EQ(slices[1].first, 5U);
  EXPECT_EQ(slices[1].count, 4U);
  d.results(1, 1, range(0, 6));
  EXPECT_EQ(d.recorded<record::InsertWorker>().at(0).worker, WorkerNo{41});
  d.step(event::ChunkLoaded{JobId{3}, 2, make_cases(10), {}});
  d.results(1, 2, range(0, 10));
  EXPECT_EQ(d.recorded<record::FinishJob>().size(), 1U);
}

TEST(Recovery, EndedJobsAnswerDuplicates) {
  RecoveredJob done = recovered(3, 1, 1, 10);
  done.sealed = done.finished = true;
  done.open_chunks.clear();
  RecoveredJob cancelled = recovered(4, 2, 1, 10);
  cancelled.cancelled = true;
  cancelled.open_chunks.clear();
  Driver d({}, with({done, cancelled}));
  d.seal(1, 1, 10);
  EXPECT_EQ(d.sent_when_durable<message::JobSealed>().size(), 1U);
  d.seal(1, 1, 10, 9);
  EXPECT_EQ(d.error(), message::ErrorCode::kConflict);
  d.step(event::WaitJob{Driver::kClient, 1, JobId{3}});
  EXPECT_EQ(d.sent_when_durable<message::JobDone>().size(), 1U);
  d.open(2);
  EXPECT_EQ(d.error(), message::ErrorCode::kJobCancelled);
  d.step(event::CancelJob{Driver::kClient, 1, JobId{4}, ""});
  EXPECT_EQ(d.sent_when_durable<message::JobCancelled>().size(), 1U);
}

TEST(Recovery, ChargesAreRestoredAndTakenBackFromTheLiving) {
  const auto start = [](std::vector<RecoveredAttempt> attempts) {
    RecoveredJob job = recovered(3, 1, 1, 10);
    job.sealed = true;
    job.attempts = std::move(attempts);
    auto d = std::make_unique<Driver>(BrokerOptions{}, with({job}));
    return d;
  };
  const std::vector<RecoveredAttempt> two = {{CaseNo{5}, 1, bytes16(21)},
                                             {CaseNo{5}, 2, bytes16(22)}};
  const auto die = [](Driver& d) {
    d.ready(1, 1);
    d.step(event::ChunkLoaded{JobId{3}, 0, make_cases(10), {}});
    ASSERT_EQ(d.sent_now<message::Dispatch>().size(), 1U);
    EXPECT_TRUE(d.sent_now<message::Dispatch>()[0].alone);
    EXPECT_EQ(d.sent_now<message::Dispatch>()[0].attempt, 3U);
    d.heartbeat(1, {1}, {{LeaseId{1}, 0, 1}});
    d.tick_after(3'000);
  };
  const auto d = start(two);
  die(*d);
  ASSERT_EQ(d->recorded<record::InsertResults>().size(), 1U);
  EXPECT_EQ(d->recorded<record::InsertResults>()[0].results.results[0].message,
            "quarantined: 3 workers died on this case: one before the daemon's restart; "
            "one before the daemon's restart; w1 (here, pid 0)");
  const auto e = start(two);
  e->ready(22, 22, 0);
  e->step(event::WorkerGoodbye{PeerId{22}, ""});
  e->step(event::ChunkLoaded{JobId{3}, 0, make_cases(10), {}});
  die(*e);
  EXPECT_TRUE(e->recorded<record::InsertResults>().empty());
}

TEST(Recovery, AnUploadOfTheLastBootExpiresToo) {
  BrokerOptions options;
  options.upload_expiry_ms = 24'000;
  RecoveredJob job = recovered(3, 1, 1, 10);
  job.created_ms = 1'600'000'000'000;
  Driver d(options, with({job}));
  d.tick_after(0);
  EXPECT_TRUE(d.recorded<record::CancelJob>().empty()) << "its client may come back first";
  d.tick_after(1'000);
  EXPECT_EQ(d.recorded<record::CancelJob>().size(), 1U);
}

}  // namespace
}  // namespace puzzled
