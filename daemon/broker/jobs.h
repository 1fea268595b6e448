// Jobs from the clients' side: upload, seal, cancel, waiting for the end. Open jobs are kept whole;
// of finished and cancelled ones there is a small entry, enough to answer a duplicate request.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/broker/core.h"
#include "daemon/broker/job.h"

namespace puzzled::broker {

enum class JobEnd : std::uint8_t { kOpen, kFinished, kCancelled };
struct EndedJob;

class Jobs {
 public:
  struct Facts {
    JobEnd how = JobEnd::kOpen;
    std::uint32_t chunk_count = 0;  // of a job that has ended
    LaneNo lane = 0;                // Lane::plain
    Requirements requirements = {};
  };

  explicit Jobs(Core& core) : core_(core) {}

  void recover(std::vector<RecoveredJob>&& jobs, JobId last_job);

  void open_job(event::OpenJob&& request);
  void add_chunk(event::AddChunk&& request);
  void chunk_compared(const event::ChunkCompared& chunk);
  void seal(const event::SealJob& request);
  void cancel(const event::CancelJob& request);
  void wait(const event::WaitJob& request);
  void forget_client(PeerId peer);
  // An entry of Timers came up: the upload may have expired.
  void upload_timer(JobId id, std::int64_t at_ms);
  // What recovery left to do until the time was known. REQUIRES: called once, in the first step.
  void start();

  // Ends the job if it is sealed and every case has a result. Frees it: true.
  bool finish_if_done(Job& job);

  // Of any job; nothing: there is none of that number.
  [[nodiscard]] std::optional<Facts> end_of(JobId id);
  // A job that was done has open cases again; the window gets them next.
  Job& reopen(JobId id, const EndedJob& ended);

  // nullptr: not an open job.
  [[nodiscard]] Job* find_open(JobId id);
  [[nodiscard]] const Job* find_open(JobId id) const;
  [[nodiscard]] Job& open(JobId id);
  [[nodiscard]] const auto& open_jobs() const { return open_; }
  void check() const;

 private:
  using End = JobEnd;
  struct Entry {  // of every job there ever was
    JobId id;
    Bytes16 request_id{};
    std::uint64_t spec_hash = 0;
    std::uint64_t digest = 0;                    // of an ended job
    std::uint32_t chunk_count = 0;               // of an ended job
    const Requirements* requirements = nullptr;  // one of requirements_
    LaneNo lane = 0;                             // Lane::plain
    End end = End::kOpen;
  };

  static std::uint64_t hash_of(const JobSpec& spec);
  const Requirements* requirements_of(const JobSpec& spec);
  Entry* find(const Bytes16& request_id);
  Entry* find(JobId id);
  Job& create(const event::OpenJob& request, LaneNo lane);
  bool accept_chunk(Job& job, event::AddChunk& request);
  // Empty if the chunk's files fit the job so far; else what is wrong. `file_cases` is updated.
  [[nodiscard]] static std::string check_files(const Job& job, const event::AddChunk& chunk,
                                               std::uint64_t cases_max,
                                               std::optional<std::uint64_t>& file_cases);
  void end_job(Job& job, End how);
  void place(Job& job);
  void cancel_job(Job& job, const std::string& reason);
  void touch_upload(Job& job, std::int64_t deadline_ms);
  void fail(PeerId peer, std::uint64_t request, message::ErrorCode code, std::string text);
  [[nodiscard]] bool intake_open(PeerId peer, std::uint64_t request);

  Core& core_;
  std::vector<Entry> entries_;  // ascending ids
  std::unordered_map<Bytes16, std::uint32_t> by_request_;
  std::map<JobId, std::unique_ptr<Job>> open_;
  JobId last_job_;
  std::set<Requirements> requirements_;  // of all jobs, each once
  // As many may be open, even over the limit: found at the start, or opened again.
  std::size_t allowed_open_ = 0;
  std::unordered_map<PeerId, std::vector<JobId>> waits_;  // jobs with a Waiter of the client
  std::vector<std::pair<JobId, std::int64_t>> recovered_uploads_;  // and their created_ms
};

}  // namespace puzzled::broker
