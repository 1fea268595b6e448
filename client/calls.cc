#include "client/calls.h"

#include <fmt/format.h>

#include "client/failure.h"

namespace puzzled::client {
namespace {

using proto::ClientReply;
using proto::ClientRequest;

ClientReply checked_call(Connection& connection, ClientRequest& request,
                         ClientReply::BodyCase expected) {
  ClientReply reply = connection.call(request);
  if (reply.has_error()) throw_refusal(reply.error());
  if (reply.body_case() != expected) {
    throw Failure(kExitRefused, "the daemon's reply does not belong to the request",
                  "use the puzzlectl of the daemon's release");
  }
  return reply;
}

}  // namespace

void throw_refusal(const proto::Error& error) {
  const std::string what = error.message().empty() ? fmt::format("the daemon refused (code {})",
                                                                 static_cast<int>(error.code()))
                                                   : error.message();
  throw Failure(kExitRefused, what);
}

proto::JobStatus get_job(Connection& connection, std::uint64_t job) {
  ClientRequest request;
  request.mutable_get_job()->set_job(job);
  return checked_call(connection, request, ClientReply::kJobStatus).job_status();
}

proto::JobsPage list_jobs(Connection& connection, std::uint64_t before, std::uint32_t limit) {
  ClientRequest request;
  request.mutable_list_jobs()->set_before(before);
  request.mutable_list_jobs()->set_limit(limit);
  return checked_call(connection, request, ClientReply::kJobsPage).jobs_page();
}

void cancel_job(Connection& connection, std::uint64_t job, const std::string& reason) {
  ClientRequest request;
  request.mutable_cancel_job()->set_job(job);
  request.mutable_cancel_job()->set_reason(reason);
  checked_call(connection, request, ClientReply::kJobCancelled);
}

void mark_canary(Connection& connection, std::uint64_t job, bool off) {
  ClientRequest request;
  request.mutable_mark_canary()->set_job(job);
  request.mutable_mark_canary()->set_off(off);
  checked_call(connection, request, ClientReply::kCanaryMarked);
}

std::uint64_t admit_worker(Connection& connection, const std::string& name) {
  ClientRequest request;
  request.mutable_admit_worker()->set_name(name);
  return checked_call(connection, request, ClientReply::kWorkerAdmitted).worker_admitted().count();
}

proto::CaseDetail get_case(Connection& connection, std::uint64_t job, std::uint64_t case_no) {
  ClientRequest request;
  request.mutable_get_case()->set_job(job);
  request.mutable_get_case()->set_case_no(case_no);
  return checked_call(connection, request, ClientReply::kCaseDetail).case_detail();
}

proto::FilesPage list_files(Connection& connection, std::uint64_t job, std::uint64_t after_file) {
  ClientRequest request;
  request.mutable_list_files()->set_job(job);
  request.mutable_list_files()->set_after_file(after_file);
  return checked_call(connection, request, ClientReply::kFilesPage).files_page();
}

proto::WorkersPage list_workers(Connection& connection, std::uint64_t after) {
  ClientRequest request;
  request.mutable_list_workers()->set_after(after);
  return checked_call(connection, request, ClientReply::kWorkersPage).workers_page();
}

void each_workers_page(Connection& connection,
                       const std::function<void(const proto::WorkersPage&)>& visit) {
  std::uint64_t after = 0;
  proto::WorkersPage page;
  do {
    after = page.next_after();
    page = list_workers(connection, after);
    visit(page);
    if (page.more() && page.next_after() <= after) {
      throw Failure(kExitRefused, "the daemon's pages of workers do not advance",
                    "report this as a bug of the daemon");
    }
  } while (page.more());
}

proto::Demand get_demand(Connection& connection, std::uint32_t slot_work_ms) {
  ClientRequest request;
  request.mutable_get_demand()->set_slot_work_ms(slot_work_ms);
  return checked_call(connection, request, ClientReply::kDemand).demand();
}

proto::CheckPage check(Connection& connection, const proto::Check& page) {
  ClientRequest request;
  *request.mutable_check() = page;
  return checked_call(connection, request, ClientReply::kCheckPage).check_page();
}

proto::Version get_version(Connection& connection) {
  ClientRequest request;
  request.mutable_get_version();
  return checked_call(connection, request, ClientReply::kVersion).version();
}

proto::WorkersControlled control_workers(Connection& connection,
                                         const proto::ControlWorkers& control) {
  ClientRequest request;
  *request.mutable_control_workers() = control;
  return checked_call(connection, request, ClientReply::kWorkersControlled).workers_controlled();
}

void require_minor(Connection& connection, std::uint8_t minor, std::string_view feature) {
  const proto::Version daemon = get_version(connection);
  if (connection.daemon_minor() >= minor) return;
  throw Failure(kExitRefused,
                fmt::format("the daemon at {} (puzzled {}, protocol {}.{}) is too old for {}",
                            connection.endpoint(), daemon.version(), daemon.protocol(),
                            connection.daemon_minor(), feature),
                fmt::format("upgrade it to one of protocol {}.{}", daemon.protocol(), minor));
}

const proto::ResultRow* ResultsCursor::next() {
  // A page may be empty although more follow: the daemon bounds the work of a page, not its rows.
  while (at_ == page_.rows_size()) {
    if (!more_) return nullptr;
    ClientRequest request;
    *request.mutable_list_results() = query_;
    page_ = checked_call(connection_, request, ClientReply::kResultsPage).results_page();
    at_ = 0;
    more_ = page_.more();
    if (more_ && page_.next_after() <= query_.after_case()) {
      throw Failure(kExitRefused, "the daemon's pages of results do not advance",
                    "report this as a bug of the daemon");
    }
    query_.set_after_case(page_.next_after());
  }
  return &page_.rows(at_++);
}

Verdict verdict_of(proto::Verdict number) {
  const auto value = static_cast<int>(number);
  return value > 0 && is_verdict(static_cast<std::uint64_t>(value)) ? static_cast<Verdict>(value)
                                                                    : Verdict::kInternalError;
}

Labels labels_of(const google::protobuf::RepeatedPtrField<proto::Label>& list) {
  Labels labels;
  for (const proto::Label& label : list) labels.push_back({label.key(), label.value()});
  return labels;
}

}  // namespace puzzled::client
