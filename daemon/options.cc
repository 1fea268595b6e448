#include "daemon/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "daemon/net/metrics_address.h"
#include "proto/base/assert.h"
#include "proto/base/fatal.h"
#include "proto/base/paths.h"
#include "proto/base/units.h"

namespace puzzled {
namespace {

using Kind = OptionRow::Kind;

std::string with(std::string_view name, char from, char to) {
  std::string out(name);
  std::ranges::replace(out, from, to);
  return out;
}

std::string variable_of(const OptionRow& row) {
  std::string out = "PUZZLED_" + with(row.name, '-', '_');
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::toupper(c); });
  return out;
}

// A number in the unit of the option's field as people write it.
std::string number_text(Kind kind, std::uint64_t number) {
  switch (kind) {
    case Kind::kBytes:
      return format_size(number);
    case Kind::kMilliseconds:
      return format_duration_us(number * 1'000);
    case Kind::kMicroseconds:
      return format_duration_us(number);
    default:
      return std::to_string(number);
  }
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_number(Kind kind, std::string_view text) {
  if (kind == Kind::kCount) return parse_count(text);
  if (kind == Kind::kBytes) return parse_size(text);
  const auto us = parse_duration_us(text);
  if (!us || kind == Kind::kMicroseconds) return us;
  if (*us % 1'000 != 0) return std::nullopt;  // finer than the option
  return *us / 1'000;
}

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kText:
      return "TEXT";
    case Kind::kChoice:
      return "WORD";
    case Kind::kSwitch:
      return "";
    case Kind::kCount:
      return "NUMBER";
    case Kind::kBytes:
      return "SIZE";
    case Kind::kMilliseconds:
    case Kind::kMicroseconds:
      return "DURATION";
  }
  return "";
}

std::string expected(const OptionRow& row) {
  switch (row.kind) {
    case Kind::kText:
      return "text without control characters";
    case Kind::kChoice:
      return fmt::format("one of {}", row.choices);
    case Kind::kSwitch:
      return "true or false";
    case Kind::kCount:
      return fmt::format("a whole number from {} to {}", row.min, row.max);
    case Kind::kBytes:
      return fmt::format("a size from {} to {}, with its unit (e.g. 64MiB)",
                         number_text(row.kind, row.min), number_text(row.kind, row.max));
    case Kind::kMilliseconds:
    case Kind::kMicroseconds:
      return fmt::format("a duration from {} to {}, with its unit (e.g. 1500ms, 10s)",
                         number_text(row.kind, row.min), number_text(row.kind, row.max));
  }
  return "";
}

bool is_choice(std::string_view choices, std::string_view text) {
  return !text.empty() && text.find('|') == std::string_view::npos &&
         fmt::format("|{}|", choices).find(fmt::format("|{}|", text)) != std::string::npos;
}

bool assign(const OptionRow& row, std::string_view text, DaemonOptions& options) {
  const OptionRow::Field field = row.field(options);
  if (row.kind == Kind::kText || row.kind == Kind::kChoice) {
    const bool plain =
        std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    if (!plain || (row.kind == Kind::kChoice && !is_choice(row.choices, text))) return false;
    *std::get<std::string*>(field) = text;
    return true;
  }
  if (row.kind == Kind::kSwitch) {
    if (text != "true" && text != "false" && text != "1" && text != "0") return false;
    *std::get<bool*>(field) = text == "true" || text == "1";
    return true;
  }
  const auto number = parse_number(row.kind, text);
  if (!number || *number < row.min || *number > row.max) return false;
  if (auto* const* narrow = std::get_if<std::uint32_t*>(&field)) {
    ASSERT(row.max <= UINT32_MAX);
    **narrow = static_cast<std::uint32_t>(*number);
  } else {
    *std::get<std::uint64_t*>(field) = *number;
  }
  return true;
}

// What no single option can show to be wrong.
void check_together(const DaemonOptions& options) {
  const auto fail = [](const std::string& text) { throw Fatal(kExitConfiguration, text); };
  if (const auto error = endpoint_error(options.endpoint, true)) fail("endpoint: " + *error);
  if (!options.worker_endpoint.empty()) {
    if (const auto error = endpoint_error(options.worker_endpoint, true)) {
      fail("worker-endpoint: " + *error);
    }
  }
  if (!options.metrics.empty()) {
    const auto address = parse_metrics_address(options.metrics);
    if (const auto* error = std::get_if<std::string>(&address)) fail("metrics: " + *error);
  }
  if (options.net.authorized_keys_poll_ms > 0 && options.authorized_keys.empty()) {
    fail("authorized-keys-poll: there is no list to look at; name it with authorized-keys");
  }
  if (options.broker.liveness_ms < 2 * options.broker.heartbeat_interval_ms) {
    fail(
        "liveness: expected at least twice the heartbeat-interval, or one lost heartbeat is a "
        "lost worker");
  }
  if (options.net.codec.page_rows > options.net.codec.page_rows_max) {
    fail("page-rows: expected at most page-rows-max");
  }
  if (options.net.codec.case_bytes_max > options.net.codec.message_bytes_max / 2) {
    fail(
        "case-bytes-max: expected at most half of message-bytes-max, so that a chunk with such a "
        "case fits into a message");
  }
  if (options.supervisor.restart_ms > options.supervisor.restart_ms_max) {
    fail("restart-delay: expected at most restart-delay-max");
  }
}

std::string default_config_file(const Environment& environment) {
  const auto config_home = environment("XDG_CONFIG_HOME");
  const auto home = environment("HOME");
  std::vector<std::string> candidates;
  if (config_home && !config_home->empty()) {
    candidates.push_back(*config_home + "/puzzled/puzzled.toml");
  } else if (home && !home->empty()) {
    candidates.push_back(*home + "/.config/puzzled/puzzled.toml");
  }
  candidates.emplace_back("/etc/puzzled/puzzled.toml");
  for (const std::string& path : candidates) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path;
  }
  return "";
}

}  // namespace

std::optional<std::string> set_option(const OptionRow& row, std::string_view text,
                                      DaemonOptions& options) {
  if (assign(row, text, options)) return std::nullopt;
  return fmt::format("found \"{}\", expected {}", text, expected(row));
}

std::string option_text(const OptionRow& row, const DaemonOptions& options) {
  DaemonOptions copy = options;  // the table's accessors give writable fields
  const OptionRow::Field field = row.field(copy);
  if (auto* const* text = std::get_if<std::string*>(&field)) return **text;
  if (auto* const* flag = std::get_if<bool*>(&field)) return **flag ? "true" : "false";
  if (auto* const* narrow = std::get_if<std::uint32_t*>(&field)) {
    return number_text(row.kind, **narrow);
  }
  return number_text(row.kind, *std::get<std::uint64_t*>(field));
}

Command parse_command_line(std::vector<std::string> arguments, const Environment& environment) {
  Command command;
  CLI::App app(
      "The grading daemon: queues cases, hands them to workers, keeps the results.\n"
      "Every option can also be set in the environment (--log-level: PUZZLED_LOG_LEVEL)\n"
      "and in the configuration file; --print-config writes one with all of them.\n",
      "puzzled");
  std::string config;
  bool print_config = false;
  app.set_version_flag("--version", "puzzled " PUZZLED_VERSION);
  app.add_option("--config", config,
                 "Configuration file (else the user's puzzled/puzzled.toml, else /etc's)")
      ->type_name("FILE");
  app.add_flag("--print-config", print_config, "Print the effective configuration and exit");
  app.add_option("--check", command.check,
                 "Check a database that no daemon uses, and exit: see \"puzzlectl doctor\"")
      ->type_name("FILE");
  std::map<const OptionRow*, std::pair<std::string, CLI::Option*>> flags;
  for (const OptionRow& row : option_rows()) {
    auto& [text, flag] = flags[&row];
    const std::string name = fmt::format("--{}", row.name);
    const std::string help =
        row.choices.empty() ? std::string(row.help) : fmt::format("{} ({})", row.help, row.choices);
    if (row.kind == Kind::kSwitch) {
      flag = app.add_flag(name, text, help);
    } else {
      flag = app.add_option(name, text, help)
                 ->type_name(std::string(kind_name(row.kind)))
                 ->default_str(option_text(row, command.options));
    }
    flag->group(std::string(row.section));
  }
  try {
    std::ranges::reverse(arguments);  // CLI11 takes them from the back
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    command.print = app.help();
    return command;
  } catch (const CLI::CallForVersion&) {
    command.print = "puzzled " PUZZLED_VERSION "\n";
    return command;
  } catch (const CLI::ParseError& error) {
    throw Fatal(kExitConfiguration, fmt::format("{}; see puzzled --help", error.what()));
  }
  if (!command.check.empty()) return command;

  command.config_file = config.empty() ? default_config_file(environment) : config;
  if (!command.config_file.empty()) read_options_file(command.config_file, command.options);
  const auto apply = [&](const OptionRow& row, const std::string& source, const std::string& text) {
    const auto error = set_option(row, text, command.options);
    if (error) throw Fatal(kExitConfiguration, fmt::format("{}: {}", source, *error));
  };
  for (const OptionRow& row : option_rows()) {
    const auto value = environment(variable_of(row));
    if (value) apply(row, variable_of(row), *value);
    const auto& [text, flag] = flags[&row];
    if (flag->count() > 0) apply(row, fmt::format("--{}", row.name), text);
  }
  check_together(command.options);
  if (print_config) command.print = to_toml(command.options);
  return command;
}

}  // namespace puzzled
