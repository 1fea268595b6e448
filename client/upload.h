// Uploading a job: chunks stream out with a bounded number unacknowledged, and whatever breaks in
// between, the job on the daemon ends up with exactly these chunks or with an error.
//
// Everything is addressed by the request id, so OpenJob, the chunks and SealJob of a small job all
// leave before the first reply comes, and each can be sent again.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "client/connection.h"
#include "proto/client.pb.h"

namespace puzzled::client {

// What AddChunk carries.
struct Chunk {
  std::vector<proto::File> files;  // those that begin in this chunk
  std::uint32_t case_count = 0;
  std::string cases;  // a serialised CaseList
  std::string keys;   // of the cases, as in AddChunk; or empty
};

// Thrown by a source whose input is not what it was when it was validated.
class InputChanged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Yields the chunks of a job in order, the same ones each time it is run.
class ChunkSource {
 public:
  virtual ~ChunkSource() = default;
  // False at the end. Throws InputChanged. `with_keys`: of its cases, as far as they have some.
  virtual bool next(Chunk& chunk, bool with_keys) = 0;
};

// Hears how an upload goes.
class UploadObserver {
 public:
  virtual ~UploadObserver() = default;
  // The job exists; `stored_chunks` of it are on disk already.
  virtual void opened(std::uint64_t job, std::uint32_t stored_chunks) = 0;
  // That many cases are on the daemon's disk.
  virtual void advanced(std::uint64_t cases) = 0;
  // The daemon takes nothing now, for that reason; it is asked again.
  virtual void paused(std::string_view reason) = 0;
};

struct UploadOptions {
  std::uint32_t window_chunks = 16;     // unacknowledged
  std::uint32_t pause_ms = 1'000;       // before the daemon is asked again
  std::uint32_t quiet_ms = 3'000;       // without an acknowledgement, before it is asked why
  std::uint32_t patience_ms = 600'000;  // of nothing but pauses
};

struct UploadRequest {
  std::string request_id;  // 16 bytes
  proto::JobSpec spec;
  bool resume = false;  // chunks are on the daemon's disk already: find out how many first
};

// 16 random bytes.
std::string new_request_id();

// Returns the job's number once it is sealed on disk. Throws Failure: 2 if the chunks are not those
// of the job (resumed with other files) or the input changed, in which case the job is cancelled;
// 3, 4, 130.
std::uint64_t upload(Connection& connection, const UploadRequest& request, ChunkSource& source,
                     UploadObserver& observer, const UploadOptions& options = {});

}  // namespace puzzled::client
