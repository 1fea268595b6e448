// Between frames and the daemon's own values: the only part of the daemon that knows protobuf.
//
// Decoding trusts nothing: sizes, ranges, enum numbers, counts and text are checked here, so that
// the broker and the store see only values that can be. What is wrong becomes a coded reply with
// one line that says what to do.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/broker/broker.h"
#include "daemon/net/options.h"
#include "daemon/store/query.h"

namespace puzzled::codec {

// ---- Clients.

struct Query {  // for the reader thread
  std::uint64_t request = 0;
  query::Query query;
};
struct ListWorkers {
  std::uint64_t request = 0;
  WorkerNo after;
  std::uint32_t rows = 0;
};
struct GetVersion {
  std::uint64_t request = 0;
};
struct GetDemand {
  std::uint64_t request = 0;
  std::uint32_t slot_work_ms = kSlotWorkMs;
};
struct CheckBroker {
  std::uint64_t request = 0;
  JobId after;  // 0: from the beginning
};
struct Backup {
  std::uint64_t request = 0;
  std::string path;
  bool force = false;
  Bytes16 token{};
};
// An Error is the reply to send at once; its request is 0 where the frame could not be read.
using ClientInput = std::variant<message::Error, Event, Query, ListWorkers, GetVersion, GetDemand,
                                 CheckBroker, Backup>;

// The id of the request that it is, or answers.
std::uint64_t request_of(const ClientInput& input);

ClientInput decode_client(PeerId peer, std::string_view frame, const CodecOptions& options);

// The facts of a running daemon that `Version` carries.
struct DaemonFacts {
  std::uint32_t pid = 0;
  std::int64_t started_ms = 0;  // Unix time
  Boot boot;
  std::string database;
  std::uint64_t refused_handshakes = 0;  // at encrypted endpoints, since the start
  std::uint64_t refused_messages = 0;    // of revoked keys, or without the role
};
// How much is under way, and what keeps it from going on: the other half of `Version`.
struct DaemonLoad {
  std::string intake_paused;  // why; empty: it is not
  bool is_slow = false;       // every commit waits, since the write-ahead log is nearly full
  std::uint64_t store_queue_bytes = 0;
  std::uint64_t log_bytes = 0;
  std::uint64_t reader_age_ms = 0;
  std::uint64_t clients = 0;
  std::uint64_t unsent_bytes = 0;
  std::uint64_t waiting_queries = 0;
  std::uint64_t workers = 0;
  std::uint64_t open_jobs = 0;
  std::uint64_t leases = 0;
  std::uint64_t barred_workers = 0;  // failed a canary
};
using JobViewOf = std::function<JobView(JobId)>;

// All return a frame. A reply over the message limit becomes an Error with code TOO_LARGE.
std::string encode(const ClientMessage& what);
// `view_of` adds what only the broker knows; asked once for each job of the answer.
std::string encode(std::uint64_t request, const query::Answer& answer, const JobViewOf& view_of);
std::string encode(std::uint64_t request, const WorkersPage& workers);
std::string encode(std::uint64_t request, const Demand& demand);
std::string encode(std::uint64_t request, const DaemonFacts& facts, const DaemonLoad& load);
std::string encode_backup_done(std::uint64_t request, std::uint64_t bytes);

// ---- Workers.

// A worker that speaks nonsense is refused and taken as gone.
using WorkerInput = std::variant<message::Refused, Event>;

WorkerInput decode_worker(PeerId peer, std::string_view frame, const CodecOptions& options);
// A frame; a Dispatch joins the bytes of its slices without looking into the cases.
std::string encode(const WorkerMessage& what);

// Keeps protobuf from writing to standard error about what peers send. Call once at start.
void silence_protobuf();

}  // namespace puzzled::codec
