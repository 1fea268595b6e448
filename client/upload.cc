#include "client/upload.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <deque>
#include <optional>

#include "client/calls.h"
#include "client/failure.h"
#include "proto/base/assert.h"
#include "proto/wire.h"

namespace puzzled::client {
namespace {

using proto::ClientReply;
using proto::ClientRequest;

// A chunk that is not known to be on disk.
struct Pending {
  std::uint32_t chunk_no = 0;
  std::uint32_t case_count = 0;
  std::uint64_t request = 0;  // id of the unanswered request; 0: to be sent
  ClientRequest body;
};

class Upload {
 public:
  Upload(Connection& connection, const UploadRequest& request, ChunkSource& source,
         UploadObserver& observer, const UploadOptions& options)
      : connection_(connection),
        request_(request),
        source_(source),
        observer_(observer),
        options_(options) {}

  std::uint64_t run() {
    try {
      send_open();
      while (!sealed_) {
        if (may_send()) send_chunks();
        const auto reply = connection_.receive(Connection::Clock::now() +
                                               std::chrono::milliseconds(options_.quiet_ms));
        if (!reply) {
          ask_why();
          continue;
        }
        handle(*reply);
        if (stalled_ && connection_.unanswered() == 0) start_again();
      }
    } catch (const InputChanged& changed) {
      abandon(changed.what());
      throw Failure(
          kExitInvalid, changed.what(),
          job_ != 0 ? fmt::format("job {} was cancelled; submit again", job_) : "submit again");
    }
    if (why_request_ != 0) connection_.forget(why_request_);
    return job_;
  }

 private:
  // Nothing is acknowledged: chunks that a full or slow disk holds up are not refused, so the
  // daemon is asked what it waits for.
  void ask_why() {
    if (why_request_ != 0) return;
    ClientRequest request;
    request.mutable_get_version();
    why_request_ = connection_.send(request);
  }

  // A resumed job's chunks wait until it is known which are needed; after a refusal nothing is
  // sent until the daemon has said where it stands.
  [[nodiscard]] bool may_send() const {
    return !stalled_ && (open_request_ == 0 || (!request_.resume && !reopened_));
  }

  void send_open() {
    ClientRequest request;
    request.mutable_open_job()->set_request_id(request_.request_id);
    *request.mutable_open_job()->mutable_spec() = request_.spec;
    open_request_ = connection_.send(request);
  }

  void send_chunks() {
    for (Pending& pending : window_) {
      if (pending.request == 0) pending.request = connection_.send(pending.body);
    }
    while (!source_done_ && window_.size() < options_.window_chunks) {
      if (!read_chunk()) break;
      if (window_.empty()) continue;  // the daemon has it already.
      Pending& pending = window_.back();
      if (pending.request == 0) pending.request = connection_.send(pending.body);
    }
    if (source_done_ && seal_request_ == 0) send_seal();
  }

  // Takes the next chunk from the source into the window, unless the daemon has it already.
  bool read_chunk() {
    Chunk chunk;
    const auto chunk_no = static_cast<std::uint32_t>(digests_.size() - 1);
    if (!source_.next(chunk, keys_wanted_ && chunk_no >= stored_chunks_)) {
      source_done_ = true;
      return false;
    }
    std::vector<std::string> serialised;
    for (const proto::File& file : chunk.files) serialised.push_back(file.SerializeAsString());
    const std::uint64_t hash = wire::chunk_hash(chunk.cases, serialised);
    digests_.push_back(wire::fold_digest(digests_.back(), hash));
    case_count_ += chunk.case_count;
    file_count_ += chunk.files.size();
    if (chunk_no < stored_chunks_) {
      stored_cases_ += chunk.case_count;
      if (chunk_no + 1 == stored_chunks_) check_digest();
      return true;
    }
    Pending pending{chunk_no, chunk.case_count, 0, {}};
    proto::AddChunk& body = *pending.body.mutable_add_chunk();
    body.set_request_id(request_.request_id);
    body.set_chunk_no(chunk_no);
    for (proto::File& file : chunk.files) *body.add_files() = std::move(file);
    body.set_case_count(chunk.case_count);
    body.set_cases(std::move(chunk.cases));
    body.set_keys(std::move(chunk.keys));
    body.set_hash(hash);
    window_.push_back(std::move(pending));
    return true;
  }

  void send_seal() {
    if (digests_.size() - 1 < stored_chunks_) throw_other_files();
    ClientRequest request;
    proto::SealJob& seal = *request.mutable_seal_job();
    seal.set_request_id(request_.request_id);
    seal.set_chunk_count(static_cast<std::uint32_t>(digests_.size() - 1));
    seal.set_case_count(case_count_);
    seal.set_file_count(file_count_);
    seal.set_digest(digests_.back());
    seal_request_ = connection_.send(request);
  }

  void handle(const ClientReply& reply) {
    if (reply.id() == why_request_) {
      why_request_ = 0;  // one that may not ask is not told
      const std::string& reason = reply.version().intake_paused();
      if (!reason.empty()) observer_.paused(reason);
      return;
    }
    if (reply.id() == open_request_) {
      open_request_ = 0;
      if (reply.has_error()) return handle_error(reply.error());
      if (reply.has_job_opened()) return opened(reply.job_opened());
    } else if (reply.id() == seal_request_) {
      seal_request_ = 0;
      if (reply.has_error() && stalled_) return;  // of course: a chunk before it was refused.
      if (reply.has_error()) return handle_error(reply.error());
      if (reply.has_job_sealed()) {
        job_ = reply.job_sealed().job();
        sealed_ = true;
        return;
      }
    } else {
      return chunk_answered(reply);
    }
    throw Failure(kExitRefused, "the daemon's reply does not belong to the request");
  }

  void opened(const proto::JobOpened& reply) {
    const bool first = job_ == 0;
    job_ = reply.job();
    keys_wanted_ = reply.keys_wanted();
    stored_chunks_ = reply.next_chunk();
    stored_digest_ = reply.digest();
    if (first) observer_.opened(job_, stored_chunks_);
    // Only if nothing else was under way can the answer be compared with what was acknowledged.
    const bool asked_alone = reopened_ || request_.resume;
    if (asked_alone && !window_.empty() && stored_chunks_ < window_.front().chunk_no) {
      throw Failure(kExitRefused,
                    fmt::format("the daemon has lost chunks of job {} that were on its disk", job_),
                    "was its database replaced? submit again");
    }
    while (!window_.empty() && window_.front().chunk_no < stored_chunks_ &&
           window_.front().request == 0) {
      stored_cases_ += window_.front().case_count;
      window_.pop_front();
    }
    if (stored_chunks_ > 0 && stored_chunks_ < digests_.size()) check_digest();
    observer_.advanced(stored_cases_);
  }

  void chunk_answered(const ClientReply& reply) {
    for (auto it = window_.begin(); it != window_.end(); ++it) {
      if (it->request != reply.id()) continue;
      if (reply.has_chunk_accepted()) {
        keys_wanted_ = reply.chunk_accepted().keys_wanted();
        stored_cases_ += it->case_count;
        window_.erase(it);
        paused_since_.reset();
        observer_.advanced(stored_cases_);
      } else {
        it->request = 0;
        handle_error(reply.error());
      }
      return;
    }
  }

  // Either the upload goes on from where the daemon stands, or it ends.
  void handle_error(const proto::Error& error) {
    switch (error.code()) {
      case proto::UNAVAILABLE:
        pause_reason_ = error.message();
        stalled_ = true;
        return;
      case proto::OUT_OF_ORDER:
        stalled_ = true;
        return;
      case proto::UNKNOWN_JOB:  // the OpenJob before it was refused: its reply says why.
        if (open_request_ != 0 || stalled_) {
          stalled_ = true;
          return;
        }
        break;
      case proto::CONFLICT:
        if (request_.resume) throw_other_files();
        break;
      case proto::JOB_CANCELLED:
        throw Failure(kExitRefused, fmt::format("job {} was cancelled meanwhile", job_),
                      "submit again");
      default:
        break;
    }
    throw_refusal(error);
  }

  // All requests are answered and some were refused: asks where the daemon stands.
  void start_again() {
    using Clock = Connection::Clock;
    if (!pause_reason_.empty()) {
      const Clock::time_point now = Clock::now();
      if (!paused_since_) paused_since_ = now;
      if (now - *paused_since_ > std::chrono::milliseconds(options_.patience_ms)) {
        throw Failure(kExitUnreachable, "timed out, the daemon takes nothing: " + pause_reason_);
      }
      observer_.paused(pause_reason_);
      connection_.receive(now + std::chrono::milliseconds(options_.pause_ms));
      pause_reason_.clear();
    }
    stalled_ = false;
    reopened_ = true;
    send_open();
  }

  void check_digest() const {
    if (digests_[stored_chunks_] != stored_digest_) throw_other_files();
  }
  [[noreturn]] void throw_other_files() const {
    throw Failure(kExitInvalid,
                  fmt::format("the files are not those with which job {} was begun", job_),
                  "give the same paths in the same order, or submit without --resume");
  }

  // Best effort: a job that is never sealed is cancelled by the daemon in the end.
  void abandon(const std::string& reason) {
    try {
      cancel(reason);
    } catch (const Failure&) {
      job_ = 0;
    }
  }
  void cancel(const std::string& reason) {
    while (job_ == 0 && open_request_ != 0) {
      const auto reply = connection_.receive(Connection::Clock::time_point::max());
      if (reply && reply->id() == open_request_) {
        open_request_ = 0;
        if (reply->has_job_opened()) job_ = reply->job_opened().job();
      }
    }
    if (job_ == 0) return;
    for (const Pending& pending : window_) connection_.forget(pending.request);
    cancel_job(connection_, job_, reason.substr(0, kReasonBytesMax));
  }

  static constexpr std::size_t kReasonBytesMax = 1000;  // as in the protocol

  Connection& connection_;
  const UploadRequest& request_;
  ChunkSource& source_;
  UploadObserver& observer_;
  const UploadOptions& options_;

  // What has to be sent before the daemon says whether it wants keys comes with some: that is one
  // window of chunks at most, and costs less than to wait.
  bool keys_wanted_ = !request_.spec.no_cache();
  std::uint64_t job_ = 0;  // 0: not known yet
  std::uint64_t open_request_ = 0;
  std::uint64_t seal_request_ = 0;
  std::uint64_t why_request_ = 0;
  std::deque<Pending> window_;                              // in order of chunk numbers
  std::vector<std::uint64_t> digests_{wire::kEmptyDigest};  // [n]: of the first n chunks
  bool source_done_ = false;
  bool sealed_ = false;
  bool stalled_ = false;   // something was refused: wait for all replies, then start again
  bool reopened_ = false;  // an OpenJob asks where the daemon stands
  std::uint32_t stored_chunks_ = 0;
  std::uint64_t stored_digest_ = wire::kEmptyDigest;
  std::uint64_t stored_cases_ = 0;
  std::uint64_t case_count_ = 0;
  std::uint64_t file_count_ = 0;
  std::string pause_reason_;
  std::optional<Connection::Clock::time_point> paused_since_;
};

}  // namespace

std::string new_request_id() {
  std::string id(16, '\0');
  ASSERT(::getrandom(id.data(), id.size(), 0) == static_cast<ssize_t>(id.size()));
  return id;
}

std::uint64_t upload(Connection& connection, const UploadRequest& request, ChunkSource& source,
                     UploadObserver& observer, const UploadOptions& options) {
  return Upload(connection, request, source, observer, options).run();
}

}  // namespace puzzled::client
