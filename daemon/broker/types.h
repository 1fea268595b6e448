// The broker's own words: ids, jobs, cases, results.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/answer_key.h"
#include "proto/base/labels.h"
#include "proto/base/verdict.h"

namespace puzzled {

// A number that cannot be mixed up with another kind of number.
template <class Tag>
struct Id {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(Id, Id) = default;
};
using JobId = Id<struct JobTag>;      // from 1
using CaseNo = Id<struct CaseTag>;    // in its job, from 1
using LeaseId = Id<struct LeaseTag>;  // from 1 in each boot
using Boot = Id<struct BootTag>;      // from 1, raised and committed at every start
using PeerId = Id<struct PeerTag>;    // one connection (client or worker), never reused in a boot
using WorkerNo = Id<struct WorkerNoTag>;  // one worker process start, as stored with results
using ChunkNo = std::uint32_t;            // in its job, from 0

// 16 random bytes drawn by a client (request id) or a worker process (start id).
using Bytes16 = std::array<std::uint8_t, 16>;

struct Limits {
  std::uint64_t time_limit_us = 10'000'000;
  std::uint64_t memory_limit_bytes = 256ULL << 20U;
  std::uint64_t answer_bytes_max = 16ULL << 20U;
  friend auto operator<=>(const Limits&, const Limits&) = default;
};

struct JobSpec {
  std::string name;
  std::string puzzle;
  std::string solver;
  std::int32_t priority = 0;  // -100..100, higher first
  Limits limits;
  Labels require = {};              // every one of them, of each worker
  std::string solver_version = {};  // empty: any
  bool no_cache = false;            // every case is solved anew, and its answer not kept
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};
// What a job asks of its workers.
struct Requirements {
  std::string solver_version;  // empty: any
  Labels labels;               // every one of them
  friend auto operator<=>(const Requirements&, const Requirements&) = default;
};
using JobSpecPtr = std::shared_ptr<const JobSpec>;

// Times come in from outside. Deadlines use the steady clock, records the wall clock.
struct Now {
  std::int64_t steady_ms = 0;
  std::int64_t wall_ms = 0;  // Unix time
};
inline constexpr std::int64_t kNever = INT64_MAX;

// The cases of one chunk, as serialised CaseList, never opened here.
struct ChunkCases {
  std::string bytes;
  // One entry a case plus the total length (wire::split_cases).
  std::vector<std::uint32_t> offsets;
  [[nodiscard]] std::uint32_t count() const {
    return offsets.empty() ? 0 : static_cast<std::uint32_t>(offsets.size() - 1);
  }
};
using ChunkCasesPtr = std::shared_ptr<const ChunkCases>;

struct FileEntry {
  std::string path;
  std::uint64_t first_case = 0;
  std::uint64_t case_count = 0;
};

struct SolverOffer {
  std::string puzzle;
  std::string solver;
  std::string version;
};

// The result of one case as a worker reports it. The views point into `ResultSet::body`.
struct CaseResult {
  std::uint32_t position = 0;  // in the dispatch
  Verdict verdict = Verdict::kInternalError;
  std::uint64_t time_us = 0;
  std::uint64_t memory_bytes = 0;
  bool has_answer = false;
  std::string_view answer = {};
  std::string_view message = {};
  std::string_view key = {};  // kAnswerKeyBytes, never looked into here; or nothing
  bool cached = false;        // an equal instance of the dispatch was solved, not this one
};
struct ResultSet {
  std::shared_ptr<const std::string> body;  // keeps the views alive
  std::vector<CaseResult> results;
};

enum class WorkerState : std::uint8_t {  // numbers of proto/client.proto
  kWorking = 1,
  kDraining = 2,  // by the operator; it still has leases
  kDrained = 3,   // by the operator; it has none
  kLeaving = 4,   // it ends once its leases are done: removed, or by itself
  kAbsent = 5,    // not connected, and drained should it come
};
// What is stored of a graded case: what makes it a canary.
struct KnownResult {
  std::uint32_t index = 0;  // in its chunk
  Verdict verdict = Verdict::kInternalError;
  std::uint64_t time_us = 0;
  std::uint64_t memory_bytes = 0;
  bool has_answer = false;
  std::uint64_t answer_bytes = 0;
  std::uint64_t answer_digest = 0;  // wire::digest_of(answer)
};

// What the store is asked about the cases of a chunk, and gives back with what it has found.
struct LookUp {
  std::string solver_version;
  Limits limits;             // of the job: what needed more is not known
  bool proven_only = false;  // only answers that a good canary has proven
  std::uint64_t trust = 0;   // Canaries::trust() at the question
};
// A case whose answer is known.
struct KnownAnswer {
  std::uint32_t index = 0;             // in its chunk
  Verdict verdict = Verdict::kSolved;  // SOLVED, or ACCEPTED if just that is claimed
  std::int64_t source = 0;             // the result that it was taken from, a number of the store's
  std::uint64_t answer_bytes = 0;      // that are copied from there
};

// A worker that failed a canary. Workers of its host are refused as long as they come with the same
// versions: its name may be another after a restart.
struct Barred {
  std::string name;
  std::string host;
  std::string version;  // of the program
  std::string puzzle;   // of the canary
  std::string solver;
  std::string solver_version;
  std::int64_t barred_ms = 0;  // Unix time
  std::string reason;          // one printable line
};

struct PositionRange {  // [first, first + count) in a dispatch or a chunk
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

}  // namespace puzzled

// As it is: ids are given out one after the other, so those of a time lie side by side in a table,
// and with thousands of workers a table is larger than the cache. Nobody
// else chooses those that enter a table.
template <class Tag>
struct std::hash<puzzled::Id<Tag>> {
  std::size_t operator()(puzzled::Id<Tag> id) const noexcept { return id.value; }
};
template <>
struct std::hash<puzzled::Bytes16> {
  std::size_t operator()(const puzzled::Bytes16& b) const noexcept {
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(b.data()), b.size()});
  }
};
