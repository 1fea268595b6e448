#include "tests/client/fake_broker.h"

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
  row.set_graded_ms(FakeBroker::kCreatedMs + 1000);
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
      worker.add_solver_versions("1");
      worker.set_state(proto::DRAINING);
      worker.add_labels()->set_key("cpu");
      worker.mutable_labels(0)->set_value("zen\x1b[31m");
      return true;
    }
    case ClientRequest::kControlWorkers:
      control_workers(request.control_workers(), reply);
      return true;
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
    case ClientRequest::kGetDemand:
      reply.mutable_demand();
      return true;
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

// It knows "alpha" alone.
void FakeBroker::control_workers(const proto::ControlWorkers& request, proto::ClientReply& reply) {
  proto::WorkersControlled& done = *reply.mutable_workers_controlled();
  for (const std::string& name : request.names()) {
    if (name != "alpha") done.add_unknown(name);
  }
  if (done.unknown_size() > 0) return;
  proto::ControlledWorker& worker = *done.add_workers();
  worker.set_name("alpha");
  worker.set_leases(2);
  worker.set_state(proto::LEAVING);
  worker.set_changed(true);
  done.set_changed(1);
  done.set_unchanged(1'500);
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
  opened.set_keys_wanted(faults_.wants_keys);
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
