// Canaries: cases of marked jobs whose results are known, mixed into the dispatches of other jobs.
// Who answers one otherwise is taken out, and its results since its last good canary are taken
// back.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/broker/core.h"
#include "daemon/broker/job.h"

namespace puzzled::broker {

struct Session;

// A canary in a lease.
struct CanaryOut {
  JobId job;                // that it is from
  std::uint64_t epoch = 0;  // of what is known of that job
  CaseNo case_no;
  KnownResult known;
  std::uint64_t before = 0;    // stretches with smaller numbers are proven if it is good
  std::uint32_t position = 0;  // in the lease
  bool is_open = true;         // not answered yet
};
struct FailedCanary {
  LaneNo lane = 0;
  std::string why;
};
struct PickedCanary {
  CanaryOut out;
  message::Slice slice;
};

// Results of a worker that no good canary has proven: consecutive cases of a chunk.
struct UnprovenRun {
  JobId job;
  ChunkNo chunk_no = 0;
  CaseNo chunk_first_case;
  std::uint32_t chunk_case_count = 0;
  std::uint32_t first = 0;  // in the chunk
  std::uint32_t count = 0;
  bool chunk_keyed = false;  // as far as is known: not after a restart
};
// What a worker stored between two canaries of a lane.
struct Stretch {
  std::uint64_t number = 0;  // ascending, of the whole store
  std::vector<UnprovenRun> runs;
};
// One lane of a worker.
struct Watched {
  std::uint32_t left = 0;         // dispatches until the next canary is due
  bool begins = true;             // what it stores next is a stretch of its own
  std::deque<Stretch> stretches;  // oldest first
};
using WatchedLanes = std::map<LaneNo, Watched>;

// What it takes to open a job again that has ended.
struct EndedJob {
  Bytes16 request_id{};
  JobSpecPtr spec;
  bool cancelled = false;
  std::uint32_t chunk_count = 0;
  std::uint64_t case_count = 0;
  std::uint64_t file_count = 0;
  std::uint64_t digest = 0;
};

class Canaries {
 public:
  explicit Canaries(Core& core) : core_(core) {}

  // Before the jobs are handed on.
  void recover(const Recovery& recovery);
  void start();  // the first step

  // ---- Marked jobs.
  void mark(const event::MarkCanary& request);
  void loaded(event::CanariesLoaded&& loaded);
  void job_ended(const Job& job, bool cancelled);
  // A load that was never answered is asked again.
  void repair();

  // ---- Dispatches and results.
  // A canary for the next dispatch of the job to the worker, if one is due. `number` of the lease.
  std::optional<PickedCanary> pick(Session& session, const Job& job, LeaseId number);
  // A lease ended without an answer to its canary: the next dispatch has another.
  static void missed(Session& session, LaneNo lane);
  // Notes results that are about to be recorded. Their stretch; 0: there are no canaries for them.
  std::uint64_t note(Session& session, const Job& job, const std::vector<record::ResultRow>& rows);
  // Whether what it was compared with still counts: its job is marked, and was not revised since.
  [[nodiscard]] bool is_current(const CanaryOut& canary) const;
  // Empty: the answer is the known one. Else what is wrong.
  [[nodiscard]] static std::string judge(const CanaryOut& canary, const CaseResult& result);
  void prove(Session& session, LaneNo lane, const CanaryOut& canary);
  // Keeps what is unproven within its bound. After the results of the step are recorded.
  void limit(Session& session);

  // ---- Reuse of answers.
  [[nodiscard]] bool is_watched(LaneNo lane) const { return lanes_.contains(lane); }
  // Another number whenever another answer may have to be trusted: what was looked up before counts
  // no more.
  [[nodiscard]] std::uint64_t trust() const { return trust_; }

  // ---- Workers.
  // Bars it and takes its unproven results back. REQUIRES: it has no leases any more.
  void convict(Session& session, LaneNo lane, const std::string& why);
  void remember(Session& session);      // it went away, and may come back
  void welcome_back(Session& session);  // or is new; may give it the number it had
  // Why it is refused; empty: it is not.
  [[nodiscard]] std::string why_barred(const event::WorkerReady& ready) const;
  void admit(const event::AdmitWorker& request);
  [[nodiscard]] const std::deque<Barred>& barred() const { return barred_; }

  void check() const;

 private:
  // Chunks in a row of which no case fits under some limits; as many as there are: none ever does.
  struct Barren {
    std::uint32_t chunks = 0;
    std::uint64_t load = 0;  // Marked::loads at the last of them
  };
  struct Marked {
    JobId job;
    LaneNo lane = 0;
    bool is_done = true;      // while it is graded again there is nothing to know
    std::uint64_t epoch = 0;  // of what is known
    std::uint32_t chunk_count = 0;
    Requirements required;  // of its job: other workers might not solve its cases as well
    ChunkNo next_chunk = 0;
    std::uint32_t empty_chunks = 0;  // in a row
    bool loading = false;
    std::int64_t asked_ms = 0;  // steady
    CaseNo first_case;          // of the chunk in memory
    ChunkCasesPtr cases;
    std::vector<KnownResult> known;
    std::size_t next = 0;
    std::uint64_t loads = 0;  // chunks with known results that came
    std::map<Limits, Barren> barren;
  };
  struct Tracked {  // a job with unproven results
    std::uint64_t runs = 0;
    std::optional<EndedJob> ended;
  };
  struct Gone {  // with something unproven
    WorkerNo worker;
    std::uint64_t since = 0;
    WatchedLanes watched;
  };
  struct Unproven {
    std::uint64_t stretch = 0;
    UnprovenRun run;
  };

  Marked& add(JobId job, LaneNo lane, std::uint32_t chunk_count, Requirements required);
  void remove(JobId job);
  void ask(Marked& marked);
  void unload(Marked& marked);
  std::optional<PickedCanary> pick_from(Marked& marked, const Job& job);
  void note_barren(Marked& marked, const Job& job);
  void track(Stretch& stretch, const UnprovenRun& run);
  void forget(const Stretch& stretch, bool proven = false);
  void untrack(const UnprovenRun& run);
  bool forget_oldest_gone();
  void trim_barred();
  void revise(const std::vector<Unproven>& results);
  void revise_job(JobId id, const std::vector<Unproven>& results);

  Core& core_;
  std::map<JobId, Marked> marked_;
  // Of marked jobs. All lanes here are those without requirements (Lane::plain).
  std::map<LaneNo, std::vector<JobId>> lanes_;
  std::uint64_t epochs_ = 0;
  std::uint64_t trust_ = 0;
  std::uint64_t last_stretch_ = 0;
  std::uint64_t runs_ = 0;
  std::vector<std::uint64_t> leftovers_;  // stretches that nobody can be convicted of any more
  std::unordered_map<JobId, Tracked> tracked_;
  std::unordered_map<Bytes16, Gone> gone_;
  std::map<std::uint64_t, Bytes16> order_;  // of those who are gone, by Gone::since
  std::uint64_t sequence_ = 0;
  std::deque<Barred> barred_;  // oldest first
};

}  // namespace puzzled::broker
