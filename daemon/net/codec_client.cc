#include <fmt/format.h>

#include <utility>
#include <vector>

#include "daemon/net/codec.h"
#include "daemon/net/fields.h"
#include "proto/base/assert.h"
#include "proto/base/glob.h"
#include "proto/client.pb.h"

namespace puzzled::codec {
namespace {

using message::ErrorCode;

// What a decoder of one body returns: the value, or why there is none.
template <class T>
using Checked = std::variant<message::Error, T>;

message::Error invalid(std::string text) {
  return {0, ErrorCode::kInvalidArgument, std::move(text)};
}
message::Error too_large(std::string text) { return {0, ErrorCode::kTooLarge, std::move(text)}; }

std::optional<message::Error> check_job(std::uint64_t job) {
  if (job == 0 || job > kNumberMax) return invalid("job: there is no such id; ids start at 1");
  return std::nullopt;
}

message::Error bad_request_id() {
  return invalid("request_id: expected 16 random bytes that name the submission");
}

std::optional<message::Error> check_limits(const Limits& limits, const CodecOptions& options) {
  struct Row {
    const char* name;
    const char* unit;
    std::uint64_t value;
    std::uint64_t max;
  };
  const Row rows[] = {
      {"time_limit_us", "us", limits.time_limit_us, options.time_limit_us_max},
      {"memory_limit_bytes", "bytes", limits.memory_limit_bytes, options.memory_limit_bytes_max},
      {"answer_bytes_max", "bytes", limits.answer_bytes_max, options.answer_bytes_max},
  };
  for (const Row& row : rows) {
    if (row.value == 0) return invalid(fmt::format("limits.{}: expected more than 0", row.name));
    if (row.value > row.max) {
      return too_large(fmt::format("limits.{}: {} {} is over this daemon's maximum of {}", row.name,
                                   row.value, row.unit, row.max));
    }
  }
  return std::nullopt;
}

Checked<Event> decode(const proto::OpenJob& in, const CodecOptions& options) {
  event::OpenJob out;
  const auto id = bytes16(in.request_id());
  if (!id) return bad_request_id();
  const proto::JobSpec& spec = in.spec();
  if (spec.name().size() > wire::kNameBytesMax || !is_printable(spec.name())) {
    return invalid(
        fmt::format("name: expected at most {} bytes of printable UTF-8", wire::kNameBytesMax));
  }
  if (!is_routing_name(spec.puzzle())) {
    return invalid("puzzle: expected a name like chinese-checkers (a-z 0-9 - _ ., at most 64)");
  }
  if (!is_routing_name(spec.solver())) {
    return invalid("solver: expected a name like brute-force (a-z 0-9 - _ ., at most 64)");
  }
  if (spec.priority() < -100 || spec.priority() > 100) {
    return invalid(fmt::format("priority: found {}, expected -100 to 100", spec.priority()));
  }
  out.request_id = *id;
  out.spec = {.name = spec.name(),
              .puzzle = spec.puzzle(),
              .solver = spec.solver(),
              .priority = spec.priority(),
              .limits = {spec.limits().time_limit_us(), spec.limits().memory_limit_bytes(),
                         spec.limits().answer_bytes_max()}};
  if (auto error = check_limits(out.spec.limits, options)) return *error;
  if (spec.solver_version().size() > kVersionBytesMax || !is_printable(spec.solver_version())) {
    return invalid(fmt::format("solver_version: expected at most {} bytes of printable UTF-8",
                               kVersionBytesMax));
  }
  out.spec.solver_version = spec.solver_version();
  out.spec.no_cache = spec.no_cache();
  for (const proto::Label& label : spec.require()) {
    if (auto wrong = add_label(out.spec.require, {label.key(), label.value()}, kRequirementsMax)) {
      return invalid("require: " + *wrong);
    }
  }
  return out;
}

// Names to look up in one step of the broker; each pattern is compared with every worker's name.
constexpr int kNamesMax = 1'000;
constexpr int kPatternsMax = 20;

std::optional<message::Error> check_worker_name(const char* field, const std::string& name) {
  if (!name.empty() && name.size() <= wire::kNameBytesMax && is_printable(name)) return {};
  return invalid(fmt::format("{}: expected the name of a worker, 1 to {} bytes of printable UTF-8",
                             field, wire::kNameBytesMax));
}

Checked<Event> decode(const proto::ControlWorkers& in, const CodecOptions&) {
  event::ControlWorkers out;
  if (in.action() < proto::ControlWorkers::DRAIN || in.action() > proto::ControlWorkers::REMOVE) {
    return invalid("action: expected DRAIN, RESUME or REMOVE");
  }
  if (in.all() == (in.names_size() > 0)) {
    return invalid("names: expected names of workers, or all without any");
  }
  int patterns = 0;
  for (const std::string& name : in.names()) {
    if (auto error = check_worker_name("names", name)) return *error;
    if (is_glob(name)) ++patterns;
  }
  if (in.names_size() > kNamesMax || patterns > kPatternsMax) {
    return too_large(
        fmt::format("names: {} of which {} are patterns are over the {} and {} of a "
                    "request; send several",
                    in.names_size(), patterns, kNamesMax, kPatternsMax));
  }
  out.action = static_cast<event::WorkerAction>(in.action());
  out.patterns.assign(in.names().begin(), in.names().end());
  out.all = in.all();
  return out;
}

Checked<std::vector<FileEntry>> decode_files(const proto::AddChunk& in) {
  std::vector<FileEntry> files;
  files.reserve(static_cast<std::size_t>(in.files_size()));
  for (const proto::File& file : in.files()) {
    if (file.path().empty() || file.path().size() > wire::kPathBytesMax ||
        !is_printable(file.path())) {
      return invalid(fmt::format("files[{}].path: expected 1 to {} bytes of printable UTF-8",
                                 files.size(), wire::kPathBytesMax));
    }
    if (file.first_case() == 0 || file.first_case() > kNumberMax ||
        file.case_count() > kNumberMax) {
      return invalid(fmt::format("files[{}]: its case numbers are out of range", files.size()));
    }
    files.push_back({file.path(), file.first_case(), file.case_count()});
  }
  return files;
}

// Splits the bytes of the chunk and checks each case's size. The bytes are moved, not copied.
Checked<ChunkCasesPtr> decode_cases(proto::AddChunk& in, const CodecOptions& options) {
  if (in.case_count() > wire::kChunkCasesMax) {
    return too_large(fmt::format("case_count: {} cases are over the {} of a chunk", in.case_count(),
                                 wire::kChunkCasesMax));
  }
  auto offsets = wire::split_cases(in.cases());
  if (!offsets) return message::Error{0, ErrorCode::kMalformed, "cases: not a list of cases"};
  if (offsets->size() - 1 != in.case_count()) {
    return invalid(fmt::format("case_count: {} cases were announced, {} were sent", in.case_count(),
                               offsets->size() - 1));
  }
  for (std::size_t i = 0; i + 1 < offsets->size(); ++i) {
    if ((*offsets)[i + 1] - (*offsets)[i] > options.case_bytes_max) {
      return too_large(fmt::format("cases[{}]: {} bytes are over this daemon's maximum of {}", i,
                                   (*offsets)[i + 1] - (*offsets)[i], options.case_bytes_max));
    }
  }
  auto cases = std::make_shared<ChunkCases>();
  cases->bytes = std::move(*in.mutable_cases());
  cases->offsets = std::move(*offsets);
  return ChunkCasesPtr(std::move(cases));
}

Checked<Event> decode(proto::AddChunk& in, const CodecOptions& options) {
  event::AddChunk out;
  const auto id = bytes16(in.request_id());
  if (!id) return bad_request_id();
  std::vector<std::string> serialised;
  serialised.reserve(static_cast<std::size_t>(in.files_size()));
  for (const proto::File& file : in.files()) serialised.push_back(file.SerializeAsString());
  if (wire::chunk_hash(in.cases(), serialised) != in.hash()) {
    return invalid("hash: the chunk changed on its way; send it again");
  }
  auto files = decode_files(in);
  if (auto* error = std::get_if<message::Error>(&files)) return std::move(*error);
  if (!in.keys().empty() && in.keys().size() != kAnswerKeyBytes * in.case_count()) {
    return invalid("keys: expected 16 bytes a case, or none at all");
  }
  auto cases = decode_cases(in, options);
  if (auto* error = std::get_if<message::Error>(&cases)) return std::move(*error);
  out.request_id = *id;
  out.chunk_no = in.chunk_no();
  out.files = std::move(std::get<1>(files));
  out.cases = std::move(std::get<1>(cases));
  out.hash = in.hash();
  out.keys = std::move(*in.mutable_keys());
  return out;
}

Checked<Event> decode(const proto::SealJob& in, const CodecOptions&) {
  const auto id = bytes16(in.request_id());
  if (!id) return bad_request_id();
  if (in.case_count() > kNumberMax || in.file_count() > kNumberMax) {
    return invalid("case_count, file_count: out of range");
  }
  event::SealJob out;
  out.request_id = *id;
  out.chunk_count = in.chunk_count();
  out.case_count = in.case_count();
  out.file_count = in.file_count();
  out.digest = in.digest();
  return out;
}

Checked<Event> decode(const proto::CancelJob& in, const CodecOptions&) {
  if (auto error = check_job(in.job())) return *error;
  if (in.reason().size() > kReasonBytesMax || !is_printable(in.reason())) {
    return invalid(
        fmt::format("reason: expected at most {} bytes of printable UTF-8", kReasonBytesMax));
  }
  event::CancelJob out;
  out.job = {in.job()};
  out.reason = in.reason();
  return out;
}

Checked<Event> decode(const proto::WaitJob& in, const CodecOptions&) {
  if (auto error = check_job(in.job())) return *error;
  return event::WaitJob{{}, 0, {in.job()}};
}

Checked<Event> decode(const proto::MarkCanary& in, const CodecOptions&) {
  if (auto error = check_job(in.job())) return *error;
  event::MarkCanary out;
  out.job = {in.job()};
  out.off = in.off();
  return out;
}

Checked<Event> decode(const proto::AdmitWorker& in, const CodecOptions&) {
  if (auto error = check_worker_name("name", in.name())) return *error;
  event::AdmitWorker out;
  out.name = in.name();
  return out;
}

// ---- Queries.

std::uint32_t page_rows(std::uint32_t limit, const CodecOptions& options) {
  return limit == 0 ? options.page_rows : std::min(limit, options.page_rows_max);
}

Checked<query::Query> decode(const proto::GetJob& in, const CodecOptions&) {
  if (auto error = check_job(in.job())) return *error;
  return query::GetJob{{in.job()}};
}

Checked<query::Query> decode(const proto::ListJobs& in, const CodecOptions& options) {
  return query::ListJobs{std::min(in.before(), kNumberMax), page_rows(in.limit(), options)};
}

Checked<query::Query> decode(const proto::ListResults& in, const CodecOptions& options) {
  if (auto error = check_job(in.job())) return *error;
  query::ListResults out;
  out.job = {in.job()};
  out.after_case = std::min(in.after_case(), kNumberMax);
  out.limit = page_rows(in.limit(), options);
  for (const int verdict : in.verdicts()) {
    if (verdict < 0 || !is_verdict(static_cast<std::uint64_t>(verdict))) {
      return invalid(fmt::format("verdicts: {} is not a verdict's number", verdict));
    }
    // More entries than there are verdicts can only repeat some.
    if (out.verdicts.size() >= kVerdictCount) return invalid("verdicts: name each only once");
    out.verdicts.push_back(static_cast<Verdict>(verdict));
  }
  if (in.label_glob().size() > wire::kPathBytesMax || !is_printable(in.label_glob())) {
    return invalid(fmt::format("label_glob: expected at most {} bytes of printable UTF-8",
                               wire::kPathBytesMax));
  }
  out.label_glob = in.label_glob();
  out.with_answers = in.with_answers();
  out.all_generations = in.all_generations();
  return out;
}

Checked<query::Query> decode(const proto::GetCase& in, const CodecOptions&) {
  if (auto error = check_job(in.job())) return *error;
  if (in.case_no() == 0 || in.case_no() > kNumberMax) {
    return invalid("case_no: there is no such number; cases are numbered from 1");
  }
  return query::GetCase{{in.job()}, {in.case_no()}};
}

Checked<query::Query> decode(const proto::ListFiles& in, const CodecOptions& options) {
  if (auto error = check_job(in.job())) return *error;
  return query::ListFiles{
      {in.job()}, std::min(in.after_file(), kNumberMax), page_rows(in.limit(), options)};
}

constexpr int kCursorNumbersMax = 64;

Checked<ClientInput> decode(const proto::Check& in, std::uint64_t request) {
  if (in.cursor_size() > kCursorNumbersMax) return invalid("cursor: not one of this daemon");
  if (!in.broker()) return Query{request, query::Check{{in.cursor().begin(), in.cursor().end()}}};
  const std::uint64_t after = in.cursor_size() > 0 ? in.cursor(0) : 0;
  return CheckBroker{request, {std::min(after, kNumberMax)}};
}

Checked<ClientInput> decode(const proto::Backup& in, std::uint64_t request) {
  const auto token = bytes16(in.token());
  if (!token) return invalid("token: expected 16 bytes");
  if (!in.path().starts_with('/') || in.path().size() > wire::kPathBytesMax ||
      !is_printable(in.path())) {
    return invalid(
        fmt::format("path: expected an absolute path of at most {} bytes of printable "
                    "UTF-8",
                    wire::kPathBytesMax));
  }
  return Backup{request, in.path(), in.force(), *token};
}

// ---- Putting peer and request in.

ClientInput finish(std::uint64_t request, Checked<ClientInput> checked) {
  if (auto* error = std::get_if<message::Error>(&checked)) {
    error->request = request;
    return std::move(*error);
  }
  return std::move(std::get<ClientInput>(checked));
}

ClientInput finish(PeerId peer, std::uint64_t request, Checked<Event> checked) {
  if (auto* error = std::get_if<message::Error>(&checked)) {
    error->request = request;
    return std::move(*error);
  }
  Event event = std::move(std::get<Event>(checked));
  std::visit(
      [&](auto& e) {
        if constexpr (requires { e.peer, e.request; }) {
          e.peer = peer;
          e.request = request;
        }
      },
      event);
  return event;
}

ClientInput finish(PeerId, std::uint64_t request, Checked<query::Query> checked) {
  if (auto* error = std::get_if<message::Error>(&checked)) {
    error->request = request;
    return std::move(*error);
  }
  return Query{request, std::move(std::get<query::Query>(checked))};
}

message::Error from(wire::DecodeError error, std::string_view frame, const CodecOptions& options) {
  message::Error out;
  out.text = wire::describe(error);
  switch (error) {
    case wire::DecodeError::kOtherVersion:
      out.code = ErrorCode::kUnsupportedVersion;
      out.text =
          wire::describe_skew(frame, "the client", "this daemon (puzzled " PUZZLED_VERSION ")");
      break;
    case wire::DecodeError::kTooManyFields:
      out.code = ErrorCode::kTooLarge;
      break;
    case wire::DecodeError::kTooLarge:
      out.code = ErrorCode::kTooLarge;
      out.text += fmt::format(" of {} bytes", options.message_bytes_max);
      break;
    default:
      out.code = ErrorCode::kMalformed;
  }
  return out;
}

}  // namespace

std::uint64_t request_of(const ClientInput& input) {
  const auto request = [](const auto& what) -> std::uint64_t {
    if constexpr (requires { what.request; }) return what.request;
    return 0;
  };
  if (const auto* event = std::get_if<Event>(&input)) return std::visit(request, *event);
  return std::visit(request, input);
}

ClientInput decode_client(PeerId peer, std::string_view frame, const CodecOptions& options) {
  proto::ClientRequest in;
  const wire::DecodeError error =
      wire::decode(frame, wire::Role::kClient, options.message_bytes_max, in);
  if (error != wire::DecodeError::kNone) return from(error, frame, options);
  const std::uint64_t id = in.id();
  switch (in.body_case()) {
    case proto::ClientRequest::kOpenJob:
      return finish(peer, id, decode(in.open_job(), options));
    case proto::ClientRequest::kAddChunk:
      return finish(peer, id, decode(*in.mutable_add_chunk(), options));
    case proto::ClientRequest::kSealJob:
      return finish(peer, id, decode(in.seal_job(), options));
    case proto::ClientRequest::kCancelJob:
      return finish(peer, id, decode(in.cancel_job(), options));
    case proto::ClientRequest::kWaitJob:
      return finish(peer, id, decode(in.wait_job(), options));
    case proto::ClientRequest::kGetJob:
      return finish(peer, id, decode(in.get_job(), options));
    case proto::ClientRequest::kListJobs:
      return finish(peer, id, decode(in.list_jobs(), options));
    case proto::ClientRequest::kListResults:
      return finish(peer, id, decode(in.list_results(), options));
    case proto::ClientRequest::kGetCase:
      return finish(peer, id, decode(in.get_case(), options));
    case proto::ClientRequest::kListFiles:
      return finish(peer, id, decode(in.list_files(), options));
    case proto::ClientRequest::kListWorkers:
      return ListWorkers{id,
                         {std::min(in.list_workers().after(), kNumberMax)},
                         page_rows(in.list_workers().limit(), options)};
    case proto::ClientRequest::kGetVersion:
      return GetVersion{id};
    case proto::ClientRequest::kGetDemand: {
      const std::uint32_t slot_work_ms = in.get_demand().slot_work_ms();
      return GetDemand{id, slot_work_ms > 0 ? slot_work_ms : kSlotWorkMs};
    }
    case proto::ClientRequest::kCheck:
      return finish(id, decode(in.check(), id));
    case proto::ClientRequest::kBackup:
      return finish(id, decode(in.backup(), id));
    case proto::ClientRequest::kControlWorkers:
      return finish(peer, id, decode(in.control_workers(), options));
    case proto::ClientRequest::kMarkCanary:
      return finish(peer, id, decode(in.mark_canary(), options));
    case proto::ClientRequest::kAdmitWorker:
      return finish(peer, id, decode(in.admit_worker(), options));
    case proto::ClientRequest::BODY_NOT_SET:
      break;
  }
  if (wire::version_of(frame)->minor > wire::kMinor) {
    return message::Error{
        id, ErrorCode::kUnsupportedVersion,
        "this daemon is too old for the request: " +
            wire::describe_skew(frame, "the client", "this daemon (puzzled " PUZZLED_VERSION ")")};
  }
  return message::Error{id, ErrorCode::kMalformed,
                        "the request asks for nothing this daemon knows; is the client newer?"};
}

}  // namespace puzzled::codec
