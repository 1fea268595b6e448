// submit: validate everything, then stream it.
#include <fmt/format.h>

#include <sstream>

#include "client/calls.h"
#include "client/case_stream.h"
#include "client/commands.h"
#include "client/failure.h"
#include "client/interrupt.h"
#include "client/progress.h"
#include "client/suggest.h"
#include "client/upload.h"
#include "proto/base/labels.h"
#include "proto/base/printable.h"
#include "proto/base/units.h"
#include "proto/wire.h"

namespace puzzled::client {
namespace {

// Cases that the first pass keeps, so that they need not be read again.
constexpr std::size_t kKeptBytesMax = 64U << 20U;

// What the first pass found in all files.
struct Validated {
  std::vector<FileFacts> facts;
  std::uint64_t case_count = 0;
  std::uint64_t with_answers = 0;   // files
  std::uint64_t invalid_files = 0;  // their defects have been printed
};

Validated validate_all(const Puzzle& puzzle, const std::vector<TestFile>& files, Context& context) {
  Validated result;
  result.facts.reserve(files.size());
  std::size_t room = kKeptBytesMax;
  auto drawn_at = Connection::Clock::now();
  for (const TestFile& file : files) {
    throw_if_interrupted();
    FileDefects defects;
    result.facts.push_back(examine(puzzle, file, defects, room));
    result.case_count += result.facts.back().case_count;
    if (!file.answers.empty()) ++result.with_answers;
    print_defects(context.console, file.path, defects.test);
    if (defects.answers) print_defects(context.console, file.answers, {*defects.answers});
    if (!defects.test.empty() || defects.answers) ++result.invalid_files;
    const auto now = Connection::Clock::now();
    if (context.console.shows_progress() && now - drawn_at > std::chrono::milliseconds(100)) {
      drawn_at = now;
      context.console.progress(fmt::format("checking: {}/{} files, {}", result.facts.size(),
                                           files.size(), counted(result.case_count, "case")));
    }
  }
  context.console.progress("");
  return result;
}

// What --solver says: NAME, or NAME@VERSION.
struct SolverChoice {
  std::string name;     // empty: the puzzle's default
  std::string version;  // empty: any
};

SolverChoice solver_choice(const SubmitOptions& options) {
  const std::string text = options.solver.value_or("");
  const std::size_t at = text.find('@');
  if (at == std::string::npos) return {text, ""};
  SolverChoice choice{text.substr(0, at), text.substr(at + 1)};
  constexpr std::size_t kVersionBytesMax = 100;  // JobSpec.solver_version of proto/client.proto
  if (choice.version.empty() || choice.version.size() > kVersionBytesMax ||
      !is_printable(choice.version)) {
    throw Failure(
        kExitInvalid,
        fmt::format("--solver \"{}\": expected NAME@VERSION, the version of 1 to {} bytes "
                    "of printable UTF-8",
                    text, kVersionBytesMax),
        "\"puzzlectl workers --output json\" lists the versions that there are");
  }
  return choice;
}

Labels requirements(const SubmitOptions& options) {
  auto labels = parse_labels(options.require, kRequirementsMax);
  const auto* wrong = std::get_if<std::string>(&labels);
  if (wrong != nullptr) throw Failure(kExitInvalid, "--require " + *wrong);
  return std::get<Labels>(std::move(labels));
}

proto::JobSpec new_spec(const SubmitOptions& options, const Puzzle& puzzle, const Solver& solver,
                        const SolverChoice& choice) {
  const std::string name = options.name.value_or("");
  if (name.size() > wire::kNameBytesMax) {
    throw Failure(
        kExitInvalid,
        fmt::format("the name is {} bytes long, the limit is {}", name.size(), wire::kNameBytesMax),
        "choose a shorter one");
  }
  constexpr std::uint64_t kTimeLimitUs = 10'000'000;
  constexpr std::uint64_t kMemoryLimitBytes = 256ULL << 20U;
  proto::JobSpec spec;
  spec.set_name(name);
  spec.set_puzzle(std::string(puzzle.name));
  spec.set_solver(std::string(solver.name));
  spec.set_priority(options.priority.value_or(0));
  spec.mutable_limits()->set_time_limit_us(options.time_limit_us.value_or(kTimeLimitUs));
  spec.mutable_limits()->set_memory_limit_bytes(
      options.memory_limit_bytes.value_or(kMemoryLimitBytes));
  spec.mutable_limits()->set_answer_bytes_max(wire::kAnswerBytesMax);
  spec.set_solver_version(choice.version);
  spec.set_no_cache(options.no_cache);
  for (const Label& label : requirements(options)) {
    proto::Label& to = *spec.add_require();
    to.set_key(label.key);
    to.set_value(label.value);
  }
  return spec;
}

// A job goes on under the terms it was opened with; options that were repeated must agree.
UploadRequest resumed_request(const SubmitOptions& options, const Puzzle& puzzle,
                              Connection& connection) {
  const proto::JobStatus status = get_job(connection, *options.resume);
  const proto::JobSpec& spec = status.spec();
  const auto refuse_other = [&](std::string_view what, bool other, const std::string& present) {
    if (!other) return;
    throw Failure(kExitInvalid,
                  fmt::format("job {} was opened with the {} {}", *options.resume, what, present),
                  fmt::format("leave the option out or submit without --resume"));
  };
  refuse_other("puzzle", spec.puzzle() != puzzle.name, spec.puzzle());
  const SolverChoice choice = solver_choice(options);
  refuse_other(
      "solver",
      options.solver && (choice.name != spec.solver() || choice.version != spec.solver_version()),
      solver_text(spec));
  const Labels required = labels_of(spec.require());
  refuse_other("requirements", !options.require.empty() && requirements(options) != required,
               required.empty() ? "none" : describe(required));
  refuse_other("name", options.name && *options.name != spec.name(),
               fmt::format("\"{}\"", spec.name()));
  refuse_other("priority", options.priority && *options.priority != spec.priority(),
               std::to_string(spec.priority()));
  refuse_other("time limit",
               options.time_limit_us && *options.time_limit_us != spec.limits().time_limit_us(),
               format_duration_us(spec.limits().time_limit_us()));
  refuse_other("memory limit",
               options.memory_limit_bytes &&
                   *options.memory_limit_bytes != spec.limits().memory_limit_bytes(),
               format_size(spec.limits().memory_limit_bytes()));
  refuse_other("reuse of answers", options.no_cache && !spec.no_cache(), "allowed");
  if (status.state() == proto::JOB_STATE_CANCELLED) {
    throw Failure(kExitRefused, fmt::format("job {} is cancelled", *options.resume),
                  "submit without --resume");
  }
  return {status.request_id(), spec, true};
}

// Progress on a terminal; remembers the job, so that whatever happens can be explained.
class Reporter : public UploadObserver {
 public:
  Reporter(Context& context, std::uint64_t case_count)
      : context_(context), case_count_(case_count) {}

  void opened(std::uint64_t job, std::uint32_t stored_chunks) override {
    job_ = job;
    if (stored_chunks > 0) {
      context_.console.note(
          fmt::format("job {}: {} on the daemon already", job, counted(stored_chunks, "chunk")));
    }
  }
  void advanced(std::uint64_t cases) override {
    pause_reason_.clear();
    if (!context_.console.shows_progress()) return;
    const auto now = Connection::Clock::now();
    if (now - drawn_at_ < std::chrono::milliseconds(100)) return;
    drawn_at_ = now;
    meter_.add(
        std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count(),
        cases);
    context_.console.progress(progress_text(fmt::format("job {} uploading", job_), cases,
                                            case_count_, meter_.per_second(),
                                            context_.console.setup().err_columns));
  }
  void paused(std::string_view reason) override {
    if (reason == pause_reason_) return;
    pause_reason_ = reason;
    context_.console.note(fmt::format("the daemon takes nothing now: {}; trying again", reason));
  }
  [[nodiscard]] std::uint64_t job() const { return job_; }

 private:
  Context& context_;
  std::uint64_t case_count_;
  std::uint64_t job_ = 0;
  std::string pause_reason_;
  RateMeter meter_;
  Connection::Clock::time_point drawn_at_{};
};

// What a user can do about an upload that ended early.
std::string resume_advice(const Context& context, const SubmitOptions& options, std::uint64_t job) {
  if (job == 0) return "nothing was submitted";
  return fmt::format(
      "job {} is not complete; go on with \"{}\" and the same paths, or \"{}\"", job,
      command_line(context, fmt::format("submit {} --resume {} ...", options.puzzle, job)),
      command_line(context, fmt::format("cancel {}", job)));
}

std::uint64_t upload_all(const SubmitOptions& options, const UploadRequest& request,
                         CaseStream& source, std::uint64_t case_count, Connection& connection,
                         Context& context) {
  Reporter reporter(context, case_count);
  try {
    const std::uint64_t job = upload(connection, request, source, reporter);
    context.console.progress("");
    return job;
  } catch (const Failure& failure) {
    const std::uint64_t job = reporter.job() == 0 ? options.resume.value_or(0) : reporter.job();
    if (failure.exit_code() == kExitInterrupted || failure.exit_code() == kExitUnreachable) {
      const std::string lost = failure.advice().empty() ? "" : failure.advice() + "; ";
      throw Failure(failure.exit_code(), failure.what(),
                    lost + resume_advice(context, options, job));
    }
    throw;
  }
}

[[noreturn]] void refuse_invalid(const Validated& validated, std::size_t files) {
  throw Failure(kExitInvalid,
                fmt::format("{} of {} invalid, nothing was submitted", validated.invalid_files,
                            counted(files, "file")),
                "correct what is listed above, or submit the good cases with --keep-going");
}

}  // namespace

int run_submit(const SubmitOptions& options, Context& context) {
  const Deferral deferral;
  const Puzzle& puzzle = require_puzzle(options.puzzle);
  const SolverChoice choice = solver_choice(options);
  const Solver& solver = require_solver(puzzle, choice.name);
  const proto::JobSpec spec = new_spec(options, puzzle, solver, choice);
  TestSetOptions set;
  set.paths = options.paths;
  set.files_from = options.files_from;
  set.recursive = options.recursive;
  set.answers_folder = options.answers_folder;
  set.no_answers = options.no_answers;
  const std::vector<TestFile> files = collect_test_files(set);
  const Validated validated = validate_all(puzzle, files, context);
  if (validated.invalid_files > 0 && !options.keep_going) refuse_invalid(validated, files.size());

  Connection connection(connection_options(context, kRestartPatienceMs));
  // An older daemon would take the job and ignore what it does not know.
  if (!options.require.empty()) require_minor(connection, 1, "--require");
  if (!choice.version.empty()) require_minor(connection, 1, "--solver NAME@VERSION");
  const UploadRequest request = options.resume ? resumed_request(options, puzzle, connection)
                                               : UploadRequest{new_request_id(), spec, false};
  CaseStream source(puzzle, request.spec.solver(), files, validated.facts);
  const std::uint64_t job =
      upload_all(options, request, source, validated.case_count, connection, context);

  context.console.out() << job << '\n';
  context.console.flush();
  const std::string graded =
      validated.with_answers == 0
          ? "no answers to grade"
          : fmt::format("answers of {} to grade", counted(validated.with_answers, "file"));
  context.console.note(fmt::format("job {}: {} in {}, {}", job,
                                   counted(validated.case_count, "case"),
                                   counted(files.size(), "file"), graded));
  int exit_code = kExitOk;
  if (options.wait) {
    WaitOptions wait;
    wait.jobs = {job};
    std::ostringstream summary;
    exit_code = wait_for_jobs(connection, wait, summary, context);
    if (!context.global.quiet) {
      std::string text = summary.str();
      if (text.ends_with('\n')) text.pop_back();
      context.console.line(text);
    }
  } else {
    context.console.note("wait for it: " + command_line(context, fmt::format("wait {}", job)));
  }
  if (validated.invalid_files == 0) return exit_code;
  throw Failure(kExitInvalid,
                fmt::format("{} of {} invalid; their good cases were submitted as job {}",
                            validated.invalid_files, counted(files.size(), "file"), job));
}

}  // namespace puzzled::client
