// All that the broker asks for: what one step() returns. The contract, in order of importance:
//  1. `records` become durable in this order, all of one step in one transaction.
//  2. `when_durable` is sent only after all records of this and earlier steps are durable.
//  3. `now` may be sent at once.
//     The shell says so to the broker, too: event::RecordsDurable{step}, stepped before anything
//     else that comes in after those messages went out. Cases are dispatched only then.
//  4. `loads` are answered with ChunkLoaded and `comparisons` with ChunkCompared, after the records
//     of this and earlier steps are visible to them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/broker/finding.h"
#include "daemon/broker/types.h"

namespace puzzled {

// ---- Records for the store.
namespace record {

struct InsertJob {
  JobId job;
  Bytes16 request_id{};
  JobSpecPtr spec;
  std::int64_t created_ms = 0;
};
struct InsertChunk {
  JobId job;
  ChunkNo chunk_no = 0;
  CaseNo first_case;
  ChunkCasesPtr cases;
  std::uint64_t first_file_no = 0;  // number in the job, from 1, of files[0]
  std::vector<FileEntry> files;
  std::uint64_t hash = 0;
  std::string keys = {};  // as in event::AddChunk; empty: its cases are not looked up
};
struct SealJob {
  JobId job;
  std::uint64_t digest = 0;
  std::int64_t sealed_ms = 0;
};
struct CancelJob {
  JobId job;
  std::string reason;
  std::int64_t cancelled_ms = 0;
};
struct FinishJob {  // every case has a result (in this transaction or before)
  JobId job;
  std::int64_t finished_ms = 0;
};
struct InsertWorker {  // before the first result that names it
  WorkerNo worker;
  Bytes16 start_id{};
  std::string name;
  std::string host;
  std::uint32_t pid = 0;
  std::string version;
  std::int64_t connected_ms = 0;
};
struct ResultRow {
  CaseNo case_no;
  ChunkNo chunk_no = 0;
  std::uint32_t index = 0;  // into `results.results`
};
struct InsertResults {
  JobId job;
  WorkerNo worker;
  std::string solver_version;
  std::uint32_t attempt = 1;
  std::int64_t graded_ms = 0;
  ResultSet results;
  std::vector<ResultRow> rows;  // only those that count; ascending case numbers
  std::uint64_t stretch = 0;    // of the worker's results that no good canary has proven; 0: none
  bool keeps_answers = false;   // those with a key can be found again
};
struct InsertCached {  // results that were known: copies of those they were taken from
  JobId job;
  ChunkNo chunk_no = 0;
  CaseNo first_case;  // of the chunk
  std::string solver_version;
  std::int64_t graded_ms = 0;
  std::vector<KnownAnswer> answers;  // ascending
};
struct InsertAttempt {  // an attempt that ended abnormally and was charged to the case
  JobId job;
  ChunkNo chunk_no = 0;
  CaseNo case_no;
  std::uint32_t attempt = 0;
  WorkerNo worker;
  Bytes16 start_id{};
  std::int64_t ended_ms = 0;
  std::string message;
};
struct RetractAttempt {  // its worker came back: it had not died, so nothing is charged
  JobId job;
  CaseNo case_no;
  Bytes16 start_id{};
};
struct MarkCanary {  // or unmarks
  JobId job;
  bool off = false;
  std::int64_t marked_ms = 0;
};
struct ForgetStretch {  // its results stand: a good canary has proven them, or nobody can any more
  std::uint64_t stretch = 0;
  bool proven = false;      // by a good canary: what was kept of its answers may be used
  std::uint64_t cases = 0;  // at most; what to do is in proportion
};
struct ReviseResults {  // the worker's results of these cases: each is open again, a generation up
  JobId job;
  ChunkNo chunk_no = 0;
  CaseNo first_case;
  std::uint32_t count = 0;
  std::uint64_t stretch = 0;  // that they were stored in
};
struct ReopenJob {  // it was finished, and has open cases again
  JobId job;
};
struct BarWorker {
  Barred barred;
};
struct AdmitWorker {  // none of that name or host is barred any more
  std::string name;
};

}  // namespace record

using Record =
    std::variant<record::InsertJob, record::InsertChunk, record::SealJob, record::CancelJob,
                 record::FinishJob, record::InsertWorker, record::InsertResults,
                 record::InsertCached, record::InsertAttempt, record::RetractAttempt,
                 record::MarkCanary, record::ForgetStretch, record::ReviseResults,
                 record::ReopenJob, record::BarWorker, record::AdmitWorker>;

// ---- Messages to peers.
namespace message {

// To clients, in reply to `request`.
enum class ErrorCode : std::uint8_t {  // numbers of proto/client.proto
  kMalformed = 1,
  kUnsupportedVersion = 2,
  kTooLarge = 3,
  kUnknownJob = 4,
  kUnknownCase = 5,
  kConflict = 6,
  kOutOfOrder = 7,
  kJobSealed = 8,
  kJobCancelled = 9,
  kJobFinished = 10,
  kUnavailable = 11,
  kInvalidArgument = 12,
  kInternal = 13,
  kForbidden = 14,
  kRevoked = 15,
};
struct Error {
  std::uint64_t request = 0;
  ErrorCode code = ErrorCode::kInternal;
  std::string text;
};
inline std::string no_such_job(JobId job) {
  return "there is no job " + std::to_string(job.value) + "; \"puzzlectl jobs\" lists them";
}
struct JobOpened {
  std::uint64_t request = 0;
  JobId job;
  std::uint32_t next_chunk = 0;
  std::uint64_t digest = 0;
  bool sealed = false;
  bool keys_wanted = false;  // chunks should come with keys
};
struct ChunkAccepted {
  std::uint64_t request = 0;
  ChunkNo chunk_no = 0;
  bool keys_wanted = false;
};
struct JobSealed {
  std::uint64_t request = 0;
  JobId job;
};
struct JobCancelled {
  std::uint64_t request = 0;
  JobId job;
};
struct JobDone {
  std::uint64_t request = 0;
  JobId job;
};
struct ControlledWorker {
  std::string name;
  std::string host;
  std::uint32_t pid = 0;
  std::uint32_t leases = 0;  // that it still has
  WorkerState state = WorkerState::kWorking;
  bool changed = false;  // false: it was so before
};
struct WorkersControlled {
  std::uint64_t request = 0;
  std::vector<std::string> unknown;       // patterns that match none; then nothing was done
  std::vector<ControlledWorker> workers;  // the first ones, ascending worker numbers
  std::uint64_t changed = 0;              // of all
  std::uint64_t unchanged = 0;
};
struct CanaryMarked {
  std::uint64_t request = 0;
  JobId job;
};
struct WorkerAdmitted {
  std::uint64_t request = 0;
  std::uint64_t count = 0;
};

// To workers.
struct Welcome {  // with boot 0: the broker does not know this worker (any more): send Ready
  Boot boot;
  std::uint32_t heartbeat_interval_ms = 0;
  std::uint32_t liveness_ms = 0;
};
struct Slice {  // cases [first, first + count) of a chunk
  ChunkCasesPtr cases;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};
struct Dispatch {
  Boot boot;
  LeaseId lease;
  std::uint32_t attempt = 1;
  JobId job;
  JobSpecPtr spec;
  bool alone = false;
  bool keys_wanted = false;   // of its results
  std::vector<Slice> slices;  // positions count through them in order
};
struct Stored {
  Boot boot;
  LeaseId lease;
  std::uint32_t part = 0;
};
struct Stale {
  Boot boot;
  LeaseId lease;
};
struct Revoke {
  Boot boot;
  std::vector<LeaseId> leases;
};
struct Drain {};
struct Heartbeat {  // in answer to every heartbeat of a worker
  Boot boot;
};
struct Refused {
  std::string text;
};

}  // namespace message

using ClientMessage =
    std::variant<message::Error, message::JobOpened, message::ChunkAccepted, message::JobSealed,
                 message::JobCancelled, message::JobDone, message::WorkersControlled,
                 message::CanaryMarked, message::WorkerAdmitted>;
using WorkerMessage =
    std::variant<message::Welcome, message::Dispatch, message::Stored, message::Stale,
                 message::Revoke, message::Drain, message::Heartbeat, message::Refused>;

struct Send {
  PeerId to;
  std::variant<ClientMessage, WorkerMessage> what;
};

struct LoadChunk {
  JobId job;
  ChunkNo chunk_no = 0;
  CaseNo first_case;
  std::uint32_t case_count = 0;
  bool with_done = false;              // false: none has a result, ChunkLoaded::done will be empty
  std::uint64_t ask = 0;               // comes back with the answer
  std::optional<LookUp> look_up = {};  // nullopt: no answers are looked up
};

// Whether a chunk that is stored has this hash: a chunk of a sealed job came again.
struct CompareChunk {
  PeerId peer;
  std::uint64_t request = 0;
  JobId job;
  ChunkNo chunk_no = 0;
  std::uint64_t hash = 0;
};

// A chunk of a job that is marked, with what is known of its cases. Answered as loads are.
struct LoadCanaries {
  JobId job;
  ChunkNo chunk_no = 0;
  std::uint64_t epoch = 0;  // comes back with the answer
};

struct Effects {
  // Number of the last step that gave records, from 1: what `when_durable` waits for. Steps
  // without records do not count; 0: nothing was ever recorded, so everything is durable.
  std::uint64_t step = 0;
  std::vector<Record> records;
  std::vector<Send> when_durable;
  std::vector<Send> now;
  std::vector<LoadChunk> loads;
  // Of a Sweep: rules that did not hold, and hold again; and the last job it looked at, 0 if that
  // was the last of all.
  std::vector<Finding> findings;
  JobId swept;
  std::vector<CompareChunk> comparisons;
  std::vector<LoadCanaries> canary_loads;
  std::vector<std::string> notices;  // lines for the operator's log

  void clear() {  // `step` stays: it is set by every step
    records.clear();
    when_durable.clear();
    now.clear();
    loads.clear();
    findings.clear();
    comparisons.clear();
    canary_loads.clear();
    notices.clear();
  }
};

// ---- What the store knows at start-up (Broker::recover).

struct RecoveredChunk {  // a chunk with open cases
  ChunkNo chunk_no = 0;
  CaseNo first_case;
  std::uint32_t case_count = 0;
  std::uint32_t done_count = 0;
  std::uint32_t bytes = 0;  // of its serialised cases; 0: not known, a usual chunk is assumed
  bool keyed = false;       // its cases can be looked up
};
struct RecoveredAttempt {  // charged attempts of cases that are still open
  CaseNo case_no;
  std::uint32_t attempt = 0;
  Bytes16 start_id{};
};
struct RecoveredJob {
  JobId job;
  Bytes16 request_id{};
  JobSpecPtr spec;
  bool sealed = false;
  bool cancelled = false;
  bool finished = false;
  bool canary = false;
  std::int64_t created_ms = 0;
  std::uint32_t chunk_count = 0;
  std::uint64_t case_count = 0;
  std::uint64_t file_count = 0;
  std::uint64_t done_count = 0;
  std::uint64_t digest = 0;                 // fold of the chunks' hashes
  std::vector<RecoveredChunk> open_chunks;  // empty for finished and cancelled jobs
  std::vector<std::uint64_t> chunk_hashes;  // only of unsealed jobs, by chunk number
  std::vector<RecoveredAttempt> attempts;
};
struct RecoveredRun {  // results of a worker that no good canary has proven: consecutive cases
  std::uint64_t stretch = 0;
  WorkerNo worker;
  Bytes16 start_id{};
  JobId job;
  ChunkNo chunk_no = 0;
  CaseNo chunk_first_case;
  std::uint32_t chunk_case_count = 0;
  std::uint32_t first = 0;  // in the chunk
  std::uint32_t count = 0;
};
struct RecoveredVersion {  // of a solver, that has given results
  std::string puzzle;
  std::string solver;
  std::string version;
  JobId last_job;  // in which it has
};
struct Recovery {
  Boot boot;
  WorkerNo last_worker;
  JobId last_job;
  std::vector<RecoveredJob> jobs;  // all jobs, ascending
  std::uint64_t last_stretch = 0;
  std::vector<RecoveredRun> runs;  // ascending stretches
  std::vector<Barred> barred;      // oldest first
  std::vector<RecoveredVersion> versions = {};
  bool has_answers = false;  // some answer is kept
};

}  // namespace puzzled
