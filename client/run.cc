#include "client/run.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "client/commands.h"
#include "client/failure.h"
#include "client/options.h"

namespace puzzled::client {
namespace {

bool use_colour(ColourMode mode, bool terminal) {
  if (mode != ColourMode::kAuto) return mode == ColourMode::kAlways;
  const char* no_colour = std::getenv("NO_COLOR");  // no-color.org
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  return terminal && !dumb && (no_colour == nullptr || *no_colour == '\0');
}

int terminal_columns() {
  struct winsize size {};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

int run_command(const Options& options, Context& context) {
  struct Runner {
    Context& context;
    int operator()(const PuzzlesOptions& o) { return run_puzzles(o, context); }
    int operator()(const SolveOptions& o) { return run_solve(o, context); }
    int operator()(const ValidateOptions& o) { return run_validate(o, context); }
    int operator()(const SubmitOptions& o) { return run_submit(o, context); }
    int operator()(const WaitOptions& o) { return run_wait(o, context); }
    int operator()(const JobsOptions& o) { return run_jobs(o, context); }
    int operator()(const StatusOptions& o) { return run_status(o, context); }
    int operator()(const ResultsOptions& o) { return run_results(o, context); }
    int operator()(const ShowOptions& o) { return run_show(o, context); }
    int operator()(const ExportOptions& o) { return run_export(o, context); }
    int operator()(const CancelOptions& o) { return run_cancel(o, context); }
    int operator()(const CanaryOptions& o) { return run_canary(o, context); }
    int operator()(const AdmitOptions& o) { return run_admit(o, context); }
    int operator()(const WorkersOptions& o) { return run_workers(o, context); }
    int operator()(const DoctorOptions& o) { return run_doctor(o, context); }
    int operator()(const BackupOptions& o) { return run_backup(o, context); }
    int operator()(const VersionOptions& o) { return run_version(o, context); }
    int operator()(const KeygenOptions& o) { return run_keygen(o, context); }
    int operator()(const CompleteOptions& o) { return run_complete(o, context); }
  };
  const int exit_code = std::visit(Runner{context}, options.command);
  context.console.flush();
  return exit_code;
}

}  // namespace

int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
        bool out_terminal, bool err_terminal) {
  Console::Setup setup;
  setup.out_terminal = out_terminal;
  setup.err_terminal = err_terminal;
  try {
    const auto parsed = parse_options(arguments);
    if (const auto* exit = std::get_if<ParsedExit>(&parsed)) {
      out << exit->output;
      if (!exit->error.empty()) Console(out, err, setup).error(exit->error, exit->advice);
      return exit->exit_code;
    }
    const Options& options = std::get<Options>(parsed);
    setup.colour = use_colour(options.global.colour, out_terminal);
    setup.quiet = options.global.quiet;
    setup.err_columns = err_terminal ? terminal_columns() : 80;
    Console console(out, err, setup);
    Context context{console, options.global};
    try {
      return run_command(options, context);
    } catch (const Failure& failure) {
      out.flush();
      console.error(failure.what(), failure.advice());
      return failure.exit_code();
    }
  } catch (const std::exception& bug) {
    Console(out, err, setup)
        .error(std::string("internal: ") + bug.what(),
               "this is a bug in puzzlectl; please report it");
    return kExitInternal;
  }
}

}  // namespace puzzled::client
