// export: the right answers of a job as files in the contest's format.
#include <fmt/format.h>

#include <algorithm>

#include "client/calls.h"
#include "client/commands.h"
#include "client/failure.h"
#include "client/interrupt.h"
#include "client/output_folder.h"
#include "workers/puzzles/registry.h"

namespace puzzled::client {
namespace {

constexpr std::string_view kSuffix = ".ans";
constexpr std::size_t kNamesShown = 20;

std::vector<proto::File> all_files(Connection& connection, std::uint64_t job) {
  std::vector<proto::File> files;
  std::uint64_t after = 0;
  for (bool more = true; more;) {
    proto::FilesPage page = list_files(connection, job, after);
    for (proto::File& file : *page.mutable_files()) files.push_back(std::move(file));
    more = page.more();
    if (more && page.next_after() <= after) {
      throw Failure(kExitRefused, "the daemon's pages of files do not advance",
                    "report this as a bug of the daemon");
    }
    after = page.next_after();
  }
  return files;
}

// All names are looked at before anything is written.
void refuse_names(const std::vector<proto::File>& files, const OutputFolder& folder, bool force) {
  std::uint64_t existing = 0;
  std::string first;
  for (const proto::File& file : files) {
    const std::string path = file.path() + std::string(kSuffix);
    if (const auto why = unsafe_path(path)) {
      throw Failure(kExitInvalid,
                    fmt::format("the label \"{}\" cannot be a file name: {}", file.path(), *why),
                    "nothing was written; \"puzzlectl results\" lists the answers");
    }
    if (force || !folder.exists(path)) continue;
    if (existing++ == 0) first = path;
  }
  if (existing == 0) return;
  throw Failure(kExitInvalid,
                fmt::format("{} already there{}", first,
                            existing > 1 ? fmt::format(" (and {} more)", existing - 1) : ""),
                "nothing was written; choose another folder or overwrite with --force");
}

class Exporter {
 public:
  Exporter(Connection& connection, const ExportOptions& options, const Puzzle& puzzle,
           Context& context)
      : connection_(connection), options_(options), puzzle_(puzzle), context_(context) {}

  int run() {
    const std::vector<proto::File> files = all_files(connection_, options_.job);
    const OutputFolder folder(options_.folder);
    refuse_names(files, folder, options_.force);
    proto::ListResults query;
    query.set_job(options_.job);
    query.set_with_answers(true);
    ResultsCursor cursor(connection_, query);
    row_ = cursor.next();
    for (const proto::File& file : files) {
      throw_if_interrupted();
      write_file(file, folder, cursor);
      if (context_.console.shows_progress() && written_ % 256 == 0) {
        context_.console.progress(fmt::format("writing: {}/{} files", written_, files.size()));
      }
    }
    return report();
  }

 private:
  // Files and results both come in the order of the cases.
  void write_file(const proto::File& file, const OutputFolder& folder, ResultsCursor& cursor) {
    OutputFolder::File out(folder, file.path() + std::string(kSuffix));
    std::string missing;
    const std::uint64_t end = file.first_case() + file.case_count();
    for (std::uint64_t case_no = file.first_case(); case_no < end; ++case_no) {
      while (row_ != nullptr && row_->case_no() < case_no) row_ = cursor.next();
      if (row_ != nullptr && row_->case_no() == case_no && row_->has_answer() && missing.empty()) {
        text_.clear();
        try {
          puzzle_.format_answer(row_->answer(), text_);
          out.write(text_);
        } catch (const InvalidWire& error) {
          missing = fmt::format("the answer of case {} cannot be read: {}", case_no, error.what());
        }
      } else if (missing.empty()) {
        missing = fmt::format("case {} has no answer{}", case_no, why(case_no));
      }
      if (!missing.empty()) break;  // the next file's first step skips the rest.
    }
    if (missing.empty()) {
      out.commit(options_.force);
      ++written_;
      return;
    }
    if (incomplete_++ < kNamesShown) {
      context_.console.error(fmt::format("{}{} is not written: {}", file.path(), kSuffix, missing));
    }
  }

  [[nodiscard]] std::string why(std::uint64_t case_no) const {
    if (row_ == nullptr || row_->case_no() != case_no) return ", it is not graded";
    const std::string_view name = verdict_short_name(verdict_of(row_->verdict()));
    return fmt::format(" ({})", name);
  }

  int report() {
    context_.console.progress("");
    context_.console.note(
        fmt::format("{} written to {}", counted(written_, "file"), options_.folder));
    if (incomplete_ == 0) return kExitOk;
    if (incomplete_ > kNamesShown) {
      context_.console.error(
          fmt::format("{} not written either", counted(incomplete_ - kNamesShown, "more file")));
    }
    context_.console.note(
        "what is missing and why: " +
        command_line(context_,
                     fmt::format("results {} --verdict pe,iv,tle,mle,ole,re,ca,je", options_.job)));
    return kExitVerdicts;
  }

  Connection& connection_;
  const ExportOptions& options_;
  const Puzzle& puzzle_;
  Context& context_;
  const proto::ResultRow* row_ = nullptr;
  std::string text_;
  std::uint64_t written_ = 0;
  std::uint64_t incomplete_ = 0;
};

}  // namespace

int run_export(const ExportOptions& options, Context& context) {
  const Deferral deferral;  // so that no temporary file is left behind
  Connection connection(connection_options(context));
  const proto::JobStatus job = get_job(connection, options.job);
  const Puzzle* puzzle = find_puzzle(job.spec().puzzle());
  if (puzzle == nullptr) {
    throw Failure(
        kExitInvalid,
        fmt::format("this puzzlectl does not know the puzzle \"{}\"", job.spec().puzzle()),
        "use the puzzlectl that submitted the job");
  }
  return Exporter(connection, options, *puzzle, context).run();
}

}  // namespace puzzled::client
