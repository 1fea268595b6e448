// Typed requests. Each throws Failure(4) with the daemon's own words if it refuses.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "client/connection.h"
#include "proto/base/labels.h"
#include "proto/base/verdict.h"
#include "proto/client.pb.h"

namespace puzzled::client {

// The failure that a refusal is.
[[noreturn]] void throw_refusal(const proto::Error& error);

proto::JobStatus get_job(Connection& connection, std::uint64_t job);
proto::JobsPage list_jobs(Connection& connection, std::uint64_t before, std::uint32_t limit);
void cancel_job(Connection& connection, std::uint64_t job, const std::string& reason);
void mark_canary(Connection& connection, std::uint64_t job, bool off);
// How many workers of that name were barred.
std::uint64_t admit_worker(Connection& connection, const std::string& name);
proto::CaseDetail get_case(Connection& connection, std::uint64_t job, std::uint64_t case_no);
proto::FilesPage list_files(Connection& connection, std::uint64_t job, std::uint64_t after_file);
proto::WorkersPage list_workers(Connection& connection, std::uint64_t after);
// All of them, page by page.
void each_workers_page(Connection& connection,
                       const std::function<void(const proto::WorkersPage&)>& visit);
// `slot_work_ms`: work for which one more slot is wanted; 0: as the daemon thinks.
proto::Demand get_demand(Connection& connection, std::uint32_t slot_work_ms);
proto::CheckPage check(Connection& connection, const proto::Check& page);
proto::Version get_version(Connection& connection);
proto::WorkersControlled control_workers(Connection& connection,
                                         const proto::ControlWorkers& control);
// Throws Failure(4) if the daemon's minor version is older than `minor`, which has `feature`.
void require_minor(Connection& connection, std::uint8_t minor, std::string_view feature);

// Walks the results of a job in order of their case numbers, page by page.
class ResultsCursor {
 public:
  // `query`: job, after_case, verdicts, label_glob and with_answers as in the protocol; its limit
  // is the size of a page, 0 for the daemon's own.
  ResultsCursor(Connection& connection, proto::ListResults query)
      : connection_(connection), query_(std::move(query)) {}
  // The next row, or nullptr after the last. Valid until the next call.
  const proto::ResultRow* next();

 private:
  Connection& connection_;
  proto::ListResults query_;
  proto::ResultsPage page_;
  int at_ = 0;
  bool more_ = true;
};

// Of a number on the wire; what a later version may send counts as INTERNAL_ERROR.
Verdict verdict_of(proto::Verdict number);
// In the order that they are sent in.
Labels labels_of(const google::protobuf::RepeatedPtrField<proto::Label>& list);

}  // namespace puzzled::client
