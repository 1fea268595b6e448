// workers: who is there, and draining, resuming and removing them; and version.
#include <fmt/format.h>

#include <algorithm>

#include "client/calls.h"
#include "client/commands.h"
#include "client/failure.h"
#include "client/suggest.h"
#include "proto/base/labels.h"
#include "proto/base/printable.h"
#include "proto/wire.h"

namespace puzzled::client {

namespace {

std::string_view state_name(proto::WorkerState state) {
  switch (state) {
    case proto::WORKING:
      return "working";
    case proto::DRAINING:
      return "draining";
    case proto::DRAINED:
      return "drained";
    case proto::LEAVING:
      return "leaving";
    case proto::ABSENT:
      return "not connected";
    default:
      return "unknown";
  }
}

// An older daemon says only whether it drains.
std::string_view state_name(const proto::WorkerRow& worker) {
  if (worker.state() != proto::WORKER_STATE_UNSPECIFIED) return state_name(worker.state());
  return worker.draining() ? "draining" : "working";
}

Record worker_record(const proto::WorkerRow& worker) {
  const std::vector<std::string> solvers(worker.solvers().begin(), worker.solvers().end());
  std::vector<std::string> versioned;
  for (int i = 0; i < std::min(worker.solvers_size(), worker.solver_versions_size()); ++i) {
    versioned.push_back(worker.solvers(i) + "@" + worker.solver_versions(i));
  }
  Record labels;  // its keys are the message's
  for (const proto::Label& label : worker.labels()) {
    labels.push_back({label.key(), text_value(label.value())});
  }
  return {{"worker", text_value(worker.name())},
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
          {"state", {std::string(state_name(worker))}},
          {"labels", {std::move(labels), describe(labels_of(worker.labels()))}},
          {"solver_versions", {versioned}},
          {"canaries_passed", {worker.canaries_passed()}},
          {"barred", {}}};
}

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
          {"state", {}},
          {"labels", {}},
          {"solver_versions", {}},
          {"canaries_passed", {}},
          {"barred", text_value(text)}};
}

int list_all(Context& context) {
  Connection connection(connection_options(context));
  const auto writer = record_writer(context.global.output,
                                    {{"worker", "WORKER", false, 40},
                                     {"host", "HOST", false, 40},
                                     {"pid", "PID", true},
                                     {"slots", "SLOTS", true},
                                     {"leases", "LEASES", true},
                                     {"cases_done", "CASES", true},
                                     {"draining", ""},
                                     {"connected_at", "CONNECTED"},
                                     {"last_seen_at", ""},
                                     {"version", "VERSION"},
                                     {"solvers", ""},
                                     {"state", "STATE"},
                                     {"labels", "LABELS", false, 60},
                                     {"solver_versions", ""},
                                     {"canaries_passed", ""},
                                     {"barred", "BARRED", false, 80}},
                                    context.console);
  each_workers_page(connection, [&](const proto::WorkersPage& page) {
    for (const proto::WorkerRow& worker : page.workers()) writer->write(worker_record(worker));
    for (const proto::BarredWorker& worker : page.barred()) writer->write(barred_record(worker));
  });
  writer->finish();
  return kExitOk;
}

[[noreturn]] void refuse_unknown(Connection& connection, const std::string& name) {
  std::vector<std::string> names;
  each_workers_page(connection, [&](const proto::WorkersPage& page) {
    for (const proto::WorkerRow& worker : page.workers()) names.push_back(worker.name());
  });
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string similar = names.empty() ? "no worker is connected" : did_you_mean(name, known);
  throw Failure(kExitRefused, fmt::format("no worker is called \"{}\"; nothing was done", name),
                similar.empty() ? "\"puzzlectl workers\" lists those that are connected" : similar);
}

int control(const WorkersOptions& options, Context& context) {
  proto::ControlWorkers request;
  request.set_action(options.action == "drain"    ? proto::ControlWorkers::DRAIN
                     : options.action == "resume" ? proto::ControlWorkers::RESUME
                                                  : proto::ControlWorkers::REMOVE);
  for (const std::string& name : options.names) request.add_names(name);
  request.set_all(options.all);
  Connection connection(connection_options(context));
  require_minor(connection, 1, "\"workers " + options.action + "\"");
  const proto::WorkersControlled done = control_workers(connection, request);
  if (done.unknown_size() > 0) refuse_unknown(connection, done.unknown(0));

  const auto writer = record_writer(context.global.output,
                                    {{"worker", "WORKER", false, 40},
                                     {"host", "HOST", false, 40},
                                     {"pid", "PID", true},
                                     {"state", "STATE"},
                                     {"leases", "LEASES", true},
                                     {"changed", "CHANGED"}},
                                    context.console);
  for (const proto::ControlledWorker& worker : done.workers()) {
    writer->write({{"worker", text_value(worker.name())},
                   {"host", text_value(worker.host())},
                   {"pid", {std::uint64_t{worker.pid()}}},
                   {"state", {std::string(state_name(worker.state()))}},
                   {"leases", {std::uint64_t{worker.leases()}}},
                   {"changed", {worker.changed()}}});
  }
  writer->finish();
  const std::uint64_t all = done.changed() + done.unchanged();
  const std::string_view past = options.action == "drain"    ? "drained"
                                : options.action == "resume" ? "resumed"
                                                             : "removed";
  std::string note = fmt::format("{} {}", counted(done.changed(), "worker"), past);
  if (done.unchanged() > 0) note += fmt::format(", {} as before", done.unchanged());
  if (all > static_cast<std::uint64_t>(done.workers_size())) {
    note += fmt::format("; the first {} are listed", done.workers_size());
  }
  context.console.note(note);
  return kExitOk;
}

}  // namespace

int run_workers(const WorkersOptions& options, Context& context) {
  if (options.action.empty()) {
    if (!options.all) return list_all(context);
    throw Failure(kExitInvalid, "--all of what?", "drain, resume or remove comes before it");
  }
  if (options.all == !options.names.empty()) {
    throw Failure(kExitInvalid,
                  options.all ? "--all and names exclude each other"
                              : fmt::format("no worker to {} is named", options.action),
                  "name some, patterns such as \"node7-*\" too, or say --all");
  }
  return control(options, context);
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
      {"daemon_protocol_minor", {std::uint64_t{connection.daemon_minor()}}},
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
                {"daemon_protocol_minor", ""},
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
