// jobs and status.
#include <fmt/format.h>

#include "client/calls.h"
#include "client/commands.h"
#include "client/failure.h"
#include "proto/base/labels.h"
#include "proto/base/printable.h"
#include "proto/base/units.h"

namespace puzzled::client {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<std::uint8_t>(c));
  return text;
}

const std::vector<Column>& job_columns() {
  static const std::vector<Column> columns = {{"job", "JOB", true},
                                              {"name", "NAME", false, 40},
                                              {"puzzle", "PUZZLE"},
                                              {"solver", "SOLVER"},
                                              {"state", "STATE"},
                                              {"cases", "CASES", true},
                                              {"done", "DONE", true},
                                              {"leased", ""},
                                              {"files", ""},
                                              {"chunks", ""},
                                              {"priority", ""},
                                              {"time_limit_us", ""},
                                              {"memory_limit_bytes", ""},
                                              {"created_at", "CREATED"},
                                              {"sealed_at", ""},
                                              {"finished_at", ""},
                                              {"verdicts", "VERDICTS", false, 80},
                                              {"cancel_reason", ""},
                                              {"waiting_for", ""},
                                              {"request_id", ""},
                                              {"solver_version", ""},
                                              {"require", ""},
                                              {"versions", ""},
                                              {"canary", ""},
                                              {"revised", ""},
                                              {"cached", ""},
                                              {"no_cache", ""}};
  return columns;
}

// All of them, one below the other.
std::vector<Column> status_columns() {
  std::vector<Column> columns = job_columns();
  constexpr std::string_view kHeadings[] = {
      "job",          "name",    "puzzle",       "solver",   "state",    "cases",
      "done",         "running", "files",        "chunks",   "priority", "time limit",
      "memory limit", "created", "complete",     "finished", "verdicts", "cancelled",
      "waiting for",  "",        "only version", "requires", "versions", "canary",
      "revised",      "cached",  "no cache"};
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i].heading = kHeadings[i];
  return columns;
}

Colour state_colour(proto::JobState state) {
  if (state == proto::JOB_DONE) return Colour::kGood;
  return state == proto::JOB_STATE_CANCELLED ? Colour::kDim : Colour::kNone;
}

// In tables only what is out of the ordinary is shown.
std::optional<std::string> unless(bool is_shown) {
  return is_shown ? std::nullopt : std::optional<std::string>("");
}

Record job_record(const proto::JobStatus& job) {
  Record verdicts;
  const auto counts = verdict_counts(job);
  for (const auto& [verdict, count] : counts) verdicts.push_back({verdict_name(verdict), {count}});
  const proto::Limits& limits = job.spec().limits();
  Record require;  // its keys are the message's
  for (const proto::Label& label : job.spec().require()) {
    require.push_back({label.key(), text_value(label.value())});
  }
  Record versions;
  std::string versions_text;
  for (const proto::VersionCount& entry : job.versions()) {
    versions.push_back({entry.version(), {entry.count()}});
    versions_text += fmt::format("{}{} {}/{}", versions_text.empty() ? "" : ", ", entry.count(),
                                 job.spec().solver(), entry.version());
  }
  return {
      {"job", {job.job()}},
      {"name", text_value(job.spec().name())},
      {"puzzle", text_value(job.spec().puzzle())},
      {"solver", text_value(job.spec().solver())},
      {"state", {std::string(state_name(job.state())), std::nullopt, state_colour(job.state())}},
      {"cases", {job.case_count()}},
      {"done", {job.done_count()}},
      {"leased", {job.leased_count()}},
      {"files", {job.file_count()}},
      {"chunks", {std::uint64_t{job.chunk_count()}}},
      {"priority", {std::int64_t{job.spec().priority()}}},
      {"time_limit_us", {limits.time_limit_us(), format_duration_us(limits.time_limit_us())}},
      {"memory_limit_bytes",
       {limits.memory_limit_bytes(), format_size(limits.memory_limit_bytes())}},
      {"created_at", time_value(job.created_ms())},
      {"sealed_at", time_value(job.sealed_ms())},
      {"finished_at", time_value(job.finished_ms())},
      {"verdicts", {std::move(verdicts), describe_counts(counts)}},
      {"cancel_reason", text_value(job.cancel_reason())},
      {"waiting_for", text_value(job.waiting_for())},
      {"request_id", {hex(job.request_id())}},
      {"solver_version", text_value(job.spec().solver_version())},
      {"require", {std::move(require), describe(labels_of(job.spec().require()))}},
      // A list of jobs comes without those that there are.
      {"versions", versions.empty() && job.done_count() > 0
                       ? Value{}
                       : Value{std::move(versions), versions_text}},
      {"canary", {job.canary(), unless(job.canary())}},
      {"revised", {job.revised(), unless(job.revised() > 0)}},
      {"cached", {job.cached_count(), unless(job.cached_count() > 0)}},
      {"no_cache", {job.spec().no_cache(), unless(job.spec().no_cache())}}};
}

}  // namespace

int run_jobs(const JobsOptions& options, Context& context) {
  constexpr std::uint64_t kPage = 1000;
  Connection connection(connection_options(context));
  const auto writer = record_writer(context.global.output, job_columns(), context.console);
  std::uint64_t left = options.limit == 0 ? UINT64_MAX : options.limit;
  std::uint64_t before = 0;
  for (bool more = true; more && left > 0;) {
    const proto::JobsPage page =
        list_jobs(connection, before, static_cast<std::uint32_t>(std::min(left, kPage)));
    for (const proto::JobStatus& job : page.jobs()) {
      if (left-- == 0) break;
      writer->write(job_record(job));
      before = job.job();
    }
    more = page.more() && page.jobs_size() > 0;
  }
  writer->finish();
  return kExitOk;
}

int run_status(const StatusOptions& options, Context& context) {
  if (options.job == 0) return run_daemon_status(context);
  Connection connection(connection_options(context));
  const proto::JobStatus status = get_job(connection, options.job);
  const bool table = context.global.output == OutputFormat::kTable;
  write_single(context.global.output, table ? status_columns() : job_columns(), job_record(status),
               context.console);
  return kExitOk;
}

}  // namespace puzzled::client
