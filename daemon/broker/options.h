// Limits and intervals of the broker, units in the names. PURE.
#pragma once

#include <cstdint>

namespace puzzled {

struct BrokerOptions {
  std::uint32_t heartbeat_interval_ms = 1'000;
  std::uint32_t liveness_ms = 3'000;          // silence for this long: a worker is gone
  std::uint32_t dispatch_target_us = 20'000;  // work in one dispatch, by learned cost
  std::uint32_t dispatch_cases_first = 16;    // while the cost is unknown
  std::uint32_t dispatch_cases_max = 4'096;
  std::uint64_t dispatch_bytes_max = 1ULL << 20U;
  std::uint32_t attempts_max = 3;                    // deaths under different workers: quarantine
  std::uint32_t lease_margin_ms = 30'000;            // added to a case's wall backstop
  std::uint64_t window_bytes_max = 64ULL << 20U;     // case bytes kept in memory, all jobs
  std::uint64_t job_window_bytes_max = 8ULL << 20U;  // of one job
  std::uint32_t unacknowledged_chunks_max = 16;      // of one client
  std::uint64_t upload_expiry_ms = 24ULL * 3600 * 1000;  // a job never sealed is cancelled
  std::uint64_t job_cases_max = 4'000'000'000ULL;        // 32 bits of the packed result key
  std::uint64_t job_files_max = 4'000'000'000ULL;        // likewise
  std::uint32_t job_chunks_max = 1U << 24U;  // 4 TiB of cases; 8 bytes of memory each until sealed
  std::uint64_t job_number_max = (1ULL << 24U) - 1;  // 24 bits of the packed result key
  std::uint32_t open_jobs_max = 100'000;
  std::uint32_t workers_max = 20'000;
  // Different sets of requirements (labels, a solver's version) among open jobs. Each is looked at
  // for every dispatch to workers that meet it.
  std::uint32_t requirement_sets_max = 256;
  std::uint32_t controlled_rows_max = 1'000;           // of an answer to ControlWorkers
  std::uint64_t workers_page_bytes_max = 4ULL << 20U;  // of texts in a page of workers
  std::uint32_t worker_leases_max = 1'024;             // of one worker, whatever capacity it claims
  std::uint32_t waits_max = 10'000;                    // unanswered WaitJob of one client
  std::uint32_t load_wait_ms = 60'000;  // for cases asked of the store; then they are asked again
  // Results handed to the store and not yet durable; over it, nothing is dispatched, and over twice
  // as much, results are not taken: workers keep them and send them again.
  std::uint64_t undurable_results_bytes_max = 64ULL << 20U;
  // Leases ended or given out and chunks asked for in one step, before others get their turn. Only
  // the leases of one worker are never divided.
  std::uint32_t step_work_max = 1'000;
  // One dispatch in so many, to each worker, has a canary where there are some for its puzzle and
  // solver; 0: none.
  std::uint32_t canary_rate = 100;
  std::uint32_t canary_jobs_max = 100;  // marked ones; a chunk of each is in memory
  // Runs of consecutive results that no good canary has proven, about 100 bytes of memory each; the
  // oldest over it stand.
  std::uint64_t unproven_runs_max = 1'000'000;
  std::uint32_t barred_workers_max = 10'000;  // the oldest over it are let in again
  // Answers are kept and looked up where a case costs at least so much, or nobody knows yet.
  bool answer_cache = false;
  std::uint32_t answer_cache_cost_us = 200;
};

}  // namespace puzzled
