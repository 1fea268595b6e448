// What a store file would hold, as rows in memory. Applying a record checks what the schema and the
// promises allow.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/broker/effect.h"
#include "daemon/broker/event.h"

namespace puzzled::sim {

struct StoredResult {  // of one generation of a case
  WorkerNo worker;
  Verdict verdict = Verdict::kInternalError;
  std::string answer;
  std::string version = {};  // of the solver
};

// An answer that can be found again (daemon/store/answer_table.h).
struct AnswerRow {
  std::uint64_t id = 0;
  std::int64_t source = 0;  // of the result
  std::int64_t proof = 0;
};

// The number of a result, from the first generation's 1.
std::int64_t source_of(JobId job, std::uint64_t generation, CaseNo case_no);

struct ChunkRow {
  CaseNo first_case;
  ChunkCasesPtr cases;
  std::uint64_t hash = 0;
  std::string keys;
  std::vector<bool> done;
  std::uint32_t done_count = 0;
  // By case, then by generation. Of a case that is open again the last one is not its result.
  std::vector<std::vector<StoredResult>> results;
};

// Results that no good canary has proven.
struct UnprovenRow {
  WorkerNo worker;
  JobId job;
  ChunkNo chunk_no = 0;
  CaseNo first_case;
  std::uint32_t count = 0;
};

struct JobRow {
  Bytes16 request_id{};
  JobSpecPtr spec;
  std::int64_t created_ms = 0;
  bool sealed = false;
  bool cancelled = false;
  bool finished = false;
  bool was_finished = false;  // perhaps before results of it were taken back
  bool canary = false;
  std::uint64_t revised = 0;
  std::vector<ChunkRow> chunks;
  std::uint64_t case_count = 0;
  std::uint64_t file_count = 0;
  std::uint64_t done_count = 0;
  std::uint64_t digest = 0;
  std::vector<RecoveredAttempt> attempts;

  [[nodiscard]] const ChunkRow* chunk_of(CaseNo case_no) const;
  [[nodiscard]] bool is_done(CaseNo case_no) const;
  [[nodiscard]] bool has_result(CaseNo case_no) const;  // perhaps one that was taken back
};

class Tables {
 public:
  std::uint64_t boot = 0;
  std::map<JobId, JobRow> jobs;
  std::map<WorkerNo, Bytes16> workers;
  std::map<std::uint64_t, std::vector<UnprovenRow>> unproven;  // by stretch
  std::deque<Barred> barred;
  std::map<std::pair<std::string, std::string>, AnswerRow> answers;  // by key and version
  std::uint64_t last_answer = 0;
  std::uint64_t answers_forgotten = 0;

  void apply(const Record& record);  // throws Violation
  [[nodiscard]] const JobRow* find(JobId job) const;
  [[nodiscard]] JobId find(const Bytes16& request_id) const;  // 0: no such job
  // As daemon/store/recovery.cc reads it. The boot number is raised by the caller.
  [[nodiscard]] Recovery recover() const;
  [[nodiscard]] event::ChunkLoaded load(const LoadChunk& load) const;
  // Of the open cases of a chunk. `trusting`: whoever gave them.
  [[nodiscard]] std::vector<KnownAnswer> known_answers(JobId job, ChunkNo chunk_no,
                                                       const LookUp& look_up,
                                                       bool trusting = false) const;
  // The result of that number, and the case it is of.
  [[nodiscard]] const StoredResult& result(std::int64_t source, std::string_view& bytes) const;
  [[nodiscard]] event::CanariesLoaded load_canaries(const LoadCanaries& load) const;
  [[nodiscard]] event::ChunkCompared compare(const CompareChunk& compare) const;

 private:
  JobRow& open_row(JobId job);
  void add(const record::InsertJob& r);
  void add(const record::InsertChunk& r);
  void add(const record::SealJob& r);
  void add(const record::CancelJob& r);
  void add(const record::FinishJob& r);
  void add(const record::InsertWorker& r);
  void add(const record::InsertResults& r);
  void add(const record::InsertCached& r);
  void add(const record::InsertAttempt& r);
  void add(const record::RetractAttempt& r);
  void add(const record::MarkCanary& r);
  void add(const record::ForgetStretch& r);
  void add(const record::ReviseResults& r);
  void add(const record::ReopenJob& r);
  void add(const record::BarWorker& r) {
    barred.push_back(r.barred);
    answers_forgotten = last_answer;
  }
  void add(const record::AdmitWorker& r);
  void recover_canaries(Recovery& recovery) const;
  void recover_answers(Recovery& recovery) const;
  void settle_answers(std::uint64_t stretch, bool proven);
  void keep(const record::InsertResults& r, const CaseResult& result, std::int64_t source);

  std::map<Bytes16, JobId> by_request_;
};

std::string_view case_bytes(const ChunkCases& cases, std::uint32_t index);

}  // namespace puzzled::sim
