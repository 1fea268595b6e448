#include "tests/client/fake_broker.h"

#include <fnmatch.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <zmq.hpp>

#include "proto/wire.h"
#include "tests/client/support.h"
#include "workers/puzzles/registry.h"

namespace puzzled::client {
namespace {

using proto::ClientReply;
using proto::ClientRequest;

constexpr std::int64_t kCreatedMs = 1'767'225'600'000;  // 2026-01-01T00:00:00Z

void refuse(ClientReply& reply, proto::ErrorCode code, const std::string& message) {
  reply.mutable_error()->set_code(code);
  reply.mutable_error()->set_message(message);
}

proto::ResultRow grade(const ModelJob& job, std::size_t index) {
  const Puzzle& puzzle = *find_puzzle(job.spec.puzzle());
  const proto::Case& content = job.cases[index];
  proto::ResultRow row;
  row.set_case_no(index + 1);
  for (const proto::File& file : job.files) {
    const std::uint64_t in_file = index + 1 - file.first_case();
    if (index + 1 < file.first_case() || in_file >= file.case_count()) continue;
    row.set_label(file.path() + "#" + std::to_string(in_file + 1));
  }
  row.set_attempt(1);
  row.set_worker("alpha");
  row.set_graded_ms(kCreatedMs + 1000);
  if (!content.invalid().empty()) {
    row.set_verdict(proto::INVALID_INSTANCE);
    row.set_message(content.invalid());
    return row;
  }
  std::string answer;
  find_solver(puzzle, job.spec.solver())->solve(content.instance(), answer);
  row.set_answer(answer);
  row.set_has_answer(true);
  row.set_time_us(100 + index);
  row.set_memory_bytes(2048);
  row.set_solver_version("1");
  row.set_verdict(proto::SOLVED);
  if (content.has_expected_error()) {
    row.set_verdict(proto::INVALID_ANSWER);
    row.set_message(content.expected_error());
  } else if (content.has_expected()) {
    const CheckResult check = puzzle.check(content.instance(), content.expected(), answer);
    row.set_verdict(check.accepted ? proto::ACCEPTED : proto::WRONG_ANSWER);
    row.set_message(check.message);
  }
  return row;
}

}  // namespace

FakeBroker::FakeBroker(Faults faults)
    : faults_(faults), folder_(make_folder()), endpoint_("ipc://" + folder_ + "/client.sock") {
  start();
}

FakeBroker::~FakeBroker() {
  stop();
  std::filesystem::remove_all(folder_);
}

void FakeBroker::start() {
  stop_ = false;
  thread_ = std::thread([this] { serve(); });
}

void FakeBroker::stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

int FakeBroker::count(ClientRequest::BodyCase kind) {
  const std::lock_guard lock(counts_mutex_);
  return counts_[kind];
}

void FakeBroker::serve() {
  zmq::context_t context(1);
  zmq::socket_t router(context, zmq::socket_type::router);
  router.set(zmq::sockopt::linger, 0);
  router.bind(endpoint_);
  while (!stop_) {
    zmq::pollitem_t item{router.handle(), 0, ZMQ_POLLIN, 0};
    if (zmq_poll(&item, 1, 10) <= 0) continue;
    zmq::message_t peer;
    zmq::message_t frame;
    ASSERT_TRUE(router.recv(peer));
    ASSERT_TRUE(router.recv(frame));
    ClientRequest request;
    ASSERT_EQ(wire::decode(frame.to_string_view(), wire::Role::kClient,
                           wire::kMessageBytesMax + wire::kHeaderBytes, request),
              wire::DecodeError::kNone);
    {
      const std::lock_guard lock(counts_mutex_);
      ++counts_[request.body_case()];
    }
    if (restart_wanted(request)) {
      router = zmq::socket_t(context, zmq::socket_type::router);
      router.set(zmq::sockopt::linger, 0);
      router.bind(endpoint_);
      continue;
    }
    ClientReply reply;
    reply.set_id(request.id());
    if (faults_.silent || !handle(request, reply)) continue;
    if (spoil_reply) spoil_reply(reply);
    router.send(peer, zmq::send_flags::sndmore);
    router.send(zmq::buffer(wire::encode(wire::Role::kBroker, reply)), zmq::send_flags::none);
  }
}

bool FakeBroker::restart_wanted(const ClientRequest& request) {
  if (request.has_add_chunk() &&
      static_cast<int>(request.add_chunk().chunk_no()) == faults_.restart_before_chunk) {
    faults_.restart_before_chunk = -1;
    return true;
  }
  if (request.has_wait_job() && faults_.restart_while_waiting) {
    faults_.restart_while_waiting = false;
    return true;
  }
  return false;
}

bool FakeBroker::handle(const ClientRequest& request, ClientReply& reply) {
  switch (request.body_case()) {
    case ClientRequest::kOpenJob:
      open_job(request.open_job(), reply);
      return true;
    case ClientRequest::kAddChunk:
      return add_chunk(request.add_chunk(), reply);
    case ClientRequest::kSealJob:
      seal_job(request.seal_job(), reply);
      return true;
    case ClientRequest::kCancelJob:
      if (ModelJob* job = find(request.cancel_job().job(), reply)) {
        job->cancelled = true;
        job->cancel_reason = request.cancel_job().reason();
        reply.mutable_job_cancelled()->set_job(job->id);
      }
      return true;
    case ClientRequest::kWaitJob:
      return wait_job(request.wait_job(), reply);
    case ClientRequest::kGetJob:
      if (const ModelJob* job = find(request.get_job().job(), reply)) {
        const bool finished = job->sealed && faults_.polls_until_done == 0;
        if (faults_.polls_until_done > 0) --faults_.polls_until_done;
        fill_status(*job, finished, *reply.mutable_job_status());
      }
      return true;
    case ClientRequest::kListJobs:
      list_jobs(request.list_jobs(), reply);
      return true;
    case ClientRequest::kListResults:
      list_results(request.list_results(), reply);
      return true;
    case ClientRequest::kGetCase:
      get_case(request.get_case(), reply);
      return true;
    case ClientRequest::kListFiles:
      list_files(request.list_files(), reply);
      return true;
    case ClientRequest::kListWorkers: {
      proto::WorkersPage& page = *reply.mutable_workers_page();
      page.set_next_after(9);
      page.set_more(request.list_workers().after() == 0);
      if (page.more()) {  // a page may be short
        proto::BarredWorker& barred = *page.add_barred();
        barred.set_name("beta\x1b[31m");
        barred.set_host("host");
        barred.set_version("0.1.0");
        barred.set_solver("bishops/staircase");
        barred.set_solver_version("1");
        barred.set_barred_ms(kCreatedMs);
        barred.set_reason("case 5 of job 3 is SOLVED, it says \x1b[2J");
        return true;
      }
      proto::WorkerRow& worker = *page.add_workers();
      worker.set_name("alpha\x1b[31m");
      worker.set_host("host");
      worker.set_pid(42);
      worker.set_slots(1);
      worker.set_connected_ms(kCreatedMs);
      worker.set_last_seen_ms(kCreatedMs + 500);
      worker.set_cases_done(7);
      worker.set_version("0.1.0");
      worker.add_solvers("bishops/staircase");
      return true;
    }
    case ClientRequest::kGetVersion: {
      proto::Version& version = *reply.mutable_version();
      version.set_version(PUZZLED_VERSION);
      version.set_protocol(1);
      version.set_pid(42);
      version.set_started_ms(kCreatedMs);
      version.set_boot(3);
      version.set_database("/data/puzzled.db");
      version.set_intake_paused("a reader of the database keeps its write-ahead log");
      version.mutable_load()->set_workers(2);
      version.mutable_load()->set_log_bytes(63ULL << 20U);
      version.mutable_load()->set_reader_age_ms(42'000);
      return true;
    }
    case ClientRequest::kCheck:   // shown end to end
    case ClientRequest::kBackup:  // likewise
    case ClientRequest::kMarkCanary:
    case ClientRequest::kAdmitWorker:
    case ClientRequest::BODY_NOT_SET:
      break;
  }
  refuse(reply, proto::MALFORMED, "no body");
  return true;
}

void FakeBroker::open_job(const proto::OpenJob& request, ClientReply& reply) {
  ModelJob* found = nullptr;
  for (ModelJob& job : jobs_) {
    if (job.request_id == request.request_id()) found = &job;
  }
  if (found == nullptr) {
    found = &jobs_.emplace_back();
    found->id = 16 + jobs_.size();
    found->request_id = request.request_id();
    found->spec = request.spec();
    found->digest = wire::kEmptyDigest;
  }
  if (found->spec.SerializeAsString() != request.spec().SerializeAsString()) {
    return refuse(reply, proto::CONFLICT, "another job has this request id");
  }
  proto::JobOpened& opened = *reply.mutable_job_opened();
  opened.set_job(found->id);
  opened.set_next_chunk(static_cast<std::uint32_t>(found->hashes.size()));
  opened.set_digest(found->digest);
  opened.set_sealed(found->sealed);
}

bool FakeBroker::add_chunk(const proto::AddChunk& request, ClientReply& reply) {
  if (faults_.lose_chunks > 0) {
    --faults_.lose_chunks;
    return false;
  }
  ModelJob* job = find_request(request.request_id(), reply);
  if (job == nullptr) return true;
  std::vector<std::string> files;
  for (const proto::File& file : request.files()) files.push_back(file.SerializeAsString());
  const std::uint64_t hash = wire::chunk_hash(request.cases(), files);
  EXPECT_EQ(hash, request.hash());
  EXPECT_LE(request.case_count(), wire::kChunkCasesMax);
  if (faults_.unavailable_chunks > 0) {
    --faults_.unavailable_chunks;
    refuse(reply, proto::UNAVAILABLE, "the disk is full");
  } else if (job->cancelled) {
    refuse(reply, proto::JOB_CANCELLED, "the job is cancelled");
  } else if (request.chunk_no() > job->hashes.size()) {
    refuse(reply, proto::OUT_OF_ORDER, "not the next chunk");
  } else if (request.chunk_no() < job->hashes.size()) {
    if (job->hashes[request.chunk_no()] != hash) {
      refuse(reply, proto::CONFLICT, "the chunk is there with other content");
    } else {
      reply.mutable_chunk_accepted()->set_chunk_no(request.chunk_no());
    }
  } else {
    proto::CaseList list;
    EXPECT_TRUE(list.ParseFromString(request.cases()));
    EXPECT_EQ(static_cast<std::uint32_t>(list.cases_size()), request.case_count());
    job->cases.insert(job->cases.end(), list.cases().begin(), list.cases().end());
    job->files.insert(job->files.end(), request.files().begin(), request.files().end());
    job->hashes.push_back(hash);
    job->digest = wire::fold_digest(job->digest, hash);
    reply.mutable_chunk_accepted()->set_chunk_no(request.chunk_no());
  }
  if (faults_.lose_chunk_replies > 0) {
    --faults_.lose_chunk_replies;
    return false;
  }
  return true;
}

void FakeBroker::seal_job(const proto::SealJob& request, ClientReply& reply) {
  ModelJob* job = find_request(request.request_id(), reply);
  if (job == nullptr) return;
  if (request.chunk_count() != job->hashes.size()) {
    return refuse(reply, proto::OUT_OF_ORDER, "chunks are missing");
  }
  if (request.digest() != job->digest || request.case_count() != job->cases.size() ||
      request.file_count() != job->files.size()) {
    return refuse(reply, proto::CONFLICT, "the job holds other chunks");
  }
  if (!job->sealed) {
    job->sealed = true;
    for (std::size_t i = 0; i < job->cases.size(); ++i) job->results.push_back(grade(*job, i));
    for (proto::ResultRow& row : job->results) {
      if (spoil) spoil(row);
    }
  }
  reply.mutable_job_sealed()->set_job(job->id);
}

bool FakeBroker::wait_job(const proto::WaitJob& request, ClientReply& reply) {
  const ModelJob* job = find(request.job(), reply);
  if (job == nullptr) return true;
  if (faults_.polls_until_done > 0) return false;
  reply.mutable_job_done()->set_job(job->id);
  return true;
}

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
    const bool label = request.label_glob().empty() ||
                       ::fnmatch(request.label_glob().c_str(), row.label().c_str(), 0) == 0;
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
    return refuse(reply, proto::UNKNOWN_CASE, "job 17 has no such case");
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

ModelJob* FakeBroker::find(std::uint64_t id, ClientReply& reply) {
  for (ModelJob& job : jobs_) {
    if (job.id == id) return &job;
  }
  refuse(reply, proto::UNKNOWN_JOB, "there is no job " + std::to_string(id));
  return nullptr;
}

ModelJob* FakeBroker::find_request(const std::string& request_id, ClientReply& reply) {
  for (ModelJob& job : jobs_) {
    if (job.request_id == request_id) return &job;
  }
  refuse(reply, proto::UNKNOWN_JOB, "there is no job with this request id");
  return nullptr;
}

}  // namespace puzzled::client
