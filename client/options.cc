#include "client/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>
#include <span>
#include <utility>

#include "client/complete_words.h"
#include "client/failure.h"
#include "client/suggest.h"
#include "proto/base/units.h"

namespace puzzled::client {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 all well, 1 a job was cancelled or some verdict is not OK or AC (or as\n"
    "--fail-on says), or doctor found something, 2 usage or invalid input, 3 daemon not\n"
    "reachable or timed out, 4 refused by the daemon, 70 a bug of ours, 74 output that\n"
    "cannot be written, or a database not read, 130 interrupted (a job goes on).\n"
    "\n"
    "Examples:\n"
    "  puzzlectl solve bishops test.in                 here, without a daemon\n"
    "  puzzlectl submit bishops tests/ --wait          tests/*.in, graded by tests/*.ans\n"
    "  puzzlectl results 17 --verdict wa,tle           what went wrong in job 17\n"
    "  puzzlectl results 17 --output csv > all.csv     for other programs\n";

// Not for people: what deploy/completion calls.
constexpr std::string_view kCompleteCommand = "__complete";

constexpr std::uint64_t kMillisecondsMax = 0xffff'ffffU;

std::uint64_t duration_us(const std::string& text) {
  const std::optional<std::uint64_t> us = parse_duration_us(text);
  if (!us) throw CLI::ValidationError("\"" + text + "\" is no duration like 10s, 500ms or 2m");
  return *us;
}

std::uint64_t positive_duration_us(const std::string& text) {
  const std::uint64_t us = duration_us(text);
  if (us == 0) throw CLI::ValidationError("the duration must not be zero");
  return us;
}

std::uint64_t positive_size(const std::string& text) {
  const std::optional<std::uint64_t> bytes = parse_size(text);
  if (!bytes) throw CLI::ValidationError("\"" + text + "\" is no size like 256MiB or 1GiB");
  if (*bytes == 0) throw CLI::ValidationError("the size must not be zero");
  return *bytes;
}

// A job or case number: digits only. CLI11 itself would take "-1" or "0x10".
std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw CLI::ValidationError("\"" + text +
                               "\" is no whole number from 0 to 18446744073709551615");
  }
  return value;
}

std::uint64_t id_number(const std::string& text) {
  const std::uint64_t value = number(text);
  if (value == 0) throw CLI::ValidationError("numbers of jobs and cases start at 1");
  return value;
}

// Options whose text is read by one of the functions above.
CLI::Option* add_read(CLI::App* app, const std::string& name, const std::string& type,
                      const std::string& about,
                      const std::function<void(const std::string&)>& read) {
  return app->add_option_function<std::string>(name, read, about)->type_name(type);
}

class Parser {
 public:
  std::variant<Options, ParsedExit> run(std::vector<std::string> arguments) {
    add_globals();
    add_offline();
    add_submit();
    add_wait();
    add_queries();
    add_canaries();
    add_export_and_cancel();
    add_upkeep();
    add_keygen();
    if (!arguments.empty() && arguments.front() == kCompleteCommand) {
      const auto words = std::span<const std::string>(arguments).subspan(1);
      // Jobs are asked for, and need what a connection needs.
      options_.global.endpoint = given_value(app_, words, "--endpoint");
      options_.global.key_file = given_value(app_, words, "--key");
      options_.global.server_key = given_value(app_, words, "--server-key");
      options_.command = complete_words(app_, words);
      return std::move(options_);
    }
    try {
      std::ranges::reverse(arguments);  // as CLI11 wants them
      app_.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
      return ParsedExit{kExitOk, help(), "", ""};
    } catch (const CLI::CallForVersion& version) {
      return ParsedExit{kExitOk, std::string(version.what()) + "\n", "", ""};
    } catch (const CLI::ParseError& error) {
      return ParsedExit{kExitInvalid, "", describe(error), advice()};
    }
    return std::move(options_);
  }

 private:
  // A command whose options live in `command` of the result.
  template <class T>
  CLI::App* add_command(const char* name, const char* about, T*& values) {
    // Options of all commands are made at once; only those of the one that is called are kept.
    auto stored = std::make_shared<T>();
    values = stored.get();
    CLI::App* command = app_.add_subcommand(name, about);
    command->fallthrough();
    command->final_callback([this, stored] { options_.command = *stored; });
    return command;
  }

  void add_globals() {
    app_.require_subcommand(1);
    app_.footer(kFooter);
    app_.fallthrough();
    app_.set_version_flag("--version", "puzzlectl " PUZZLED_VERSION);
    app_.set_help_flag("--help,-h", "Say what the command does and which options it has");
    GlobalOptions& global = options_.global;
    app_.add_option("--endpoint", global.endpoint,
                    "The daemon's ipc:// or tcp:// endpoint (default: PUZZLED_ENDPOINT, else "
                    "where a daemon listens by default)")
        ->type_name("ENDPOINT")
        ->envname("PUZZLED_ENDPOINT");
    const std::map<std::string, OutputFormat> formats = {{"table", OutputFormat::kTable},
                                                         {"csv", OutputFormat::kCsv},
                                                         {"json", OutputFormat::kJson},
                                                         {"jsonl", OutputFormat::kJsonl}};
    app_.add_option_function<std::string>(
            "--output",
            [&global, formats](const std::string& text) { global.output = formats.at(text); },
            "table, csv, json or jsonl")
        ->check(CLI::IsMember({"table", "csv", "json", "jsonl"}));
    const std::map<std::string, ColourMode> colours = {{"auto", ColourMode::kAuto},
                                                       {"always", ColourMode::kAlways},
                                                       {"never", ColourMode::kNever}};
    app_.add_option_function<std::string>(
            "--color,--colour",
            [&global, colours](const std::string& text) { global.colour = colours.at(text); },
            "auto, always or never")
        ->check(CLI::IsMember({"auto", "always", "never"}));
    app_.add_flag("--quiet,-q", global.quiet, "Only errors on standard error");
    app_.add_option("--key", global.key_file,
                    "Your .key file, for a daemon's encrypted tcp:// endpoint")
        ->type_name("FILE")
        ->envname("PUZZLED_KEY");
    app_.add_option("--server-key", global.server_key, "That daemon's public key, or its .pub file")
        ->type_name("KEY")
        ->envname("PUZZLED_SERVER_KEY");
    add_read(&app_, "--connect-timeout", "DURATION",
             "How long to try to reach a daemon (default 5s)", [&global](const std::string& text) {
               const std::uint64_t ms = duration_us(text) / 1000;
               global.connect_timeout_ms =
                   static_cast<std::uint32_t>(std::min(ms, kMillisecondsMax));
             });
  }

  void add_offline() {
    PuzzlesOptions* puzzles = nullptr;
    add_command("puzzles", "List puzzles, their solvers and limits", puzzles);
    SolveOptions* solve = nullptr;
    CLI::App* command = add_command("solve", "Solve a test file here, without a daemon", solve);
    command->add_option("PUZZLE", solve->puzzle, "See \"puzzlectl puzzles\"")
        ->type_name("")
        ->required();
    command->add_option("FILE", solve->file, "Test file; - or none: standard input")->type_name("");
    command->add_option("--solver", solve->solver, "Default: the puzzle's first")
        ->type_name("SOLVER");
    ValidateOptions* validate = nullptr;
    command = add_command("validate", "Check test files here, without a daemon", validate);
    command->add_option("PUZZLE", validate->puzzle, "See \"puzzlectl puzzles\"")
        ->type_name("")
        ->required();
    command->add_option("FILE", validate->paths, "Files, folders, - for standard input")
        ->type_name("")
        ->required();
  }

  void add_submit() {
    SubmitOptions* submit = nullptr;
    CLI::App* command = add_command("submit", "Submit test files to be graded as a job", submit);
    command->add_option("PUZZLE", submit->puzzle, "See \"puzzlectl puzzles\"")
        ->type_name("")
        ->required();
    command->add_option("PATH", submit->paths, "Files, folders (their *.in), - for standard input")
        ->type_name("");
    command
        ->add_option("--files-from", submit->files_from,
                     "A file with one more PATH a line; - for standard input")
        ->type_name("FILE");
    command->add_flag("--recursive,-r", submit->recursive, "Look into subfolders too");
    command->add_option("--name", submit->name, "A name for people")->type_name("NAME");
    command
        ->add_option("--solver", submit->solver,
                     "Default: the puzzle's first; NAME@VERSION takes only that version")
        ->type_name("SOLVER");
    command
        ->add_option("--require", submit->require,
                     "Solve only on workers with this label (puzzle-worker --label); "
                     "repeatable, all must match; known answers are taken all the same")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command->add_option("--priority", submit->priority, "-100..100, higher first (default 0)")
        ->type_name("N")
        ->check(CLI::Range(-100, 100).description(""));
    add_read(
        command, "--time-limit", "DURATION", "CPU time of one case (default 10s)",
        [submit](const std::string& text) { submit->time_limit_us = positive_duration_us(text); });
    add_read(
        command, "--memory-limit", "SIZE", "Memory of one case (default 256MiB)",
        [submit](const std::string& text) { submit->memory_limit_bytes = positive_size(text); });
    CLI::Option* answers =
        command
            ->add_option("--answers", submit->answers_folder,
                         "Folder with NAME.ans or NAME.out to grade (default: beside NAME.in)")
            ->type_name("DIR");
    command->add_flag("--no-answers", submit->no_answers, "Only solve, grade no answers")
        ->excludes(answers);
    command->add_flag("--no-cache", submit->no_cache,
                      "Solve every case anew, also those whose answers are known");
    command->add_flag("--wait", submit->wait, "Wait until the job is done, as \"wait\" does");
    command->add_flag("--keep-going", submit->keep_going,
                      "Submit the good cases of invalid files too; ends with exit code 2");
    add_read(command, "--resume", "JOB", "Go on with the upload of this job",
             [submit](const std::string& text) { submit->resume = id_number(text); });
  }

  void add_wait() {
    WaitOptions* wait = nullptr;
    CLI::App* command = add_command("wait", "Wait until jobs are done", wait);
    command
        ->add_option_function<std::vector<std::string>>(
            "JOB",
            [wait](const std::vector<std::string>& texts) {
              for (const std::string& text : texts) wait->jobs.push_back(id_number(text));
            },
            "Job numbers")
        ->required();
    command
        ->add_option("--fail-on", wait->fail_on,
                     "Verdicts that make the exit code 1, or none (default: all but OK, AC)")
        ->type_name("VERDICTS");
    add_read(command, "--timeout", "DURATION", "Give up after that long, with exit code 3",
             [wait](const std::string& text) { wait->timeout_ms = duration_us(text) / 1000; });
  }

  void add_queries() {
    JobsOptions* jobs = nullptr;
    CLI::App* command = add_command("jobs", "List jobs, the newest first", jobs);
    add_read(command, "--limit", "N", "At most that many (default 20, 0: all)",
             [jobs](const std::string& text) { jobs->limit = number(text); });
    StatusOptions* status = nullptr;
    command = add_command("status", "Tell all about a job, or about the daemon", status);
    add_read(command, "JOB", "", "Number of a job (default: the daemon)",
             [status](const std::string& text) { status->job = id_number(text); });
    ResultsOptions* results = nullptr;
    command = add_command("results", "List the results of a job", results);
    add_id(command, "JOB", results->job);
    command->add_option("--verdict", results->verdicts, "Only these, e.g. wa,tle")
        ->type_name("VERDICTS")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command->add_option("--label", results->label_glob, "Only labels that match, e.g. \"a*#1\"")
        ->type_name("GLOB");
    add_read(command, "--limit", "N", "At most that many rows (0: all)",
             [results](const std::string& text) { results->limit = number(text); });
    add_read(command, "--after", "CASE", "Only cases with larger numbers",
             [results](const std::string& text) { results->after = number(text); });
    command->add_flag("--all-generations", results->all_generations,
                      "Also results that were taken back, before the newest of their case");
    ShowOptions* show = nullptr;
    command = add_command("show", "Show one case: instance, answers, verdict, history", show);
    add_id(command, "JOB", show->job);
    add_id(command, "CASE", show->case_no);
    WorkersOptions* workers = nullptr;
    command = add_command(
        "workers", "List workers, connected or barred by a canary; drain, resume, remove some",
        workers);
    command
        ->add_option("ACTION", workers->action,
                     "drain: no more cases, stays connected; resume: undoes it; remove: finishes "
                     "its cases and ends")
        ->check(CLI::IsMember({"drain", "resume", "remove"}));
    command->add_option("NAME", workers->names, "Names of workers, or patterns with * ? [..]")
        ->type_name("WORKER");
    command->add_flag("--all", workers->all, "All workers instead of names");
    VersionOptions* version = nullptr;
    add_command("version", "Versions of puzzlectl and of the daemon", version);
  }

  void add_upkeep() {
    DoctorOptions* doctor = nullptr;
    CLI::App* command = add_command(
        "doctor", "Check the daemon and all that it stores; exit code 1: findings", doctor);
    command
        ->add_option("--database", doctor->database,
                     "Check this file instead: of a stopped daemon, or a backup")
        ->type_name("FILE");
    BackupOptions* backup = nullptr;
    command = add_command("backup", "Copy the daemon's database to a file of the daemon's machine",
                          backup);
    command->add_option("FILE", backup->file, "The daemon writes it, as its own user")
        ->type_name("")
        ->required();
    command->add_flag("--force", backup->force, "Replace an older backup there");
  }

  void add_canaries() {
    CanaryOptions* canary = nullptr;
    CLI::App* command = add_command(
        "canary", "Test workers with the cases of a job that is done: its results are known",
        canary);
    add_id(command, "JOB", canary->job);
    command->add_flag("--off", canary->off, "Its cases are canaries no more");
    AdmitOptions* admit = nullptr;
    command = add_command("admit", "Let workers in again that failed a canary", admit);
    command->add_option("WORKER", admit->name, "Name of the worker, or of its host")
        ->type_name("")
        ->required();
  }

  void add_export_and_cancel() {
    ExportOptions* exported = nullptr;
    CLI::App* command =
        add_command("export", "Write one .ans per submitted file into a folder", exported);
    add_id(command, "JOB", exported->job);
    command->add_option("DIR", exported->folder, "Created if need be")->type_name("")->required();
    command->add_flag("--force", exported->force, "Overwrite files that exist");
    CancelOptions* cancel = nullptr;
    command = add_command("cancel", "Cancel what is not graded yet of a job", cancel);
    add_id(command, "JOB", cancel->job);
    command->add_option("--reason", cancel->reason, "Shown by \"status\"");
  }

  void add_keygen() {
    KeygenOptions* keygen = nullptr;
    CLI::App* command = add_command("keygen", "Make a key pair for encrypted connections", keygen);
    command->add_option("NAME", keygen->name, "Names the files NAME.key and NAME.pub")
        ->type_name("")
        ->required();
    command
        ->add_option("--role", keygen->role,
                     "submit (the default), read, operate, work, or server for a daemon's key")
        ->type_name("ROLE")
        ->check(CLI::IsMember({"submit", "read", "operate", "work", "server"}));
    command->add_option("--dir", keygen->folder, "Folder of the files (default: here)")
        ->type_name("DIR");
    command->add_flag("--force", keygen->force, "Overwrite files that exist");
  }

  static void add_id(CLI::App* command, const char* name, std::uint64_t& target) {
    const char* about = name == std::string_view("JOB") ? "Number of a job" : "Number of a case";
    add_read(command, name, "", about, [&target](const std::string& text) {
      target = id_number(text);
    })->required();
  }

  // Help of the command that was named, else of all.
  std::string help() const {
    for (const CLI::App* command : app_.get_subcommands()) {
      return command->help("puzzlectl");
    }
    return app_.help();
  }

  std::string describe(const CLI::ParseError& error) const {
    // An unknown first word is what CLI11 calls a missing command.
    if (app_.get_subcommands().empty() && app_.remaining_size() > 0) {
      const std::string first = app_.remaining().front();
      return first.starts_with('-') ? "there is no option " + first
                                    : "there is no command \"" + first + "\"";
    }
    std::string text = error.what();
    std::ranges::replace(text, '\n', ' ');
    return text;
  }

  std::string advice() const {
    for (const CLI::App* command : app_.get_subcommands()) {
      return "\"puzzlectl " + command->get_name() + " --help\" lists the options";
    }
    const std::vector<std::string> held = command_names(app_);
    const std::vector<std::string_view> names(held.begin(), held.end());
    const std::vector<std::string> extra = app_.remaining();
    const std::string similar = extra.empty() ? "" : did_you_mean(extra.front(), names);
    return similar.empty() ? "\"puzzlectl --help\" lists the commands" : similar;
  }

  CLI::App app_{"Submits test sets of board puzzles to a puzzled daemon and shows the results.",
                "puzzlectl"};
  Options options_;
};

}  // namespace

std::variant<Options, ParsedExit> parse_options(const std::vector<std::string>& arguments) {
  return Parser().run(arguments);
}

}  // namespace puzzled::client
