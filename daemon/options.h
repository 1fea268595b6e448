// All that can be set about the daemon. Precedence: flag > environment > configuration file >
// default. One table (options.cc) drives flags, environment, file, help and --print-config.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/broker/options.h"
#include "daemon/net/options.h"
#include "daemon/store/options.h"

namespace puzzled {

inline constexpr int kExitConfiguration = 2;

struct SupervisorOptions {
  std::uint32_t workers = 0;       // started and restarted by the daemon
  std::string worker_program;      // empty: puzzle-worker beside the daemon's own program
  std::uint32_t restart_ms = 100;  // before the first restart; doubled each time
  std::uint32_t restart_ms_max = 5'000;
  std::uint32_t settled_ms = 10'000;  // a worker that lived this long starts over at restart_ms
};

struct DaemonOptions {
  DaemonOptions();  // defaults of this machine and user

  std::string endpoint;
  std::string worker_endpoint;  // empty: derived from `endpoint`
  bool insecure_tcp = false;
  std::string key_file;         // the daemon's own key pair; empty: tcp is not encrypted
  std::string authorized_keys;  // who may connect over encrypted tcp
  std::string metrics;          // where metrics are served; empty: nowhere
  std::uint32_t metrics_timeout_ms = 2'000;
  std::string database;
  std::string log_level = "info";
  std::string log_format = "text";
  std::string log_file;  // empty: standard error
  BrokerOptions broker;
  StoreOptions store;
  NetOptions net;
  SupervisorOptions supervisor;
};

// One option. Its flag is --NAME, its variable PUZZLED_NAME and its key in the file NAME below
// [section], with '-' and capitals as usual there.
struct OptionRow {
  enum class Kind : std::uint8_t {
    kText,
    kChoice,  // one of `choices`
    kSwitch,
    kCount,
    kBytes,         // "256MiB"
    kMilliseconds,  // "10s"
    kMicroseconds,  // "10s"
  };
  using Field = std::variant<std::string*, bool*, std::uint32_t*, std::uint64_t*>;

  std::string_view name;  // "drain-timeout"
  std::string_view section;
  Kind kind = Kind::kText;
  Field (*field)(DaemonOptions&) = nullptr;
  std::uint64_t min = 0;  // of numbers, in the unit of the field
  std::uint64_t max = 0;
  std::string_view help;     // one sentence
  std::string_view choices;  // "text|json"
};
const std::vector<OptionRow>& option_rows();

// Sets one option from text. Returns what is wrong ("found X, expected …"), or nothing.
std::optional<std::string> set_option(const OptionRow& row, std::string_view text,
                                      DaemonOptions& options);
// The text that sets it to what it is.
std::string option_text(const OptionRow& row, const DaemonOptions& options);

// The whole configuration as a file that sets every option to what it is, each with its help.
std::string to_toml(const DaemonOptions& options);

// Reads a configuration file into `options`. Throws Fatal (configuration) with FILE:LINE.
void read_options_file(const std::string& path, DaemonOptions& options);

struct Command {
  DaemonOptions options;
  std::string config_file;  // that was read; empty: none
  std::string print;        // not empty: write it to standard output and end well
  std::string check;        // not empty: check this database and end (check_command.h)
};
using Environment = std::function<std::optional<std::string>(const std::string&)>;

// `arguments` without the program's name. Throws Fatal (configuration).
Command parse_command_line(std::vector<std::string> arguments, const Environment& environment);

}  // namespace puzzled
