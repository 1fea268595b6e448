// workers and version: who is there.
#include <fmt/format.h>

#include "client/calls.h"
#include "client/commands.h"
#include "client/failure.h"
#include "proto/wire.h"

namespace puzzled::client {

namespace {

// Not connected: who it was, and why it is refused.
Record barred_record(const proto::BarredWorker& worker) {
  const std::string text =
      fmt::format("since {}: {}", iso_time(worker.barred_ms()), worker.reason());
  return {{"worker", text_value(worker.name())},
          {"host", text_value(worker.host())},
          {"pid", {}},
          {"slots", {}},
          {"leases", {}},
          {"cases_done", {}},
          {"draining", {}},
          {"connected_at", {}},
          {"last_seen_at", {}},
          {"version", text_value(worker.version())},
          {"solvers", {std::vector<std::string>{worker.solver()}}},
          {"canaries_passed", {}},
          {"barred", text_value(text)}};
}

}  // namespace

int run_workers(const WorkersOptions&, Context& context) {
  Connection connection(connection_options(context));
  const auto writer = record_writer(context.global.output,
                                    {{"worker", "WORKER", false, 40},
                                     {"host", "HOST", false, 40},
                                     {"pid", "PID", true},
                                     {"slots", "SLOTS", true},
                                     {"leases", "LEASES", true},
                                     {"cases_done", "CASES", true},
                                     {"draining", "DRAINING"},
                                     {"connected_at", "CONNECTED"},
                                     {"last_seen_at", ""},
                                     {"version", "VERSION"},
                                     {"solvers", ""},
                                     {"canaries_passed", ""},
                                     {"barred", "BARRED", false, 80}},
                                    context.console);
  std::uint64_t after = 0;
  proto::WorkersPage page;
  do {
    after = page.next_after();
    page = list_workers(connection, after);
    for (const proto::WorkerRow& worker : page.workers()) {
      const std::vector<std::string> solvers(worker.solvers().begin(), worker.solvers().end());
      writer->write({{"worker", text_value(worker.name())},
                     {"host", text_value(worker.host())},
                     {"pid", {std::uint64_t{worker.pid()}}},
                     {"slots", {std::uint64_t{worker.slots()}}},
                     {"leases", {std::uint64_t{worker.leases()}}},
                     {"cases_done", {worker.cases_done()}},
                     {"draining", {worker.draining()}},
                     {"connected_at", time_value(worker.connected_ms())},
                     {"last_seen_at", time_value(worker.last_seen_ms())},
                     {"version", text_value(worker.version())},
                     {"solvers", {solvers}},
                     {"canaries_passed", {worker.canaries_passed()}},
                     {"barred", {}}});
    }
    for (const proto::BarredWorker& worker : page.barred()) writer->write(barred_record(worker));
    if (page.more() && page.next_after() <= after) {
      throw Failure(kExitRefused, "the daemon's pages of workers do not advance",
                    "report this as a bug of the daemon");
    }
  } while (page.more());
  writer->finish();
  return kExitOk;
}

int run_version(const VersionOptions&, Context& context) {
  const std::string protocol = fmt::format("{}.{}", wire::kMajor, wire::kMinor);
  const bool table = context.global.output == OutputFormat::kTable;
  // Ours is known even if no daemon answers.
  if (table) {
    context.console.out() << "puzzlectl " PUZZLED_VERSION " (protocol " << protocol << ")\n";
    context.console.flush();
  }
  Connection connection(connection_options(context));
  const proto::Version daemon = get_version(connection);
  const Record record = {
      {"client_version", {std::string(PUZZLED_VERSION)}},
      {"client_protocol", {protocol}},
      {"daemon_version", {daemon.version(), fmt::format("puzzled {}", daemon.version())}},
      {"daemon_protocol", {std::uint64_t{daemon.protocol()}}},
      {"endpoint", text_value(connection.endpoint())},
      {"pid", {std::uint64_t{daemon.pid()}}},
      {"started_at", time_value(daemon.started_ms())},
      {"boot", {daemon.boot()}},
      {"database", text_value(daemon.database())},
      {"refused_handshakes", {std::uint64_t{daemon.refused_handshakes()}}},
      {"refused_messages", {std::uint64_t{daemon.refused_messages()}}},
      {"intake_paused", text_value(daemon.intake_paused())}};
  write_single(context.global.output,
               {{"client_version", ""},
                {"client_protocol", ""},
                {"daemon_version", "daemon"},
                {"daemon_protocol", ""},
                {"endpoint", "endpoint"},
                {"pid", "pid"},
                {"started_at", "started"},
                {"boot", "boot"},
                {"database", "database"},
                {"refused_handshakes", ""},
                {"refused_messages", ""},
                {"intake_paused", "takes nothing"}},
               record, context.console);
  return kExitOk;
}

}  // namespace puzzled::client
