#include "client/scaler/options.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <variant>

#include "client/failure.h"
#include "proto/base/paths.h"
#include "proto/base/printable.h"
#include "proto/base/units.h"

extern "C" char** environ;

namespace puzzled::scaler {
namespace {

constexpr std::uint32_t kWorkersMax = 100'000;
constexpr std::uint32_t kSlotsMax = 1'024;  // of puzzle-worker --slots
constexpr std::size_t kFleetBytesMax = 64;
// Where `cmake --install` puts the script, from the folder of the programs.
constexpr const char* kInstalledScript = "../share/puzzled/slurm/worker.sbatch";

constexpr const char* kFooter = R"(
It asks the daemon how many slots its open cases want, and Slurm which workers there
are, and submits or ends array tasks until they fit. It keeps nothing itself: it can be
stopped and started at any time, and its workers go on.

Exit codes: 0 ended by a signal, or --once went well; 2 usage; 3 the daemon cannot be
reached (of --once; else it tries again); 4 the daemon refuses, and has not answered before;
5 Slurm cannot be asked or refuses (of --once, likewise); 70 a bug of ours; 130 a second
signal, or --once was interrupted.

Signals: SIGTERM and SIGINT end it, when a command of Slurm that runs is over; workers
go on. A second one ends it at once. SIGHUP ends a wait or a pause that failures caused.

Environment: PUZZLED_ENDPOINT, PUZZLED_KEY and PUZZLED_SERVER_KEY for the options
--endpoint, --key and --server-key. PUZZLED_SCRATCH and PUZZLED_GIVE_UP_AFTER reach the
jobs; of the other PUZZLED_ variables they get what the options say.

Examples:
  puzzle-scaler --max 16 --worker-endpoint tcp://broker:7401 --dry-run --once
  puzzle-scaler --max 64 --slots-per-worker 8 --endpoint tcp://broker:7400 \
    --key scaler.key --server-key broker.pub --worker-endpoint tcp://broker:7401 \
    --worker-key /etc/puzzled/cluster.key --sbatch-argument=--partition=long)";

struct Texts {  // as typed
  std::string endpoint, key, server_key;
  std::string worker_endpoint, worker_key, worker_program, idle_timeout;
  std::vector<std::string> worker_labels;
};

int usage_error(const std::string& text) {
  fmt::print(stderr, "puzzle-scaler: {}\nTry 'puzzle-scaler --help'.\n", text);
  return client::kExitInvalid;
}

CLI::Range in_range(std::uint32_t least, std::uint32_t most) {
  return {least, most, fmt::format("{}-{}", least, most)};
}

// An option that is a duration, its default shown as people write it.
template <class Milliseconds>
void add_duration(CLI::App& app, const std::string& name, Milliseconds& ms,
                  const std::string& about) {
  const auto read = [&ms](const std::string& text) {
    const auto us = parse_duration_us(text);
    if (!us || *us < 1'000 || *us / 1'000 > INT32_MAX) {
      throw CLI::ValidationError(
          fmt::format("\"{}\" is no duration such as 500ms, 10s or 5m", printable_line(text)));
    }
    ms = static_cast<Milliseconds>(*us / 1'000);
  };
  const std::string shown = format_duration_us(static_cast<std::uint64_t>(ms) * 1000);
  app.add_option_function<std::string>(name, read, fmt::format("{} (default {})", about, shown))
      ->type_name("DURATION");
}

void add_daemon(CLI::App& app, Texts& texts, Options& options) {
  app.add_option("--endpoint", texts.endpoint,
                 "The daemon's client endpoint, ipc:///PATH or tcp://HOST:PORT (default: that of "
                 "this user's daemon)")
      ->type_name("ENDPOINT")
      ->envname("PUZZLED_ENDPOINT");
  app.add_option("--key", texts.key, "A .key file with the role read, for an encrypted endpoint")
      ->type_name("FILE")
      ->envname("PUZZLED_KEY");
  app.add_option("--server-key", texts.server_key, "That daemon's public key, or its .pub file")
      ->type_name("KEY")
      ->envname("PUZZLED_SERVER_KEY");
  add_duration(app, "--connect-timeout", options.connection.connect_timeout_ms,
               "How long the daemon may be silent");
}

void add_scale(CLI::App& app, Options& options) {
  ScalerOptions& scaler = options.scaler;
  app.add_option("--min", scaler.min, "Workers to keep even without work (default 0)")
      ->type_name("N")
      ->check(in_range(0, kWorkersMax));
  app.add_option("--max", scaler.max, "Never more workers than this")
      ->type_name("N")
      ->check(in_range(1, kWorkersMax))
      ->required();
  app.add_option("--slots-per-worker", scaler.slots_per_worker,
                 "Cases that a worker solves at a time, and CPUs of its task (default 1)")
      ->type_name("N")
      ->check(in_range(1, kSlotsMax));
  add_duration(app, "--slot-work", options.slot_work_ms, "Work for which one more slot is started");
  add_duration(app, "--interval", options.interval_ms, "Between two looks");
  add_duration(app, "--shrink-after", scaler.shrink_after_ms,
               "End workers when there have been too many for so long");
  add_duration(app, "--join-timeout", scaler.join_timeout_ms,
               "End a worker that runs and does not come to the daemon");
  add_duration(app, "--drain-timeout", scaler.drain_timeout_ms,
               "Kill a worker that was asked to end, after so long");
}

void add_failures(CLI::App& app, Options& options) {
  ScalerOptions& scaler = options.scaler;
  add_duration(app, "--backoff", scaler.backoff_first_ms,
               "Wait after a failure; twice as long after each that follows");
  add_duration(app, "--backoff-max", scaler.backoff_max_ms, "But not longer than this");
  app.add_option("--failures-max", scaler.failures_max,
                 "Failures in a row that make a pause (default 5)")
      ->type_name("N")
      ->check(in_range(1, 1000));
  add_duration(app, "--pause", scaler.pause_ms, "How long that pause is; then one worker is tried");
}

void add_slurm(CLI::App& app, Texts& texts, Options& options) {
  SlurmOptions& slurm = options.slurm;
  app.add_option("--fleet", slurm.fleet,
                 "Name of the jobs; other scalers of this user need others (default puzzle-worker)")
      ->type_name("NAME");
  app.add_option("--script", slurm.script, "The batch script (default: the installed one)")
      ->type_name("FILE");
  app.add_option("--sbatch-argument", slurm.sbatch_arguments,
                 "One more argument of sbatch, e.g. --sbatch-argument=--partition=long; repeatable")
      ->type_name("ARGUMENT")
      ->take_all()
      ->allow_extra_args(false);
  add_duration(app, "--engine-timeout", slurm.timeout_ms, "How long a command of Slurm may take");
  app.add_option("--worker-endpoint", texts.worker_endpoint,
                 "The daemon's worker endpoint, as the nodes reach it")
      ->type_name("ENDPOINT")
      ->required();
  app.add_option("--worker-key", texts.worker_key,
                 "The workers' .key file (role work), its whole path on the nodes")
      ->type_name("FILE");
  app.add_option("--worker-program", texts.worker_program,
                 "puzzle-worker on the nodes: its whole path, or a name in PATH (the default)")
      ->type_name("FILE");
  app.add_option("--worker-label", texts.worker_labels,
                 "What the nodes are or have, for jobs that require it; repeatable")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--idle-timeout", texts.idle_timeout,
                 "Workers end by themselves after so long without work (default 5m; never "
                 "if --min is given)")
      ->type_name("DURATION");
}

// The fleet's name is a job's name, a part of workers' names, and one argument of a command.
bool is_fleet_name(const std::string& name) {
  return !name.empty() && name.size() <= kFleetBytesMax && name.front() != '-' &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

std::string user_name() {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr) {
    return std::to_string(::geteuid());
  }
  return found->pw_name;
}

std::optional<int> finish_connection(const Texts& texts, Options& options) {
  client::ConnectionOptions& connection = options.connection;
  connection.endpoints = texts.endpoint.empty() ? candidate_client_endpoints()
                                                : std::vector<std::string>{texts.endpoint};
  connection.patience_ms = connection.connect_timeout_ms;
  if (const auto error = endpoint_error(connection.endpoints.front(), false)) {
    return usage_error(
        fmt::format("--endpoint '{}': {}", printable_line(connection.endpoints.front()), *error));
  }
  auto keys = read_curve_keys(texts.key, texts.server_key);
  if (const auto* error = std::get_if<KeyError>(&keys)) return usage_error(error->text);
  connection.keys = std::get<std::optional<CurveKeys>>(std::move(keys));
  return std::nullopt;
}

// What the jobs get, or what is wrong.
std::variant<std::vector<std::string>, std::string> worker_environment(
    const Texts& texts, const std::string& idle_timeout, const Labels& labels) {
  std::vector<std::string> variables = {"PUZZLED_WORKER_ENDPOINT=" + texts.worker_endpoint,
                                        "PUZZLED_IDLE_TIMEOUT=" + idle_timeout};
  const auto is_relative = [](const std::string& path) { return !path.starts_with('/'); };
  if (!texts.worker_key.empty()) {
    if (is_relative(texts.worker_key)) {
      return fmt::format("--worker-key '{}' is read on the nodes: give its whole path",
                         printable_line(texts.worker_key));
    }
    if (texts.server_key.empty()) {
      return "--worker-key needs --server-key, the daemon's public key";
    }
    // The key itself: a path of this machine may mean nothing on the nodes.
    auto server_key = read_public_key(texts.server_key);
    if (const auto* error = std::get_if<KeyError>(&server_key)) return error->text;
    variables.push_back("PUZZLED_KEY=" + texts.worker_key);
    variables.push_back("PUZZLED_SERVER_KEY=" + std::get<std::string>(server_key));
  }
  const std::string& program = texts.worker_program;
  if (!program.empty()) {
    if (program.find('/') != std::string::npos && is_relative(program)) {
      return fmt::format("--worker-program '{}' is read on the nodes: give its whole path",
                         printable_line(program));
    }
    variables.push_back("PUZZLED_WORKER_PROGRAM=" + program);
  }
  std::string lines;
  for (const Label& label : labels) {
    lines += (lines.empty() ? "" : "\n") + label.key + "=" + label.value;
  }
  if (!lines.empty()) variables.push_back("PUZZLED_WORKER_LABELS=" + lines);
  return variables;
}

std::optional<int> finish_slurm(const Texts& texts, Options& options) {
  SlurmOptions& slurm = options.slurm;
  if (const auto error = endpoint_error(texts.worker_endpoint, false)) {
    return usage_error(
        fmt::format("--worker-endpoint '{}': {}", printable_line(texts.worker_endpoint), *error));
  }
  if (!is_fleet_name(slurm.fleet)) {
    return usage_error(
        fmt::format("--fleet '{}': expected 1 to {} of a-z A-Z 0-9 - _ . that do "
                    "not begin with -",
                    printable_line(slurm.fleet), kFleetBytesMax));
  }
  // Workers that are to stay without work must not end for want of it.
  const std::string idle_timeout =
      !texts.idle_timeout.empty() ? texts.idle_timeout : (options.scaler.min > 0 ? "0" : "5m");
  if (!parse_duration_us(idle_timeout)) {
    return usage_error(fmt::format("--idle-timeout '{}': expected a duration such as 30s or 5m",
                                   printable_line(idle_timeout)));
  }
  if (slurm.script.empty()) slurm.script = program_folder() + "/" + kInstalledScript;
  if (::access(slurm.script.c_str(), R_OK) != 0) {
    return usage_error(fmt::format("the batch script '{}' cannot be read; name it with --script",
                                   printable_line(slurm.script)));
  }
  slurm.slots_per_worker = options.scaler.slots_per_worker;
  slurm.user = user_name();
  auto labels = parse_labels(texts.worker_labels, kWorkerLabelsMax);
  if (const auto* wrong = std::get_if<std::string>(&labels)) {
    return usage_error("--worker-label " + *wrong);
  }
  options.worker_labels = std::get<Labels>(std::move(labels));
  const auto instead = worker_environment(texts, idle_timeout, options.worker_labels);
  if (const auto* wrong = std::get_if<std::string>(&instead)) return usage_error(*wrong);
  slurm.environment = job_environment(environ, std::get<std::vector<std::string>>(instead));
  return std::nullopt;
}

}  // namespace

std::vector<std::string> job_environment(char** own, const std::vector<std::string>& instead) {
  constexpr std::array<std::string_view, 2> kPassed = {"PUZZLED_SCRATCH=",
                                                       "PUZZLED_GIVE_UP_AFTER="};
  std::vector<std::string> environment;
  for (char** entry = own; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool is_passed =
        std::ranges::any_of(kPassed, [&](std::string_view name) { return text.starts_with(name); });
    if (is_passed || !text.starts_with("PUZZLED_")) environment.emplace_back(text);
  }
  environment.insert(environment.end(), instead.begin(), instead.end());
  return environment;
}

std::optional<int> parse_options(int argc, char** argv, Options& options) {
  CLI::App app("Starts and ends a daemon's workers under Slurm, by the work that is open.",
               "puzzle-scaler");
  Texts texts;
  // A script can add its options to those that it was given.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_daemon(app, texts, options);
  add_scale(app, options);
  add_failures(app, options);
  add_slurm(app, texts, options);
  app.add_flag("--dry-run", options.dry_run, "Only say what would be done");
  app.add_flag("--once", options.once, "One look, and what follows from it; then end");
  app.add_option("--log-level", options.log_level, "How much to say on standard error")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.set_version_flag("--version", "puzzle-scaler " PUZZLED_VERSION);
  app.footer(kFooter);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    return usage_error(e.what());
  }
  if (options.scaler.min > options.scaler.max) {
    return usage_error(
        fmt::format("--min {} is more than --max {}", options.scaler.min, options.scaler.max));
  }
  if (const auto code = finish_connection(texts, options)) return code;
  return finish_slurm(texts, options);
}

}  // namespace puzzled::scaler
