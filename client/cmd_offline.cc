// puzzles, solve, validate: nothing here needs a daemon.
#include <fmt/format.h>

#include "client/case_stream.h"
#include "client/commands.h"
#include "client/failure.h"
#include "client/suggest.h"
#include "client/test_set.h"
#include "workers/puzzles/registry.h"

namespace puzzled::client {
namespace {

// Reads all of a file; prints its defects. True: valid.
bool check_file(const Puzzle& puzzle, const TestFile& file, Context& context,
                std::uint64_t& case_count) {
  FileDefects defects;
  std::size_t no_room = 0;
  case_count = examine(puzzle, file, defects, no_room).case_count;
  print_defects(context.console, file.path, defects.test);
  return defects.test.empty();
}

}  // namespace

int run_puzzles(const PuzzlesOptions&, Context& context) {
  const std::unique_ptr<RecordWriter> writer = record_writer(context.global.output,
                                                             {{"puzzle", "PUZZLE"},
                                                              {"title", "TITLE", false, 80},
                                                              {"solvers", "SOLVERS"},
                                                              {"limits", "LIMITS", false, 120},
                                                              {"source", ""}},
                                                             context.console);
  for (const Puzzle* puzzle : all_puzzles()) {
    std::vector<Record> solvers;
    std::string names;
    for (const Solver& solver : puzzle->solvers) {
      names += (names.empty() ? "" : ", ") + std::string(solver.name);
      solvers.push_back({{"solver", text_value(solver.name)},
                         {"version", text_value(solver.version)},
                         {"summary", text_value(solver.summary)},
                         {"default", {&solver == puzzle->solvers.data()}}});
    }
    writer->write({{"puzzle", text_value(puzzle->name)},
                   {"title", text_value(puzzle->title)},
                   {"solvers", {std::move(solvers), names}},
                   {"limits", text_value(puzzle->limits)},
                   {"source", text_value(puzzle->source)}});
  }
  writer->finish();
  return kExitOk;
}

int run_solve(const SolveOptions& options, Context& context) {
  const Puzzle& puzzle = require_puzzle(options.puzzle);
  const Solver& solver = require_solver(puzzle, options.solver);
  TestSetOptions set;
  set.paths = {options.file};
  set.no_answers = true;
  const std::vector<TestFile> files = collect_test_files(set);
  if (files.size() != 1) {
    throw Failure(kExitInvalid, fmt::format("{} is a folder", options.file), "name one test file");
  }
  std::uint64_t case_count = 0;
  if (!check_file(puzzle, files.front(), context, case_count)) return kExitInvalid;

  // The file is valid: answers can leave as they are found.
  const std::unique_ptr<FileText> text = open_text(files.front());
  const std::unique_ptr<InstanceReader> reader = puzzle.read_instances(text->text());
  ParsedCase parsed;
  std::string answer;
  std::string out;
  constexpr std::size_t kFlushBytes = 1U << 16U;
  while (reader->next(parsed) && parsed.invalid.empty()) {
    solver.solve(parsed.instance, answer);
    puzzle.format_answer(answer, out);
    if (out.size() >= kFlushBytes) {
      context.console.out() << out;
      out.clear();
      context.console.flush();
    }
    --case_count;
  }
  context.console.out() << out;
  context.console.flush();
  if (case_count != 0) {
    throw Failure(kExitInvalid,
                  fmt::format("{} changed while it was being solved", files.front().path),
                  "try again when nothing writes to it");
  }
  return kExitOk;
}

int run_validate(const ValidateOptions& options, Context& context) {
  const Puzzle& puzzle = require_puzzle(options.puzzle);
  TestSetOptions set;
  set.paths = options.paths;
  set.no_answers = true;
  set.for_job = false;
  bool all_valid = true;
  for (const TestFile& file : collect_test_files(set)) {
    std::uint64_t case_count = 0;
    const bool valid = check_file(puzzle, file, context, case_count);
    all_valid = all_valid && valid;
    if (valid && !context.global.quiet) {
      context.console.out() << printable_line(file.path) << ": valid, "
                            << counted(case_count, "case") << '\n';
    }
  }
  return all_valid ? kExitOk : kExitInvalid;
}

}  // namespace puzzled::client
