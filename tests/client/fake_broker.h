// A daemon in a thread: speaks the client protocol over an ipc socket from a small model in
// memory, grades bishops by itself, and can lose, refuse and restart on purpose.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "proto/client.pb.h"

namespace puzzled::client {

// The daemon's memory; only the fake's thread touches it while it runs.
struct ModelJob {
  std::uint64_t id = 0;
  std::string request_id;
  proto::JobSpec spec;
  std::vector<std::uint64_t> hashes;
  std::uint64_t digest = 0;
  std::vector<proto::Case> cases;
  std::vector<proto::File> files;
  bool sealed = false;
  bool cancelled = false;
  std::string cancel_reason;
  std::vector<proto::ResultRow> results;  // of the cases in order, once sealed
};

struct Faults {
  int lose_chunk_replies = 0;     // handled, but not answered
  int lose_chunks = 0;            // neither
  int restart_before_chunk = -1;  // once: the socket closes, and is bound again
  int unavailable_chunks = 0;     // refused with UNAVAILABLE
  int empty_pages = 0;            // results pages without rows, more = true
  int polls_until_done = 0;       // GetJob says RUNNING that often; WaitJob is not answered until
  bool restart_while_waiting = false;  // once, after the first WaitJob
  bool silent = false;                 // answers nothing
  bool wants_keys = false;             // says so when a job is opened
  std::uint32_t page_rows = 1000;
};

class FakeBroker {
 public:
  static constexpr std::int64_t kCreatedMs = 1'767'225'600'000;  // of jobs: 2026-01-01T00:00:00Z

  explicit FakeBroker(Faults faults = {});
  ~FakeBroker();
  FakeBroker(const FakeBroker&) = delete;
  FakeBroker& operator=(const FakeBroker&) = delete;

  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
  // Stops the thread; the model may be read (and changed before start()).
  void stop();
  void start();
  std::vector<ModelJob>& jobs() { return jobs_; }
  // How often requests of a kind came, repetitions included.
  [[nodiscard]] int count(proto::ClientRequest::BodyCase kind);
  // Changes every row before it is sent; set before start().
  std::function<void(proto::ResultRow&)> spoil;
  // The same for whole replies.
  std::function<void(proto::ClientReply&)> spoil_reply;

 private:
  void serve();
  bool restart_wanted(const proto::ClientRequest& request);
  // False: no reply.
  bool handle(const proto::ClientRequest& request, proto::ClientReply& reply);
  void open_job(const proto::OpenJob& request, proto::ClientReply& reply);
  bool add_chunk(const proto::AddChunk& request, proto::ClientReply& reply);
  void seal_job(const proto::SealJob& request, proto::ClientReply& reply);
  void list_results(const proto::ListResults& request, proto::ClientReply& reply);
  void list_files(const proto::ListFiles& request, proto::ClientReply& reply);
  void get_case(const proto::GetCase& request, proto::ClientReply& reply);
  void list_jobs(const proto::ListJobs& request, proto::ClientReply& reply);
  static void control_workers(const proto::ControlWorkers& request, proto::ClientReply& reply);
  bool wait_job(const proto::WaitJob& request, proto::ClientReply& reply);
  void fill_status(const ModelJob& job, bool finished, proto::JobStatus& status);
  ModelJob* find(std::uint64_t id, proto::ClientReply& reply);
  ModelJob* find_request(const std::string& request_id, proto::ClientReply& reply);

  Faults faults_;
  std::string folder_;
  std::string endpoint_;
  std::vector<ModelJob> jobs_;
  std::map<int, int> counts_;
  std::mutex counts_mutex_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace puzzled::client
