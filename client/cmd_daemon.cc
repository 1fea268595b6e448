// status without a job: what the daemon does, and what holds it up.
#include <fmt/format.h>

#include "client/calls.h"
#include "client/commands.h"
#include "client/failure.h"
#include "proto/base/units.h"

namespace puzzled::client {
namespace {

Value size_value(std::uint64_t bytes) { return {bytes, approximate_size(bytes)}; }

Value intake_value(const proto::Version& daemon) {
  if (!daemon.intake_paused().empty()) return {std::string("paused"), std::nullopt, Colour::kBad};
  if (daemon.load().slow()) return {std::string("slow"), std::nullopt, Colour::kBad};
  return {std::string("open"), std::nullopt, Colour::kGood};
}

Value barred_value(std::uint64_t count) {
  if (count == 0) return {count, ""};
  return {count, fmt::format("{} (failed a canary, see \"puzzlectl workers\")", count),
          Colour::kBad};
}

Record daemon_record(const proto::Version& daemon, const std::string& endpoint) {
  const proto::Load& load = daemon.load();
  const std::uint64_t age_ms = load.reader_age_ms();
  return {{"endpoint", text_value(endpoint)},
          {"version", text_value(daemon.version())},
          {"pid", {std::uint64_t{daemon.pid()}}},
          {"boot", {daemon.boot()}},
          {"started_at", time_value(daemon.started_ms())},
          {"database", text_value(daemon.database())},
          {"intake", intake_value(daemon)},
          {"intake_reason", text_value(daemon.intake_paused())},
          {"workers", {load.workers()}},
          {"open_jobs", {load.open_jobs()}},
          {"leases", {load.leases()}},
          {"clients", {load.clients()}},
          {"waiting_queries", {load.waiting_queries()}},
          {"store_queue_bytes", size_value(load.store_queue_bytes())},
          {"unsent_bytes", size_value(load.unsent_bytes())},
          {"wal_bytes", size_value(load.log_bytes())},
          {"wal_reader_age_ms",
           age_ms == 0 ? Value{} : Value{age_ms, approximate_duration_us(age_ms * 1000)}},
          {"barred_workers", barred_value(load.barred_workers())}};
}

}  // namespace

int run_daemon_status(Context& context) {
  Connection connection(connection_options(context));
  const proto::Version daemon = get_version(connection);
  write_single(context.global.output,
               {{"endpoint", "endpoint"},
                {"version", "version"},
                {"pid", "pid"},
                {"boot", "boot"},
                {"started_at", "started"},
                {"database", "database"},
                {"intake", "intake"},
                {"intake_reason", "because"},
                {"workers", "workers"},
                {"open_jobs", "open jobs"},
                {"leases", "leases"},
                {"clients", "clients"},
                {"waiting_queries", "queries waiting"},
                {"store_queue_bytes", "not on disk yet"},
                {"unsent_bytes", "unsent"},
                {"wal_bytes", "write-ahead log"},
                {"wal_reader_age_ms", "kept by a reader"},
                {"barred_workers", "barred workers"}},
               daemon_record(daemon, connection.endpoint()), context.console);
  return kExitOk;
}

}  // namespace puzzled::client
