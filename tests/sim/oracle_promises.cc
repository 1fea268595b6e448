// Oracle: what clients and workers were told, against what is on the disk at that moment.
#include <algorithm>
#include <variant>

#include "proto/base/digest.h"
#include "tests/sim/oracle.h"

namespace puzzled::sim {
namespace {

using message::ErrorCode;

}  // namespace

void Oracle::released(const Send& send) {
  if (const auto* to_worker = std::get_if<WorkerMessage>(&send.what)) {
    const auto* stored = std::get_if<message::Stored>(to_worker);
    if (stored == nullptr || stored->boot != boot_) return;
    for (const auto& [job, case_no] : parts_[{stored->lease, stored->part}]) {
      const JobRow* row = disk_.committed().find(job);
      // It may have been taken back in the same commit, and stays then, too.
      require(row != nullptr && row->has_result(case_no), 6, [&] {
        return "Stored is said of case " + std::to_string(case_no.value) + " of job " +
               std::to_string(job.value) + ", whose result is not durable";
      });
    }
    return;
  }
  std::visit(
      [&](const auto& m) {
        const auto it = asked_.find({send.to, m.request});
        require(it != asked_.end(), 0, [&] {
          return "peer " + std::to_string(send.to.value) + " gets a reply too many, to request " +
                 std::to_string(m.request);
        });
        const Asked asked = it->second;
        asked_.erase(it);
        reply(asked, m);
      },
      std::get<ClientMessage>(send.what));
}

// The job on the disk that a reply speaks of.
const JobRow& Oracle::promised_row(const Asked& asked) const {
  const Tables& disk = disk_.committed();
  const JobId job = asked.job != JobId{} ? asked.job : disk.find(asked.request_id);
  const JobRow* row = disk.find(job);
  require(row != nullptr, 6, [] { return "a reply speaks of a job that is not durable"; });
  return *row;
}

void Oracle::reply(const Asked& asked, const message::JobOpened& m) {
  const JobRow& row = promised_row(asked);
  Told& known = told(row);
  require(disk_.committed().find(asked.request_id) == m.job &&
              (known.job == JobId{} || known.job == m.job),
          7, [] { return "a request id has become another job"; });
  require(row.spec->name == asked.name, 7,
          [] { return "another job was accepted under a known request id"; });
  require(m.next_chunk <= row.chunks.size() && m.sealed <= row.sealed, 6,
          [] { return "JobOpened says more than is durable"; });
  require(m.next_chunk >= known.chunks && m.sealed >= known.sealed, 6,
          [] { return "JobOpened says less than was promised before"; });
  std::uint64_t digest = wire::kEmptyDigest;
  for (std::uint32_t i = 0; i < m.next_chunk; ++i) {
    digest = wire::fold_digest(digest, row.chunks[i].hash);
  }
  require(m.digest == digest, 6, [] { return "JobOpened names the digest of other cases"; });
  known.job = m.job;
  known.chunks = std::max(known.chunks, m.next_chunk);
  known.sealed = known.sealed || m.sealed;
}

void Oracle::reply(const Asked& asked, const message::ChunkAccepted& m) {
  const JobRow& row = promised_row(asked);
  require(m.chunk_no == asked.chunk_no && m.chunk_no < row.chunks.size(), 6,
          [&] { return "chunk " + std::to_string(m.chunk_no) + " is accepted, but not durable"; });
  require(row.chunks[m.chunk_no].hash == asked.hash, 7,
          [] { return "another chunk was accepted under a known number"; });
  told(row).chunks = std::max(told(row).chunks, m.chunk_no + 1);
}

void Oracle::reply(const Asked& asked, const message::JobSealed& m) {
  const JobRow& row = promised_row(asked);
  require(disk_.committed().find(row.request_id) == m.job && row.sealed, 6,
          [] { return "JobSealed is said before it is durable"; });
  told(row).sealed = true;
}

void Oracle::reply(const Asked& asked, const message::JobCancelled&) {
  const JobRow& row = promised_row(asked);
  require(row.cancelled, 6, [] { return "JobCancelled is said before it is durable"; });
  told(row).cancelled = true;
}

void Oracle::reply(const Asked& asked, const message::JobDone&) {
  const JobRow& row = promised_row(asked);
  // Results may have been taken back in the same commit.
  require(row.cancelled || (row.finished && row.done_count == row.case_count) ||
              (row.was_finished && row.revised > 0),
          9, [] { return "JobDone is said before all results are durable"; });
  told(row).done = true;
}

void Oracle::reply(const Asked& asked, const message::Error& m) {
  if (m.code == ErrorCode::kUnknownJob) {
    for (const auto& [request_id, known] : told_) {
      require(request_id != asked.request_id && (asked.job == JobId{} || known.job != asked.job), 6,
              [] { return "UNKNOWN_JOB is said of a job that was accepted"; });
    }
  }
  if (m.code == ErrorCode::kJobCancelled) {
    require(promised_row(asked).cancelled, 6,
            [] { return "JOB_CANCELLED is said before it is durable"; });
    told(promised_row(asked)).cancelled = true;
  }
  if (m.code == ErrorCode::kJobFinished) {
    require(promised_row(asked).was_finished, 9,
            [] { return "JOB_FINISHED is said before it is durable"; });
  }
  require(m.code != ErrorCode::kInternal && m.code != ErrorCode::kMalformed, 0,
          [&] { return "an unexpected error: " + m.text; });
}

void Oracle::check_told() const {
  const Tables& disk = disk_.committed();
  for (const auto& [request_id, known] : told_) {
    const JobRow* row = disk.find(disk.find(request_id));
    require(row != nullptr && (known.job == JobId{} || disk.find(request_id) == known.job) &&
                row->chunks.size() >= known.chunks && row->sealed >= known.sealed &&
                row->cancelled >= known.cancelled &&
                (row->was_finished || row->cancelled) >= known.done,
            6, [] { return "what was promised is not on the disk"; });
  }
}

void Oracle::check_end() const {
  check_told();
  for (const auto& [id, row] : disk_.committed().jobs) {
    const std::string text = "job " + std::to_string(id.value);
    require(row.finished || row.cancelled, 10, [&] { return text + " has not ended"; });
    require(!row.finished || row.done_count == row.case_count, 8,
            [&] { return text + " has ended without all results"; });
    std::uint64_t older = 0;
    for (const ChunkRow& chunk : row.chunks) {
      for (std::uint32_t i = 0; i < chunk.done.size(); ++i) {
        older += chunk.results[i].size() - (chunk.done[i] ? 1 : 0);
      }
    }
    require(older == row.revised, 8,
            [&] { return text + " has lost results that were taken back"; });
  }
}

}  // namespace puzzled::sim
