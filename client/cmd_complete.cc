// __complete: words for the shells' completion scripts, one a line. Never an error: a shell that
// asks wants words or nothing.
#include "client/calls.h"
#include "client/commands.h"
#include "client/failure.h"
#include "workers/puzzles/registry.h"

namespace puzzled::client {

int run_complete(const CompleteOptions& options, Context& context) {
  std::ostream& out = context.console.out();
  if (options.what == "puzzles") {
    for (const Puzzle* puzzle : all_puzzles()) out << puzzle->name << '\n';
  } else if (options.what == "solvers") {
    if (const Puzzle* puzzle = find_puzzle(options.puzzle)) {
      for (const Solver& solver : puzzle->solvers) out << solver.name << '\n';
    }
  } else if (options.what == "verdicts") {
    for (std::size_t i = 1; i < kVerdictCount; ++i) out << kVerdictShortNames[i] << '\n';
  } else if (options.what == "jobs") {
    constexpr std::uint32_t kQuickMs = 300;  // nobody waits for a shell's Tab key
    constexpr std::uint32_t kJobs = 50;
    try {
      ConnectionOptions quick = connection_options(context, kQuickMs);
      quick.connect_timeout_ms = kQuickMs;
      Connection connection(std::move(quick));
      const proto::JobsPage page = list_jobs(connection, 0, kJobs);
      for (const proto::JobStatus& job : page.jobs()) {
        out << job.job() << '\n';
      }
    } catch (const Failure&) {
      return kExitOk;
    }
  }
  return kExitOk;
}

}  // namespace puzzled::client
