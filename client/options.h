// The command line as plain values. CLI11 is known to options.cc alone: it is slow to compile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "client/output.h"

namespace puzzled::client {

enum class ColourMode : std::uint8_t { kAuto, kAlways, kNever };

struct GlobalOptions {
  std::string endpoint;  // empty: PUZZLED_ENDPOINT, else the candidates of proto/base/paths.h
  OutputFormat output = OutputFormat::kTable;
  ColourMode colour = ColourMode::kAuto;
  bool quiet = false;
  std::uint32_t connect_timeout_ms = 5'000;
  std::string key_file;    // empty: connections are not encrypted
  std::string server_key;  // the daemon's public key or the file that holds it
};

struct PuzzlesOptions {};
struct SolveOptions {
  std::string puzzle;
  std::string solver;  // empty: the puzzle's default
  std::string file = "-";
};
struct ValidateOptions {
  std::string puzzle;
  std::vector<std::string> paths;
};
struct SubmitOptions {
  std::string puzzle;
  std::vector<std::string> paths;
  std::string files_from;
  bool recursive = false;
  std::optional<std::string> name;
  std::optional<std::string> solver;  // NAME or NAME@VERSION
  std::vector<std::string> require;   // KEY=VALUE
  std::optional<std::int32_t> priority;
  std::optional<std::uint64_t> time_limit_us;
  std::optional<std::uint64_t> memory_limit_bytes;
  std::string answers_folder;
  bool no_answers = false;
  bool no_cache = false;
  bool wait = false;
  bool keep_going = false;
  std::optional<std::uint64_t> resume;  // job
};
struct WaitOptions {
  std::vector<std::uint64_t> jobs;
  std::optional<std::string> fail_on;  // verdicts, or "none"
  std::optional<std::uint64_t> timeout_ms;
};
struct JobsOptions {
  std::uint64_t limit = 20;  // 0: all
};
struct StatusOptions {
  std::uint64_t job = 0;  // 0: of the daemon itself
};
struct ResultsOptions {
  std::uint64_t job = 0;
  std::vector<std::string> verdicts;
  std::string label_glob;
  std::optional<std::uint64_t> limit;
  std::uint64_t after = 0;
  bool all_generations = false;
};
struct ShowOptions {
  std::uint64_t job = 0;
  std::uint64_t case_no = 0;
};
struct ExportOptions {
  std::uint64_t job = 0;
  std::string folder;
  bool force = false;
};
struct CancelOptions {
  std::uint64_t job = 0;
  std::string reason;
};
struct WorkersOptions {
  std::string action;              // drain, resume or remove; empty: list them
  std::vector<std::string> names;  // or patterns
  bool all = false;
};
struct CanaryOptions {
  std::uint64_t job = 0;
  bool off = false;
};
struct AdmitOptions {
  std::string name;
};
struct KeygenOptions {
  std::string name;
  std::string role = "submit";
  std::string folder = ".";
  bool force = false;
};
struct DoctorOptions {
  std::string database;  // empty: the running daemon
};
struct BackupOptions {
  std::string file;
  bool force = false;
};
struct VersionOptions {};
// What shells ask for: the words that can follow what is typed.
struct CompleteOptions {
  enum class Kind : std::uint8_t { kWords, kPuzzles, kSolvers, kVerdicts, kJobs, kWorkers, kPaths };
  Kind kind = Kind::kPaths;
  std::vector<std::string> words;  // for kWords
  std::string puzzle;              // for kSolvers: that was typed, or empty
  std::string prefix;              // what the word to complete begins with
};

using CommandOptions =
    std::variant<PuzzlesOptions, SolveOptions, ValidateOptions, SubmitOptions, WaitOptions,
                 JobsOptions, StatusOptions, ResultsOptions, ShowOptions, ExportOptions,
                 CancelOptions, WorkersOptions, DoctorOptions, BackupOptions, VersionOptions,
                 KeygenOptions, CompleteOptions, CanaryOptions, AdmitOptions>;

struct Options {
  GlobalOptions global;
  CommandOptions command;
};

// There is nothing to run: help was asked for, or the usage is wrong.
struct ParsedExit {
  int exit_code = 0;
  std::string output;  // for standard output
  std::string error;   // what is wrong; empty: nothing
  std::string advice;
};

// `arguments` without the program's name; PUZZLED_ENDPOINT is read from the environment.
std::variant<Options, ParsedExit> parse_options(const std::vector<std::string>& arguments);

}  // namespace puzzled::client
