#include <fmt/format.h>

#include <utility>

#include "daemon/net/codec.h"
#include "daemon/net/fields.h"
#include "proto/client.pb.h"

namespace puzzled::codec {
namespace {

using message::ErrorCode;

void fill(const message::Error& from, proto::ClientReply& reply) {
  reply.mutable_error()->set_code(static_cast<proto::ErrorCode>(from.code));
  reply.mutable_error()->set_message(from.text);
}
void fill(const message::JobOpened& from, proto::ClientReply& reply) {
  proto::JobOpened& to = *reply.mutable_job_opened();
  to.set_job(from.job.value);
  to.set_next_chunk(from.next_chunk);
  to.set_digest(from.digest);
  to.set_sealed(from.sealed);
  to.set_keys_wanted(from.keys_wanted);
}
void fill(const message::ChunkAccepted& from, proto::ClientReply& reply) {
  reply.mutable_chunk_accepted()->set_chunk_no(from.chunk_no);
  reply.mutable_chunk_accepted()->set_keys_wanted(from.keys_wanted);
}
void fill(const message::JobSealed& from, proto::ClientReply& reply) {
  reply.mutable_job_sealed()->set_job(from.job.value);
}
void fill(const message::JobCancelled& from, proto::ClientReply& reply) {
  reply.mutable_job_cancelled()->set_job(from.job.value);
}
void fill(const message::JobDone& from, proto::ClientReply& reply) {
  reply.mutable_job_done()->set_job(from.job.value);
}
void fill(const Labels& from, google::protobuf::RepeatedPtrField<proto::Label>& to) {
  for (const Label& label : from) {
    proto::Label& one = *to.Add();
    one.set_key(label.key);
    one.set_value(label.value);
  }
}
void fill(const message::WorkersControlled& from, proto::ClientReply& reply) {
  proto::WorkersControlled& to = *reply.mutable_workers_controlled();
  for (const std::string& name : from.unknown) to.add_unknown(name);
  for (const message::ControlledWorker& worker : from.workers) {
    proto::ControlledWorker& row = *to.add_workers();
    row.set_name(worker.name);
    row.set_host(worker.host);
    row.set_pid(worker.pid);
    row.set_leases(worker.leases);
    row.set_state(static_cast<proto::WorkerState>(worker.state));
    row.set_changed(worker.changed);
  }
  to.set_changed(from.changed);
  to.set_unchanged(from.unchanged);
}
void fill(const message::CanaryMarked& from, proto::ClientReply& reply) {
  reply.mutable_canary_marked()->set_job(from.job.value);
}
void fill(const message::WorkerAdmitted& from, proto::ClientReply& reply) {
  reply.mutable_worker_admitted()->set_count(from.count);
}

// The frame, or an Error that fits if the reply is over what any peer accepts.
std::string finish(std::uint64_t request, proto::ClientReply& reply) {
  if (reply.ByteSizeLong() > wire::kMessageBytesMax - wire::kHeaderBytes) {
    reply.Clear();
    fill(message::Error{request, ErrorCode::kTooLarge,
                        fmt::format("the answer is over {} bytes; ask for fewer rows at a time, or "
                                    "without answers",
                                    wire::kMessageBytesMax)},
         reply);
  }
  reply.set_id(request);
  return wire::encode(wire::Role::kBroker, reply);
}

proto::JobState state_of(const query::JobRow& row, const JobView& view) {
  if (row.cancelled) return proto::JOB_STATE_CANCELLED;
  if (!row.sealed) return proto::UPLOADING;
  if (row.done_count == row.case_count) return proto::JOB_DONE;
  return view.leased > 0 ? proto::RUNNING : proto::QUEUED;
}

void fill(const query::JobRow& from, const JobView& view, proto::JobStatus& to) {
  to.set_job(from.job.value);
  to.set_request_id(from.request_id.data(), from.request_id.size());
  proto::JobSpec& spec = *to.mutable_spec();
  spec.set_name(from.spec.name);
  spec.set_puzzle(from.spec.puzzle);
  spec.set_solver(from.spec.solver);
  spec.set_priority(from.spec.priority);
  spec.mutable_limits()->set_time_limit_us(from.spec.limits.time_limit_us);
  spec.mutable_limits()->set_memory_limit_bytes(from.spec.limits.memory_limit_bytes);
  spec.mutable_limits()->set_answer_bytes_max(from.spec.limits.answer_bytes_max);
  spec.set_solver_version(from.spec.solver_version);
  spec.set_no_cache(from.spec.no_cache);
  fill(from.spec.require, *spec.mutable_require());
  for (const auto& [version, count] : from.versions) {
    proto::VersionCount& row = *to.add_versions();
    row.set_version(version);
    row.set_count(count);
  }
  const proto::JobState state = state_of(from, view);
  to.set_state(state);
  to.set_created_ms(from.created_ms);
  to.set_sealed_ms(from.sealed_ms);
  to.set_finished_ms(from.finished_ms);
  to.set_case_count(from.case_count);
  to.set_done_count(from.done_count);
  to.set_leased_count(view.leased);
  to.set_chunk_count(from.chunk_count);
  to.set_file_count(from.file_count);
  for (std::size_t i = 0; i < from.verdicts.size(); ++i) {
    if (from.verdicts[i] == 0) continue;
    proto::VerdictCount& count = *to.add_verdicts();
    count.set_verdict(static_cast<proto::Verdict>(i));
    count.set_count(from.verdicts[i]);
  }
  to.set_cancel_reason(from.cancel_reason);
  to.set_canary(from.canary);
  to.set_revised(from.revised);
  to.set_cached_count(from.cached_count);
  const bool ended = state == proto::JOB_DONE || state == proto::JOB_STATE_CANCELLED;
  if (!ended) to.set_waiting_for(view.waiting_for);
}

void fill(const query::ResultRow& from, proto::ResultRow& to) {
  to.set_case_no(from.case_no.value);
  to.set_label(from.label);
  to.set_verdict(static_cast<proto::Verdict>(from.verdict));
  to.set_time_us(from.time_us);
  to.set_memory_bytes(from.memory_bytes);
  to.set_attempt(from.attempt);
  to.set_worker(from.worker);
  to.set_solver_version(from.solver_version);
  to.set_graded_ms(from.graded_ms);
  to.set_has_answer(from.has_answer);
  to.set_answer_left_out(from.answer_left_out);
  to.set_answer(from.answer);
  to.set_message(from.message);
  to.set_generation(from.generation);
  to.set_cached(from.cached);
}

void fill(const query::NotFound& from, const JobViewOf&, proto::ClientReply& reply) {
  const bool job = from.what == query::NotFound::What::kJob;
  fill(message::Error{0, job ? ErrorCode::kUnknownJob : ErrorCode::kUnknownCase,
                      job ? message::no_such_job(from.job)
                          : fmt::format("job {} has no such case; its {} cases are numbered from 1",
                                        from.job.value, from.case_count)},
       reply);
}
void fill(const query::JobRow& from, const JobViewOf& view_of, proto::ClientReply& reply) {
  fill(from, view_of(from.job), *reply.mutable_job_status());
}
void fill(const query::JobsPage& from, const JobViewOf& view_of, proto::ClientReply& reply) {
  proto::JobsPage& page = *reply.mutable_jobs_page();
  for (const query::JobRow& row : from.jobs) fill(row, view_of(row.job), *page.add_jobs());
  page.set_more(from.more);
}
void fill(const query::ResultsPage& from, const JobViewOf&, proto::ClientReply& reply) {
  proto::ResultsPage& page = *reply.mutable_results_page();
  for (const query::ResultRow& row : from.rows) fill(row, *page.add_rows());
  page.set_more(from.more);
  page.set_next_after(from.next_after);
}
void fill(const query::CaseDetail& from, const JobViewOf&, proto::ClientReply& reply) {
  proto::CaseDetail& to = *reply.mutable_case_detail();
  to.set_job(from.job.value);
  to.set_puzzle(from.spec.puzzle);
  to.set_solver(from.spec.solver);
  to.set_case_no(from.case_no.value);
  to.set_label(from.label);
  if (!to.mutable_content()->ParseFromString(from.content)) {
    // Stored as it was submitted: a client may have sent bytes that are no Case.
    to.mutable_content()->Clear();
    to.mutable_content()->set_invalid("the submitted bytes cannot be decoded");
  }
  to.set_graded(from.result.has_value());
  if (from.result) fill(*from.result, *to.mutable_result());
  for (const query::ResultRow& row : from.earlier) fill(row, *to.add_earlier());
  for (const query::AttemptRow& attempt : from.attempts) {
    proto::AttemptRow& row = *to.add_attempts();
    row.set_attempt(attempt.attempt);
    row.set_ended_ms(attempt.ended_ms);
    row.set_worker(attempt.worker);
    row.set_message(attempt.message);
  }
  to.set_cancelled(from.cancelled);
}
void fill(const query::FilesPage& from, const JobViewOf&, proto::ClientReply& reply) {
  proto::FilesPage& page = *reply.mutable_files_page();
  for (const FileEntry& file : from.files) {
    proto::File& to = *page.add_files();
    to.set_path(file.path);
    to.set_first_case(file.first_case);
    to.set_case_count(file.case_count);
  }
  page.set_more(from.more);
  page.set_next_after(from.next_after);
}

void fill(const query::CheckPage& from, const JobViewOf&, proto::ClientReply& reply) {
  proto::CheckPage& page = *reply.mutable_check_page();
  for (const Finding& finding : from.findings) {
    const RuleText& rule = rule_text(finding.rule);
    proto::Finding& to = *page.add_findings();
    to.set_rule(std::string(rule.name));
    to.set_job(finding.job.value);
    to.set_chunk(finding.chunk.value_or(0));
    to.set_has_chunk(finding.chunk.has_value());
    to.set_case_no(finding.case_no.value);
    to.set_text(finding.text);
    to.set_meaning(std::string(rule.meaning));
    to.set_advice(std::string(rule.advice));
  }
  page.mutable_cursor()->Assign(from.cursor.begin(), from.cursor.end());
  page.set_chunks_done(from.chunks_done);
  page.set_chunk_count(from.chunk_count);
  page.set_integrity_skipped(from.integrity_skipped);
}

}  // namespace

std::string encode(const ClientMessage& what) {
  proto::ClientReply reply;
  std::visit([&](const auto& from) { fill(from, reply); }, what);
  return finish(std::visit([](const auto& from) { return from.request; }, what), reply);
}

std::string encode(std::uint64_t request, const query::Answer& answer, const JobViewOf& view_of) {
  proto::ClientReply reply;
  std::visit([&](const auto& from) { fill(from, view_of, reply); }, answer);
  return finish(request, reply);
}

std::string encode(std::uint64_t request, const WorkersPage& workers) {
  proto::ClientReply reply;
  proto::WorkersPage& page = *reply.mutable_workers_page();
  page.set_more(workers.more);
  page.set_next_after(workers.next_after.value);
  for (const WorkerView& from : workers.workers) {
    proto::WorkerRow& to = *page.add_workers();
    to.set_name(from.name);
    to.set_host(from.host);
    to.set_pid(from.pid);
    to.set_slots(from.slots);
    to.set_leases(from.leases);
    to.set_connected_ms(from.connected_ms);
    to.set_last_seen_ms(from.last_seen_ms);
    to.set_draining(from.draining);
    to.set_cases_done(from.cases_done);
    to.set_version(from.version);
    for (const std::string& solver : from.solvers) to.add_solvers(solver);
    for (const std::string& version : from.solver_versions) to.add_solver_versions(version);
    to.set_state(static_cast<proto::WorkerState>(from.state));
    fill(from.labels, *to.mutable_labels());
    to.set_canaries_passed(from.canaries_passed);
  }
  for (const Barred& from : workers.barred) {
    proto::BarredWorker& to = *page.add_barred();
    to.set_name(from.name);
    to.set_host(from.host);
    to.set_version(from.version);
    to.set_solver(from.puzzle + "/" + from.solver);
    to.set_solver_version(from.solver_version);
    to.set_barred_ms(from.barred_ms);
    to.set_reason(from.reason);
  }
  return finish(request, reply);
}

std::string encode(std::uint64_t request, const Demand& demand) {
  proto::ClientReply reply;
  proto::Demand& to = *reply.mutable_demand();
  to.set_cut(demand.is_cut);
  to.set_open_cases(demand.open_cases);
  to.set_slots_wanted(demand.slots_wanted);
  to.set_slots(demand.slots);
  to.set_workers(demand.workers);
  for (const LaneDemand& from : demand.lanes) {
    proto::LaneDemand& lane = *to.add_lanes();
    lane.set_puzzle(from.puzzle);
    lane.set_solver(from.solver);
    lane.set_open_cases(from.open_cases);
    lane.set_leased_cases(from.leased_cases);
    lane.set_case_us(from.case_us);
    lane.set_work_us(from.work_us);
    lane.set_slots_wanted(from.slots_wanted);
    lane.set_slots(from.slots);
    fill(from.require, *lane.mutable_require());
    lane.set_solver_version(from.solver_version);
  }
  return finish(request, reply);
}

std::string encode(std::uint64_t request, const DaemonFacts& facts, const DaemonLoad& load) {
  proto::ClientReply reply;
  proto::Version& to = *reply.mutable_version();
  to.set_version(PUZZLED_VERSION);
  to.set_protocol(wire::kMajor);
  to.set_protocol_minor(wire::kMinor);
  to.set_pid(facts.pid);
  to.set_started_ms(facts.started_ms);
  to.set_boot(facts.boot.value);
  to.set_database(facts.database);
  to.set_intake_paused(load.intake_paused);
  to.set_refused_handshakes(facts.refused_handshakes);
  to.set_refused_messages(facts.refused_messages);
  proto::Load& of = *to.mutable_load();
  of.set_slow(load.is_slow);
  of.set_store_queue_bytes(load.store_queue_bytes);
  of.set_log_bytes(load.log_bytes);
  of.set_reader_age_ms(load.reader_age_ms);
  of.set_clients(load.clients);
  of.set_unsent_bytes(load.unsent_bytes);
  of.set_waiting_queries(load.waiting_queries);
  of.set_workers(load.workers);
  of.set_open_jobs(load.open_jobs);
  of.set_leases(load.leases);
  of.set_barred_workers(load.barred_workers);
  return finish(request, reply);
}

std::string encode_backup_done(std::uint64_t request, std::uint64_t bytes) {
  proto::ClientReply reply;
  reply.mutable_backup_done()->set_bytes(bytes);
  return finish(request, reply);
}

}  // namespace puzzled::codec
