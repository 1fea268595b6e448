// What a model of the store has on its disk, and what a broker recovers from it. Checks on the way
// that no case gets a second result and no job is finished early.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/broker/effect.h"
#include "proto/base/digest.h"

namespace puzzled {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  std::uint32_t from_to(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(below(high - low + 1));
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

inline constexpr std::uint64_t kHash = 7;
inline const std::vector<std::string> kPuzzles = {"bishops", "duel", "shuttle"};

// What is on the model's disk, and what has been handed in but not committed.
struct Disk {
  struct Chunk {
    CaseNo first_case;
    ChunkCasesPtr cases;
    std::set<std::uint32_t> done;
  };
  struct JobRow {
    Bytes16 request_id{};
    JobSpecPtr spec;
    bool sealed = false;
    bool cancelled = false;
    bool finished = false;
    std::int64_t created_ms = 0;
    std::map<ChunkNo, Chunk> chunks;
    std::set<std::uint64_t> results;
    std::vector<RecoveredAttempt> attempts;
  };
  std::map<std::uint64_t, JobRow> jobs;
  std::uint64_t last_worker = 0;
  std::set<std::uint64_t> workers;

  void apply(const Record& record) {
    std::visit([&](const auto& r) { apply_one(r); }, record);
  }
  void apply_one(const record::InsertJob& r) {
    ASSERT_FALSE(jobs.contains(r.job.value));
    jobs[r.job.value].request_id = r.request_id;
    jobs[r.job.value].spec = r.spec;
    jobs[r.job.value].created_ms = r.created_ms;
  }
  void apply_one(const record::InsertChunk& r) {
    JobRow& job = jobs.at(r.job.value);
    ASSERT_EQ(job.chunks.size(), r.chunk_no);
    job.chunks[r.chunk_no] = {r.first_case, r.cases, {}};
  }
  void apply_one(const record::SealJob& r) { jobs.at(r.job.value).sealed = true; }
  void apply_one(const record::CancelJob& r) { jobs.at(r.job.value).cancelled = true; }
  void apply_one(const record::FinishJob& r) {
    JobRow& job = jobs.at(r.job.value);
    ASSERT_FALSE(job.finished);
    job.finished = true;
    std::uint64_t cases = 0;
    for (const auto& [no, chunk] : job.chunks) cases += chunk.cases->count();
    EXPECT_EQ(job.results.size(), cases) << "finished, but cases are open";
  }
  void apply_one(const record::InsertWorker& r) {
    EXPECT_TRUE(workers.insert(r.worker.value).second);
    last_worker = std::max(last_worker, r.worker.value);
  }
  void apply_one(const record::InsertResults& r) {
    JobRow& job = jobs.at(r.job.value);
    EXPECT_TRUE(workers.contains(r.worker.value));
    EXPECT_FALSE(job.cancelled || job.finished);
    std::uint64_t last = 0;
    for (const record::ResultRow& row : r.rows) {
      EXPECT_GT(row.case_no.value, last) << "not ascending";
      last = row.case_no.value;
      EXPECT_TRUE(job.results.insert(row.case_no.value).second) << "a second result";
      Chunk& chunk = job.chunks.at(row.chunk_no);
      const std::uint64_t position = row.case_no.value - chunk.first_case.value;
      ASSERT_LT(position, chunk.cases->count());
      chunk.done.insert(static_cast<std::uint32_t>(position));
      ASSERT_LT(row.index, r.results.results.size());
    }
  }
  void apply_one(const record::InsertAttempt& r) {
    EXPECT_TRUE(workers.contains(r.worker.value));
    jobs.at(r.job.value).attempts.push_back({r.case_no, r.attempt, r.start_id});
  }
  void apply_one(const record::RetractAttempt& r) {
    const auto erased = std::erase_if(jobs.at(r.job.value).attempts, [&](const auto& attempt) {
      return attempt.case_no == r.case_no && attempt.start_id == r.start_id;
    });
    EXPECT_EQ(erased, 1U) << "retracts what was not charged";
  }

  // This model has no canaries: the simulator has.
  template <class OfCanaries>
  void apply_one(const OfCanaries&) {
    ADD_FAILURE() << "no job is marked";
  }

  [[nodiscard]] Recovery recover(Boot boot) const {
    Recovery recovery;
    recovery.boot = boot;
    recovery.last_worker = WorkerNo{last_worker};
    for (const auto& [id, job] : jobs) {
      recovery.last_job = JobId{id};
      RecoveredJob r;
      r.job = JobId{id};
      r.request_id = job.request_id;
      r.spec = job.spec;
      r.sealed = job.sealed;
      r.cancelled = job.cancelled;
      r.finished = job.finished;
      r.created_ms = job.created_ms;
      r.digest = wire::kEmptyDigest;
      r.done_count = job.results.size();
      r.chunk_count = static_cast<std::uint32_t>(job.chunks.size());
      for (const auto& [no, chunk] : job.chunks) {
        r.case_count += chunk.cases->count();
        r.digest = wire::fold_digest(r.digest, kHash);
        if (!job.sealed) r.chunk_hashes.push_back(kHash);
        const auto done = static_cast<std::uint32_t>(chunk.done.size());
        if (job.cancelled || job.finished || done == chunk.cases->count()) continue;
        r.open_chunks.push_back(
            {.chunk_no = no,
             .first_case = chunk.first_case,
             .case_count = chunk.cases->count(),
             .done_count = done,
             .bytes = static_cast<std::uint32_t>(id % 2 == 0 ? chunk.cases->bytes.size() : 0)});
      }
      for (const RecoveredAttempt& attempt : job.attempts) {
        if (!job.results.contains(attempt.case_no.value)) r.attempts.push_back(attempt);
      }
      recovery.jobs.push_back(std::move(r));
    }
    return recovery;
  }
};

}  // namespace puzzled
