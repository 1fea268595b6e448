// One function a command. Each returns the exit code or throws Failure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/connection.h"
#include "client/console.h"
#include "client/options.h"
#include "proto/base/verdict.h"
#include "workers/puzzles/puzzle.h"

namespace puzzled::client {

// What every command gets.
struct Context {
  Console& console;
  const GlobalOptions& global;
};

int run_puzzles(const PuzzlesOptions& options, Context& context);
int run_solve(const SolveOptions& options, Context& context);
int run_validate(const ValidateOptions& options, Context& context);
int run_submit(const SubmitOptions& options, Context& context);
int run_wait(const WaitOptions& options, Context& context);
int run_jobs(const JobsOptions& options, Context& context);
int run_status(const StatusOptions& options, Context& context);
int run_daemon_status(Context& context);
int run_results(const ResultsOptions& options, Context& context);
int run_show(const ShowOptions& options, Context& context);
int run_export(const ExportOptions& options, Context& context);
int run_cancel(const CancelOptions& options, Context& context);
int run_canary(const CanaryOptions& options, Context& context);
int run_admit(const AdmitOptions& options, Context& context);
int run_workers(const WorkersOptions& options, Context& context);
int run_doctor(const DoctorOptions& options, Context& context);
int run_backup(const BackupOptions& options, Context& context);
int run_version(const VersionOptions& options, Context& context);
int run_keygen(const KeygenOptions& options, Context& context);
int run_complete(const CompleteOptions& options, Context& context);

// ---- What several of them need (commands.cc).

// Silence that a command survives whose job goes on without it: a restart of the daemon.
inline constexpr std::uint32_t kRestartPatienceMs = 600'000;

// Connects as the options say; `patience_ms` as in ConnectionOptions.
ConnectionOptions connection_options(Context& context, std::uint32_t patience_ms);
// For commands that only ask something.
inline ConnectionOptions connection_options(Context& context) {
  return connection_options(context, context.global.connect_timeout_ms);
}

// "puzzlectl wait 17", with the endpoint if one was given.
std::string command_line(const Context& context, std::string_view words);

// Waits for jobs as "wait" does; the summaries go to `summary`, which "submit --wait" keeps apart
// from standard output.
int wait_for_jobs(Connection& connection, const WaitOptions& options, std::ostream& summary,
                  Context& context);

Colour verdict_colour(Verdict verdict);
// "12 OK, 3 WA", in the order of the verdicts' numbers; CANCELLED counts the open cases of a
// cancelled job.
std::vector<std::pair<Verdict, std::uint64_t>> verdict_counts(const proto::JobStatus& status);
std::string describe_counts(const std::vector<std::pair<Verdict, std::uint64_t>>& counts);
// "UPLOADING", "QUEUED"…
std::string_view state_name(proto::JobState state);
// "staircase", or "staircase@2" if only that version may solve it.
std::string solver_text(const proto::JobSpec& spec);
// "1 case", "2 cases".
std::string counted(std::uint64_t count, std::string_view noun);

// Prints what is wrong with a text as FILE:LINE:COLUMN: error: …, at most 20 lines and a count.
void print_defects(Console& console, std::string_view file, const std::vector<Defect>& defects);

// The answer in the contest's format without the last line break. Throws InvalidWire.
std::string answer_text(const Puzzle& puzzle, std::string_view answer);

}  // namespace puzzled::client
