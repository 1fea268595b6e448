// FakeBroker: what it answers to questions about its jobs.
#include <algorithm>
#include <map>

#include "proto/base/glob.h"
#include "tests/client/fake_broker.h"

namespace puzzled::client {

using proto::ClientReply;

void FakeBroker::fill_status(const ModelJob& job, bool finished, proto::JobStatus& status) {
  status.set_job(job.id);
  status.set_request_id(std::string(16, '\xab'));
  if (!job.sealed) status.set_request_id(job.request_id);
  *status.mutable_spec() = job.spec;
  status.set_state(job.cancelled ? proto::JOB_STATE_CANCELLED
                   : finished    ? proto::JOB_DONE
                   : job.sealed  ? proto::RUNNING
                                 : proto::UPLOADING);
  status.set_created_ms(kCreatedMs);
  if (job.sealed) status.set_sealed_ms(kCreatedMs + 250);
  if (finished || job.cancelled) status.set_finished_ms(kCreatedMs + 2310);
  status.set_case_count(job.cases.size());
  status.set_chunk_count(static_cast<std::uint32_t>(job.hashes.size()));
  status.set_file_count(job.files.size());
  status.set_cancel_reason(job.cancel_reason);
  if (!finished) return;
  status.set_done_count(job.results.size());
  std::map<int, std::uint64_t> counts;
  for (const proto::ResultRow& row : job.results) ++counts[row.verdict()];
  for (const auto& [verdict, count] : counts) {
    proto::VerdictCount& entry = *status.add_verdicts();
    entry.set_verdict(static_cast<proto::Verdict>(verdict));
    entry.set_count(count);
  }
}

void FakeBroker::list_jobs(const proto::ListJobs& request, ClientReply& reply) {
  proto::JobsPage& page = *reply.mutable_jobs_page();
  for (auto job = jobs_.rbegin(); job != jobs_.rend(); ++job) {
    if (request.before() != 0 && job->id >= request.before()) continue;
    if (page.jobs_size() == static_cast<int>(request.limit())) {
      page.set_more(true);
      return;
    }
    fill_status(*job, job->sealed, *page.add_jobs());
  }
}

void FakeBroker::list_results(const proto::ListResults& request, ClientReply& reply) {
  const ModelJob* job = find(request.job(), reply);
  if (job == nullptr) return;
  proto::ResultsPage& page = *reply.mutable_results_page();
  std::uint64_t at = request.after_case();
  if (faults_.empty_pages > 0 && at + 1 < job->results.size()) {
    --faults_.empty_pages;
    page.set_more(true);
    page.set_next_after(at + 1);  // as if the first row did not match.
    return;
  }
  const std::uint32_t limit =
      request.limit() == 0 ? faults_.page_rows : std::min(request.limit(), faults_.page_rows);
  for (; at < job->results.size(); ++at) {
    const proto::ResultRow& row = job->results[at];
    const auto& wanted = request.verdicts();
    const bool verdict = wanted.empty() || std::ranges::find(wanted, row.verdict()) != wanted.end();
    const bool label =
        request.label_glob().empty() || glob_matches(request.label_glob(), row.label());
    if (!verdict || !label) continue;
    if (page.rows_size() == static_cast<int>(limit)) break;
    proto::ResultRow& sent = *page.add_rows();
    sent = row;
    if (!request.with_answers()) sent.clear_answer();
  }
  page.set_more(at < job->results.size());
  page.set_next_after(at);
}

void FakeBroker::list_files(const proto::ListFiles& request, ClientReply& reply) {
  const ModelJob* job = find(request.job(), reply);
  if (job == nullptr) return;
  proto::FilesPage& page = *reply.mutable_files_page();
  std::uint64_t at = request.after_file();
  for (; at < job->files.size() && page.files_size() < 2; ++at) *page.add_files() = job->files[at];
  page.set_more(at < job->files.size());
  page.set_next_after(at);
}

void FakeBroker::get_case(const proto::GetCase& request, ClientReply& reply) {
  const ModelJob* job = find(request.job(), reply);
  if (job == nullptr) return;
  if (request.case_no() == 0 || request.case_no() > job->cases.size()) {
    reply.mutable_error()->set_code(proto::UNKNOWN_CASE);
    reply.mutable_error()->set_message("job 17 has no such case");
    return;
  }
  proto::CaseDetail& detail = *reply.mutable_case_detail();
  detail.set_job(job->id);
  detail.set_puzzle(job->spec.puzzle());
  detail.set_solver(job->spec.solver());
  detail.set_case_no(request.case_no());
  *detail.mutable_content() = job->cases[request.case_no() - 1];
  if (!job->results.empty()) {
    detail.set_graded(true);
    *detail.mutable_result() = job->results[request.case_no() - 1];
    detail.set_label(detail.result().label());
  }
  proto::AttemptRow& attempt = *detail.add_attempts();
  attempt.set_attempt(1);
  attempt.set_ended_ms(kCreatedMs + 900);
  attempt.set_worker("beta");
  attempt.set_message("the worker\x07 was lost");
}
}  // namespace puzzled::client
