// The table of options: the one place where an option is named, bounded and explained.
#include <algorithm>
#include <thread>

#include "daemon/options.h"
#include "proto/base/paths.h"

namespace puzzled {
namespace {

using Kind = OptionRow::Kind;
using Field = OptionRow::Field;

constexpr std::uint64_t kKiB = 1ULL << 10U;
constexpr std::uint64_t kMiB = 1ULL << 20U;
constexpr std::uint64_t kGiB = 1ULL << 30U;
constexpr std::uint64_t kSecond = 1'000;  // milliseconds
constexpr std::uint64_t kHour = 3'600 * kSecond;
constexpr std::uint64_t kDay = 24 * kHour;

// A captureless function that gives the field; the comma-free form keeps the rows readable.
#define FIELD(member) [](DaemonOptions& o) -> Field { return &o.member; }

std::vector<OptionRow> listen_rows() {
  return {
      {"endpoint", "listen", Kind::kText, FIELD(endpoint), 0, 0,
       "Where clients connect: ipc:///PATH or tcp://HOST:PORT.", ""},
      {"worker-endpoint", "listen", Kind::kText, FIELD(worker_endpoint), 0, 0,
       "Where workers connect; empty: beside the clients' socket, or the next TCP port.", ""},
      {"key", "listen", Kind::kText, FIELD(key_file), 0, 0,
       "The daemon's .key file: TCP connections are encrypted with it.", ""},
      {"authorized-keys", "listen", Kind::kText, FIELD(authorized_keys), 0, 0,
       "Who may connect over encrypted TCP: ROLES KEY NAME a line; read again at SIGHUP.", ""},
      {"authorized-keys-poll", "listen", Kind::kMilliseconds, FIELD(net.authorized_keys_poll_ms), 0,
       kDay, "Look so often whether that file has changed, and read it again then; 0: never.", ""},
      {"key-connections-max", "listen", Kind::kCount, FIELD(net.key_connections_max), 1, 1'000'000,
       "Encrypted connections with the same key, at each of the two endpoints.", ""},
      {"insecure-tcp", "listen", Kind::kSwitch, FIELD(insecure_tcp), 0, 0,
       "Allow TCP addresses that other machines can reach, without encryption.", ""},
      {"metrics", "listen", Kind::kText, FIELD(metrics), 0, 0,
       "Serve figures for Prometheus over HTTP at PORT (of 127.0.0.1) or ADDRESS:PORT; empty: no.",
       ""},
      {"metrics-timeout", "listen", Kind::kMilliseconds, FIELD(metrics_timeout_ms), 100,
       60 * kSecond, "A scrape or probe fails if the daemon's loop has not answered by then.", ""},
      {"drain-timeout", "listen", Kind::kMilliseconds, FIELD(net.drain_timeout_ms), 0, kHour,
       "On SIGTERM, wait this long for what is being solved.", ""},
  };
}

std::vector<OptionRow> log_rows() {
  return {
      {"log-level", "log", Kind::kChoice, FIELD(log_level), 0, 0, "What is worth a line.",
       "trace|debug|info|warn|error|critical|off"},
      {"log-format", "log", Kind::kChoice, FIELD(log_format), 0, 0,
       "Plain text, or one JSON object a line.", "text|json"},
      {"log-file", "log", Kind::kText, FIELD(log_file), 0, 0, "Appended to; empty: standard error.",
       ""},
  };
}

std::vector<OptionRow> store_rows() {
  return {
      {"database", "store", Kind::kText, FIELD(database), 0, 0,
       "SQLite file with all jobs and results, on a local disk.", ""},
      {"commit-rows-max", "store", Kind::kCount, FIELD(store.commit_rows_max), 1, 10'000'000,
       "Result rows in one transaction.", ""},
      {"commit-bytes-max", "store", Kind::kBytes, FIELD(store.commit_bytes_max), 64 * kKiB, kGiB,
       "Bytes of cases and answers in one transaction.", ""},
      {"upload-linger", "store", Kind::kMicroseconds, FIELD(store.upload_linger_us), 0, 1'000'000,
       "Before a job that was just opened is written: its chunks are on their way.", ""},
      {"checkpoint-wal-bytes", "store", Kind::kBytes, FIELD(store.checkpoint_wal_bytes), 256 * kKiB,
       16 * kGiB, "Move the write-ahead log into the database above this size.", ""},
      {"wal-bytes-max", "store", Kind::kBytes, FIELD(store.wal_bytes_max), 4 * kMiB, 64 * kGiB,
       "Nothing is written while a foreign reader makes the write-ahead log larger than this.", ""},
      {"cache-bytes", "store", Kind::kBytes, FIELD(store.cache_bytes), kMiB, 16 * kGiB,
       "Page cache of each connection to the database.", ""},
      {"answer-cache-max", "store", Kind::kBytes, FIELD(store.answer_cache_bytes_max), 0,
       1'024 * kGiB,
       "Of answers that later cases may have, over which the oldest are forgotten; 0: none.", ""},
      {"answer-cache-cost", "store", Kind::kMicroseconds, FIELD(broker.answer_cache_cost_us), 0,
       3'600'000'000, "They are kept and looked up where a case costs at least so much.", ""},
      {"lock-wait", "store", Kind::kMilliseconds, FIELD(store.lock_wait_ms), 0, kHour,
       "At the start, wait this long for a process that holds the database's lock.", ""},
      {"disk-retry", "store", Kind::kMilliseconds, FIELD(store.retry_ms), 10, 60 * kSecond,
       "Pause between tries to write: disk full, lock held by others, log full.", ""},
      {"page-bytes-max", "store", Kind::kBytes, FIELD(store.page_bytes_max), 64 * kKiB, 16 * kMiB,
       "A page of query results ends once it is larger than this.", ""},
      {"upkeep-interval", "store", Kind::kMilliseconds, FIELD(net.upkeep_interval_ms), 0, kDay,
       "Between steps of the check that all is in order, which never ends; 0: none.", ""},
      {"check-step", "store", Kind::kMilliseconds, FIELD(store.check_step_ms), 1, kSecond,
       "The longest that a step of it, or of a client's, reads the database.", ""},
      {"page-time-max", "store", Kind::kMilliseconds, FIELD(store.snapshot_ms_max), 1, 60 * kSecond,
       "A page of query results ends after this long, so that it does not hold up the log.", ""},
      {"store-queue-bytes-max", "store", Kind::kBytes, FIELD(net.store_queue_bytes_max), kMiB,
       16 * kGiB, "While more than this waits for the disk, nothing new is taken.", ""},
      {"undurable-results-bytes-max", "store", Kind::kBytes,
       FIELD(broker.undurable_results_bytes_max), kMiB, 16 * kGiB,
       "While more results than this wait for the disk, nothing is dispatched.", ""},
  };
}

std::vector<OptionRow> worker_rows() {
  return {
      {"workers", "workers", Kind::kCount, FIELD(supervisor.workers), 0, 4'096,
       "Worker processes to start and to keep running; 0: none.", ""},
      {"worker-program", "workers", Kind::kText, FIELD(supervisor.worker_program), 0, 0,
       "Their program; empty: puzzle-worker beside this program.", ""},
      {"restart-delay", "workers", Kind::kMilliseconds, FIELD(supervisor.restart_ms), 1,
       60 * kSecond, "Before a worker that ended is started again; doubled each time.", ""},
      {"restart-delay-max", "workers", Kind::kMilliseconds, FIELD(supervisor.restart_ms_max), 1,
       kHour, "The longest such delay.", ""},
      {"restart-settled", "workers", Kind::kMilliseconds, FIELD(supervisor.settled_ms), 1, kDay,
       "After a life this long the delay starts from the beginning.", ""},
      {"heartbeat-interval", "workers", Kind::kMilliseconds, FIELD(broker.heartbeat_interval_ms),
       10, 60 * kSecond, "How often a worker gives a sign of life.", ""},
      {"liveness", "workers", Kind::kMilliseconds, FIELD(broker.liveness_ms), 20, kHour,
       "A worker that was silent for this long is gone; its cases are queued again.", ""},
      {"workers-max", "workers", Kind::kCount, FIELD(broker.workers_max), 1, 1'000'000,
       "Connected workers.", ""},
      {"worker-leases-max", "workers", Kind::kCount, FIELD(broker.worker_leases_max), 1, 1'000'000,
       "Dispatches that one worker may hold, whatever it asks for.", ""},
      {"step-work-max", "workers", Kind::kCount, FIELD(broker.step_work_max), 1, 1'000'000,
       "Dispatches made or ended before heartbeats and others get their turn.", ""},
      {"attempts-max", "workers", Kind::kCount, FIELD(broker.attempts_max), 1, 100,
       "A case that ended this many workers is quarantined.", ""},
      {"load-wait", "workers", Kind::kMilliseconds, FIELD(broker.load_wait_ms), kSecond, kDay,
       "Cases that the database has not given after this long are asked for again.", ""},
      {"lease-margin", "workers", Kind::kMilliseconds, FIELD(broker.lease_margin_ms), 1, kDay,
       "Added to the longest time one case may take before a lease without progress ends.", ""},
      {"dispatch-target", "workers", Kind::kMicroseconds, FIELD(broker.dispatch_target_us), 1,
       60'000'000, "Work in one dispatch, by learned cost.", ""},
      {"dispatch-cases-first", "workers", Kind::kCount, FIELD(broker.dispatch_cases_first), 1,
       100'000, "Cases in a dispatch while their cost is unknown.", ""},
      {"dispatch-cases-max", "workers", Kind::kCount, FIELD(broker.dispatch_cases_max), 1, 100'000,
       "Cases in one dispatch.", ""},
      {"dispatch-bytes-max", "workers", Kind::kBytes, FIELD(broker.dispatch_bytes_max), kKiB,
       8 * kMiB, "Bytes of cases in one dispatch (a single larger case still goes).", ""},
  };
}

std::vector<OptionRow> canary_rows() {
  return {
      {"canary-rate", "canaries", Kind::kCount, FIELD(broker.canary_rate), 0, 1'000'000,
       "One dispatch in so many, to each worker, has a canary in it; 0: none.", ""},
      {"canary-jobs-max", "canaries", Kind::kCount, FIELD(broker.canary_jobs_max), 1, 10'000,
       "Marked jobs; a chunk of each is in memory.", ""},
      {"unproven-runs-max", "canaries", Kind::kCount, FIELD(broker.unproven_runs_max), 1,
       1'000'000'000, "Runs of results, of about 100 bytes each, that wait for a good canary.", ""},
      {"barred-workers-max", "canaries", Kind::kCount, FIELD(broker.barred_workers_max), 1,
       1'000'000, "Workers that failed a canary; over it the oldest are let in again.", ""},
  };
}

std::vector<OptionRow> job_rows() {
  return {
      {"message-bytes-max", "jobs", Kind::kBytes, FIELD(net.codec.message_bytes_max), 64 * kKiB,
       wire::kMessageBytesMax, "One message of a client or a worker.", ""},
      {"case-bytes-max", "jobs", Kind::kBytes, FIELD(net.codec.case_bytes_max), kKiB,
       wire::kCaseBytesMax, "One case with its claimed answer.", ""},
      {"answer-bytes-max", "jobs", Kind::kBytes, FIELD(net.codec.answer_bytes_max), kKiB,
       wire::kAnswerBytesMax, "The largest answer size a job may ask for.", ""},
      {"time-limit-max", "jobs", Kind::kMicroseconds, FIELD(net.codec.time_limit_us_max), 1'000,
       7 * kDay * 1'000, "The longest time limit a job may ask for.", ""},
      {"memory-limit-max", "jobs", Kind::kBytes, FIELD(net.codec.memory_limit_bytes_max), kMiB,
       1'024 * kGiB, "The highest memory limit a job may ask for.", ""},
      {"job-cases-max", "jobs", Kind::kCount, FIELD(broker.job_cases_max), 1, 4'000'000'000ULL,
       "Cases in one job.", ""},
      {"open-jobs-max", "jobs", Kind::kCount, FIELD(broker.open_jobs_max), 1, 10'000'000,
       "Jobs that are neither done nor cancelled.", ""},
      {"requirement-sets-max", "jobs", Kind::kCount, FIELD(broker.requirement_sets_max), 1, 10'000,
       "Different sets of required labels and solver versions among open jobs.", ""},
      {"upload-expiry", "jobs", Kind::kMilliseconds, FIELD(broker.upload_expiry_ms), kSecond,
       365 * kDay, "A job whose upload was not completed for this long is cancelled.", ""},
      {"window-bytes-max", "jobs", Kind::kBytes, FIELD(broker.window_bytes_max), kMiB, 64 * kGiB,
       "Bytes of open cases kept in memory, of all jobs.", ""},
      {"job-window-bytes-max", "jobs", Kind::kBytes, FIELD(broker.job_window_bytes_max), kMiB,
       64 * kGiB, "The same, of one job.", ""},
  };
}

std::vector<OptionRow> client_rows() {
  return {
      {"unacknowledged-chunks-max", "clients", Kind::kCount,
       FIELD(broker.unacknowledged_chunks_max), 1, 1'000,
       "Chunks of one client that are not on disk yet.", ""},
      {"open-requests-max", "clients", Kind::kCount, FIELD(net.open_requests_max), 32, 1'000'000,
       "Requests of one client that have no reply yet.", ""},
      {"waits-max", "clients", Kind::kCount, FIELD(broker.waits_max), 1, 1'000'000,
       "Unanswered waits of one client.", ""},
      {"reads-max", "clients", Kind::kCount, FIELD(net.reads_max), 1, 1'000'000,
       "Queries of all clients that wait for the database.", ""},
      {"client-reads-max", "clients", Kind::kCount, FIELD(net.client_reads_max), 1, 1'000'000,
       "The same, of one client.", ""},
      {"reads-under-way-max", "clients", Kind::kCount, FIELD(net.reads_under_way_max), 1, 10'000,
       "Queries whose answers are made or not sent yet.", ""},
      {"unread-bytes-max", "clients", Kind::kBytes, FIELD(net.unread_bytes_max), 64 * kKiB,
       16 * kGiB, "A client's queries wait while it has not read more than this of its replies.",
       ""},
      {"connections-max", "clients", Kind::kCount, FIELD(net.connections_max), 1, 10'000'000,
       "Connections of clients, and of workers.", ""},
      {"page-rows", "clients", Kind::kCount, FIELD(net.codec.page_rows), 1, 1'000'000,
       "Rows of a page when a query names no number.", ""},
      {"page-rows-max", "clients", Kind::kCount, FIELD(net.codec.page_rows_max), 1, 1'000'000,
       "Rows of a page at most.", ""},
      {"client-idle", "clients", Kind::kMilliseconds, FIELD(net.client_idle_ms), kSecond, kDay,
       "A client that is silent, or reads nothing of its replies, is forgotten after this long.",
       ""},
      {"burst-messages-max", "clients", Kind::kCount, FIELD(net.burst_messages_max), 1, 100'000,
       "Messages read from one socket before their effects are carried out.", ""},
      {"burst-bytes-max", "clients", Kind::kBytes, FIELD(net.burst_bytes_max), kKiB, kGiB,
       "Likewise, in bytes.", ""},
      {"socket-messages-max", "clients", Kind::kCount, FIELD(net.socket_messages_max), 1, 10'000,
       "Messages of one connection inside the message library, each direction.", ""},
      {"peer-queue-bytes-max", "clients", Kind::kBytes, FIELD(net.peer_queue_bytes_max), kMiB,
       16 * kGiB, "Unsent bytes for one connection, above which it is cut off.", ""},
      {"endpoint-queue-bytes-max", "clients", Kind::kBytes, FIELD(net.endpoint_queue_bytes_max),
       kMiB, 64 * kGiB, "Unsent bytes for all, above which the one with most is cut off.", ""},
      {"send-retry", "clients", Kind::kMilliseconds, FIELD(net.retry_ms), 1, 60 * kSecond,
       "Pause between tries to send to a connection that is full.", ""},
      {"linger", "clients", Kind::kMilliseconds, FIELD(net.linger_ms), 0, 60 * kSecond,
       "Wait this long for unsent messages at the end.", ""},
  };
}

#undef FIELD

}  // namespace

DaemonOptions::DaemonOptions()
    : endpoint(default_client_endpoint()), database(default_database_path()) {
  supervisor.workers = std::max(1U, std::thread::hardware_concurrency());
}

const std::vector<OptionRow>& option_rows() {
  static const std::vector<OptionRow> rows = [] {
    std::vector<OptionRow> all;
    for (auto* part :
         {listen_rows, log_rows, store_rows, worker_rows, canary_rows, job_rows, client_rows}) {
      std::ranges::copy(part(), std::back_inserter(all));
    }
    return all;
  }();
  return rows;
}

}  // namespace puzzled
