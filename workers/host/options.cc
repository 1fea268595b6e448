#include "workers/host/options.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdlib>
#include <thread>

#include "proto/base/paths.h"
#include "proto/base/printable.h"
#include "proto/base/units.h"
#include "proto/wire.h"
#include "workers/puzzles/text.h"

namespace puzzled::host {
namespace {

constexpr std::uint32_t kSlotsMax = 1024;
constexpr const char* kFooter = R"(
Exit codes: 0 ended well (drained, idle, or the daemon's own end), 2 usage, 3 no
daemon for --give-up-after, 4 refused by the daemon, 70 a bug of ours.

Signals: SIGTERM and SIGINT finish the cases being solved, give the others back
and end; a second one gives the running cases back as well. No work is lost.

Environment: PUZZLED_KEY, PUZZLED_SERVER_KEY and PUZZLED_WORKER_ENDPOINT for the
options --key, --server-key and --endpoint; without the last, PUZZLED_ENDPOINT names
the clients' endpoint, and the workers' one beside it is used.

Examples:
  puzzle-worker                                  all cores, the daemon of this user
  puzzle-worker --endpoint tcp://broker:7401 --slots 8 --idle-timeout 10m
  puzzle-worker --label cpu=zen4 --label memory=large   for "puzzlectl submit --require")";

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

// Where the daemon's worker endpoint is if nobody says so; empty if it cannot be derived.
std::string default_endpoint() {
  const char* client = std::getenv("PUZZLED_ENDPOINT");
  return worker_endpoint_for(client != nullptr ? client : find_client_endpoint()).value_or("");
}

int usage_error(const std::string& text) {
  fmt::print(stderr, "puzzle-worker: {}\nTry 'puzzle-worker --help'.\n", text);
  return kExitUsage;
}

std::string check_duration(const std::string& text) {
  return parse_duration_us(text) ? "" : "expected a duration such as 500ms, 10s or 5m";
}

std::optional<int> check(Options& options, const std::string& key_file,
                         const std::string& server_key) {
  if (options.endpoint.empty()) options.endpoint = default_endpoint();
  if (const auto error = endpoint_error(options.endpoint, false)) {
    return usage_error(
        fmt::format("--endpoint '{}': {}", printable(options.endpoint, 200), *error));
  }
  auto keys = read_curve_keys(key_file, server_key);
  if (const auto* error = std::get_if<KeyError>(&keys)) return usage_error(error->text);
  options.keys = std::get<std::optional<CurveKeys>>(std::move(keys));
  if (options.name.empty()) options.name = fmt::format("{}-{}", host_name(), ::getpid());
  if (options.name.size() > wire::kNameBytesMax) {
    return usage_error(fmt::format("--name: at most {} bytes", wire::kNameBytesMax));
  }
  if (!is_printable(options.name)) {
    return usage_error(
        fmt::format("--name '{}': expected printable UTF-8", printable_line(options.name)));
  }
  if (options.exit_with_parent_fd >= 0 &&
      ::fcntl(options.exit_with_parent_fd, F_SETFD, FD_CLOEXEC) != 0) {
    return usage_error(
        fmt::format("--exit-with-parent {}: not an open descriptor", options.exit_with_parent_fd));
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> parse_options(int argc, char** argv, Options& options) {
  CLI::App app("Solves and grades the cases that a puzzled daemon hands out.", "puzzle-worker");
  std::string idle = "0";
  std::string give_up = "0";
  options.slots = std::max(1U, std::thread::hardware_concurrency());
  app.add_option("--endpoint", options.endpoint,
                 "The daemon's worker endpoint, ipc:///PATH or tcp://HOST:PORT "
                 "(default: that of this user's daemon)")
      ->type_name("ENDPOINT")
      ->envname("PUZZLED_WORKER_ENDPOINT");
  std::vector<std::string> labels;
  std::string key_file;
  std::string server_key;
  app.add_option("--key", key_file, "Your .key file, for a daemon's encrypted tcp:// endpoint")
      ->type_name("FILE")
      ->envname("PUZZLED_KEY");
  app.add_option("--server-key", server_key, "That daemon's public key, or its .pub file")
      ->type_name("KEY")
      ->envname("PUZZLED_SERVER_KEY");
  app.add_option("--slots", options.slots, "Cases solved at the same time (default: one a core)")
      ->type_name("N")
      ->check(CLI::Range(1U, kSlotsMax, fmt::format("1-{}", kSlotsMax)));
  app.add_option("--name", options.name, "Shown in lists of workers (default: HOST-PID)")
      ->type_name("NAME");
  app.add_option("--label", labels,
                 "What this machine is or has, for jobs that require it; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--idle-timeout", idle, "End after so long without work, e.g. 10m (0: never)")
      ->type_name("DURATION")
      ->check(check_duration);
  app.add_option("--give-up-after", give_up,
                 "End with exit code 3 after so long without a daemon (0: never)")
      ->type_name("DURATION")
      ->check(check_duration);
  app.add_option("--exit-with-parent", options.exit_with_parent_fd,
                 "An inherited descriptor: end at once when its other end is closed")
      ->type_name("FD")
      ->check(CLI::Validator(CLI::NonNegativeNumber).description(""));
  app.add_option("--log-level", options.log_level, "How much to say on standard error")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.add_option("--log-format", options.log_format, "text or json (one object a line)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.set_version_flag("--version", "puzzle-worker " PUZZLED_VERSION);
  app.footer(kFooter);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    return usage_error(e.what());
  }
  auto read = parse_labels(labels, kWorkerLabelsMax);
  if (const auto* wrong = std::get_if<std::string>(&read)) return usage_error("--label " + *wrong);
  options.labels = std::get<Labels>(std::move(read));
  options.idle_timeout_ms = static_cast<std::int64_t>(*parse_duration_us(idle) / 1000);
  options.give_up_after_ms = static_cast<std::int64_t>(*parse_duration_us(give_up) / 1000);
  return check(options, key_file, server_key);
}

}  // namespace puzzled::host
