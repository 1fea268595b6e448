// __complete: words for the shells' completion scripts, one a line. Never an error: a shell that
// asks wants words or nothing.
#include <algorithm>
#include <cctype>

#include "client/calls.h"
#include "client/commands.h"
#include "client/failure.h"
#include "workers/puzzles/registry.h"

namespace puzzled::client {
namespace {

// What `ask` gets from the daemon; no daemon, no words.
template <class Ask>
std::vector<std::string> asked(Context& context, Ask ask) {
  constexpr std::uint32_t kQuickMs = 300;  // nobody waits for a shell's Tab key
  try {
    ConnectionOptions quick = connection_options(context, kQuickMs);
    quick.connect_timeout_ms = kQuickMs;
    Connection connection(std::move(quick));
    return ask(connection);
  } catch (const Failure&) {
    return {};
  }
}

std::vector<std::string> recent_jobs(Connection& connection) {
  constexpr std::uint32_t kJobs = 50;
  std::vector<std::string> words;
  const proto::JobsPage page = list_jobs(connection, 0, kJobs);
  for (const proto::JobStatus& job : page.jobs()) words.push_back(std::to_string(job.job()));
  return words;
}

// Of the first pages. A name that is no word for a shell is left out.
std::vector<std::string> worker_names(Connection& connection) {
  constexpr int kPages = 3;
  std::vector<std::string> words;
  proto::WorkersPage page;
  for (int i = 0; i < kPages && (i == 0 || page.more()); ++i) {
    page = list_workers(connection, page.next_after());
    for (const proto::WorkerRow& worker : page.workers()) {
      const bool is_word = std::ranges::all_of(worker.name(), [](unsigned char c) {
        return c < 0x80 &&
               (std::isalnum(c) != 0 ||
                std::string_view("-_.:@").find(static_cast<char>(c)) != std::string_view::npos);
      });
      if (is_word) words.push_back(worker.name());
    }
  }
  return words;
}

std::vector<std::string> solvers(const std::string& puzzle_name) {
  std::vector<std::string> words;
  if (const Puzzle* puzzle = find_puzzle(puzzle_name)) {
    for (const Solver& solver : puzzle->solvers) words.emplace_back(solver.name);
  }
  return words;
}

// In the letters that were begun with, small ones by default, behind those that are typed already.
std::vector<std::string> verdicts(std::string_view prefix) {
  const std::size_t comma = prefix.rfind(',');
  const std::string before(comma == std::string_view::npos ? "" : prefix.substr(0, comma + 1));
  const bool capitals = std::ranges::any_of(prefix, [](char c) { return c >= 'A' && c <= 'Z'; });
  std::vector<std::string> words;
  for (std::size_t i = 1; i < kVerdictCount; ++i) {
    std::string name(kVerdictShortNames[i]);
    if (!capitals) {
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    }
    words.push_back(before + name);
  }
  return words;
}

std::vector<std::string> puzzles() {
  std::vector<std::string> words;
  for (const Puzzle* puzzle : all_puzzles()) words.emplace_back(puzzle->name);
  return words;
}

std::vector<std::string> candidates(const CompleteOptions& options, Context& context) {
  using Kind = CompleteOptions::Kind;
  switch (options.kind) {
    case Kind::kWords:
      return options.words;
    case Kind::kPuzzles:
      return puzzles();
    case Kind::kSolvers:
      return solvers(options.puzzle);
    case Kind::kVerdicts:
      return verdicts(options.prefix);
    case Kind::kJobs:
      return asked(context, recent_jobs);
    case Kind::kWorkers:
      return asked(context, worker_names);
    case Kind::kPaths:
      break;  // the shell knows its files best
  }
  return {};
}

}  // namespace

int run_complete(const CompleteOptions& options, Context& context) {
  for (const std::string& word : candidates(options, context)) {
    if (word.starts_with(options.prefix)) context.console.out() << word << '\n';
  }
  return kExitOk;
}

}  // namespace puzzled::client
