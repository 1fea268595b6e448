// All that can happen to the broker. Read this first, then effect.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/broker/types.h"

namespace puzzled::event {

// ---- From clients. `request` is the client's correlation id; every one gets one reply.

struct OpenJob {
  PeerId peer;
  std::uint64_t request = 0;
  Bytes16 request_id{};
  JobSpec spec;
};
struct AddChunk {
  PeerId peer;
  std::uint64_t request = 0;
  Bytes16 request_id{};
  ChunkNo chunk_no = 0;
  std::vector<FileEntry> files;
  ChunkCasesPtr cases;     // split by the codec; count() is what the client claimed
  std::uint64_t hash = 0;  // verified by the codec
  std::string keys = {};   // kAnswerKeyBytes a case, zeros for one without; or nothing
};
struct SealJob {
  PeerId peer;
  std::uint64_t request = 0;
  Bytes16 request_id{};
  std::uint32_t chunk_count = 0;
  std::uint64_t case_count = 0;
  std::uint64_t file_count = 0;
  std::uint64_t digest = 0;
};
struct CancelJob {
  PeerId peer;
  std::uint64_t request = 0;
  JobId job;
  std::string reason;
};
struct WaitJob {
  PeerId peer;
  std::uint64_t request = 0;
  JobId job;
};
// The job's cases are canaries from now on, or no more.
struct MarkCanary {
  PeerId peer;
  std::uint64_t request = 0;
  JobId job;
  bool off = false;
};
// Workers of this name or host that failed a canary may come back.
struct AdmitWorker {
  PeerId peer;
  std::uint64_t request = 0;
  std::string name;
};
struct ClientGone {  // its socket is known to be gone: forget what waits for it
  PeerId peer;
};

// ---- From workers.

struct WorkerReady {
  PeerId peer;
  Bytes16 start_id{};
  std::string name;
  std::string host;
  std::uint32_t pid = 0;
  std::uint32_t slots = 1;
  std::uint32_t capacity = 1;
  std::string version;
  std::vector<SolverOffer> offers;
  Boot boot;  // of `leases`; 0 for none
  std::vector<LeaseId> leases;
  Labels labels = {};
};
struct WorkerResults {
  PeerId peer;
  Boot boot;
  LeaseId lease;
  std::uint32_t attempt = 0;
  std::uint32_t part = 0;
  ResultSet results;
  std::uint64_t busy_us = 0;
  std::uint32_t capacity = 0;
};
struct WorkerReturn {
  PeerId peer;
  Boot boot;
  LeaseId lease;
  std::uint32_t attempt = 0;
  std::vector<PositionRange> positions;
  std::uint32_t capacity = 0;
};
struct BusySlot {
  LeaseId lease;
  std::uint32_t position = 0;
  std::uint64_t progress = 0;
};
struct WorkerHeartbeat {
  PeerId peer;
  Boot boot;
  std::vector<LeaseId> leases;
  std::vector<BusySlot> slots;
  std::uint32_t capacity = 0;
};
struct WorkerSpoke {  // something that only a later minor version understands
  PeerId peer;
};
struct WorkerGoodbye {
  PeerId peer;
  std::string reason;
};
struct WorkerGone {  // its socket is known to be gone (host unreachable)
  PeerId peer;
};

// ---- From the operator.

enum class WorkerAction : std::uint8_t {  // numbers of proto/client.proto
  kDrain = 1,                             // no new leases; those that were not begun are taken back
  kResume = 2,                            // undoes kDrain
  kRemove = 3,                            // kDrain, and the worker ends once its cases are done
};
constexpr const char* name_of(WorkerAction action) {
  switch (action) {
    case WorkerAction::kDrain:
      return "drain";
    case WorkerAction::kResume:
      return "resume";
    case WorkerAction::kRemove:
      return "remove";
  }
  return "?";
}
struct ControlWorkers {
  PeerId peer;
  std::uint64_t request = 0;
  WorkerAction action = WorkerAction::kDrain;
  std::vector<std::string> patterns;  // of names (proto/base/glob.h); a few are no plain names
  bool all = false;                   // every worker; no patterns
};

struct DrainWorkers {};  // the daemon is shutting down: dispatch nothing more, tell all workers

// ---- From the store, in the order in which it was asked.

struct ChunkLoaded {  // answers LoadChunk
  JobId job;
  ChunkNo chunk_no = 0;
  ChunkCasesPtr cases;
  std::vector<std::uint32_t> done;      // positions in the chunk that have a result, ascending
  std::uint64_t ask = 0;                // of the question
  std::optional<LookUp> look_up = {};   // as it was asked
  std::vector<KnownAnswer> known = {};  // of the others, ascending
  // Known ones may be left: these have as many bytes as one transaction should copy.
  bool more_known = false;
};
struct ChunkCompared {  // answers CompareChunk
  PeerId peer;
  std::uint64_t request = 0;
  ChunkNo chunk_no = 0;
  bool same = false;
};
struct CanariesLoaded {  // answers LoadCanaries
  JobId job;
  ChunkNo chunk_no = 0;
  std::uint64_t epoch = 0;  // of the question
  CaseNo first_case;
  ChunkCasesPtr cases;
  std::vector<KnownResult> known;  // of those that have one, ascending
};
struct RecordsDurable {  // the records of all steps up to Effects::step == `steps` are on disk
  std::uint64_t steps = 0;
};
struct IntakePaused {  // the disk is full or slow: accept nothing new until IntakeResumed
  std::string reason;
};
struct IntakeResumed {};

// ---- From the shell.

// Looks at the next few open jobs for what should have happened and did not, and makes it happen:
// a safety net under all of the above. Effects::findings says what it found.
struct Sweep {
  JobId after;                      // Effects::swept of the one before; 0: from the beginning
  std::uint64_t durable_steps = 0;  // as in the last RecordsDurable
};

struct Tick {};  // time has passed (next_deadline() was reached)

}  // namespace puzzled::event

namespace puzzled {

using Event =
    std::variant<event::OpenJob, event::AddChunk, event::SealJob, event::CancelJob, event::WaitJob,
                 event::MarkCanary, event::AdmitWorker, event::ClientGone, event::WorkerReady,
                 event::WorkerResults, event::WorkerReturn, event::WorkerHeartbeat,
                 event::WorkerSpoke, event::WorkerGoodbye, event::WorkerGone, event::ControlWorkers,
                 event::DrainWorkers, event::ChunkLoaded, event::ChunkCompared,
                 event::CanariesLoaded, event::RecordsDurable, event::IntakePaused,
                 event::IntakeResumed, event::Sweep, event::Tick>;

}  // namespace puzzled
