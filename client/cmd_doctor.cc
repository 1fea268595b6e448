// doctor: does all hold that must hold, of a running daemon or of a database file?
#include <fmt/format.h>

#include <chrono>
#include <map>

#include "client/calls.h"
#include "client/commands.h"
#include "client/database_check.h"
#include "client/failure.h"
#include "client/interrupt.h"
#include "client/progress.h"

namespace puzzled::client {
namespace {

// Of a database that is damaged all over; they are held until they can be shown in columns.
constexpr std::uint64_t kShownMax = 10'000;
// A page takes a few milliseconds, but the daemon may have other readers to serve.
constexpr std::uint32_t kPatienceMs = 60'000;

class Report {
 public:
  explicit Report(Context& context)
      : context_(context),
        writer_(record_writer(context.global.output,
                              {{"rule", "RULE"},
                               {"job", "JOB", true},
                               {"chunk", "CHUNK", true},
                               {"case", "CASE", true},
                               {"text", "FOUND", false, 120},
                               {"meaning", ""},
                               {"advice", ""}},
                              context.console)) {}

  void add(const proto::Finding& finding) {
    ++count_;
    rules_[finding.rule()] = finding;
    if (count_ > kShownMax) return;
    const auto number = [](bool known, std::uint64_t value) {
      return known ? Value{value} : Value{};
    };
    writer_->write({{"rule", text_value(finding.rule())},
                    {"job", number(finding.job() > 0, finding.job())},
                    {"chunk", number(finding.has_chunk(), finding.chunk())},
                    {"case", number(finding.case_no() > 0, finding.case_no())},
                    {"text", text_value(finding.text())},
                    {"meaning", text_value(finding.meaning())},
                    {"advice", text_value(finding.advice())}});
  }

  void progress(std::uint64_t done, std::uint64_t total) {
    using std::chrono::milliseconds;
    const auto now = Connection::Clock::now().time_since_epoch();
    meter_.add(std::chrono::duration_cast<milliseconds>(now).count(), done);
    context_.console.progress(progress_text("check", done, total, meter_.per_second(),
                                            context_.console.setup().err_columns));
    chunks_ = done;
  }

  int finish() {
    context_.console.progress("");
    const bool table = context_.global.output == OutputFormat::kTable;
    if (count_ > 0 || !table) writer_->finish();
    if (table && count_ > 0) {
      for (const auto& [name, finding] : rules_) {
        context_.console.out() << '\n'
                               << printable_line(name) << ": " << printable_line(finding.meaning())
                               << ".\n  What to do: " << printable_line(finding.advice()) << ".\n";
      }
    }
    const std::string checked = counted(chunks_, "chunk");
    if (count_ == 0) {
      context_.console.note(fmt::format("all is well ({} checked)", checked));
      return kExitOk;
    }
    context_.console.note(fmt::format(
        "{} ({} checked){}", counted(count_, "finding"), checked,
        count_ > kShownMax ? fmt::format("; only {} are shown", kShownMax) : std::string()));
    return kExitVerdicts;
  }

 private:
  Context& context_;
  std::unique_ptr<RecordWriter> writer_;
  RateMeter meter_;
  std::map<std::string, proto::Finding> rules_;  // one of each, for its explanation
  std::uint64_t count_ = 0;
  std::uint64_t chunks_ = 0;
};

void check_daemon(Report& report, Context& context) {
  Connection connection(connection_options(context, kPatienceMs));
  const proto::Version daemon = get_version(connection);
  if (!daemon.intake_paused().empty()) {
    proto::Finding paused;
    paused.set_rule("intake-paused");
    paused.set_text(daemon.intake_paused());
    paused.set_meaning("the daemon takes nothing new while this lasts");
    paused.set_advice("remove the cause; the daemon then goes on by itself");
    report.add(paused);
  }
  bool integrity_skipped = false;
  for (const bool broker : {true, false}) {
    proto::Check page;
    page.set_broker(broker);
    do {
      throw_if_interrupted();
      const proto::CheckPage reply = check(connection, page);
      for (const proto::Finding& finding : reply.findings()) report.add(finding);
      integrity_skipped = integrity_skipped || reply.integrity_skipped();
      *page.mutable_cursor() = reply.cursor();
      if (!broker) report.progress(reply.chunks_done(), reply.chunk_count());
    } while (page.cursor_size() > 0);
  }
  if (integrity_skipped) {
    context.console.note(
        "the database is too large for SQLite's own check of its file while the daemon runs: make "
        "a backup and check that with --database");
  }
}

}  // namespace

int run_doctor(const DoctorOptions& options, Context& context) {
  Report report(context);
  if (options.database.empty()) {
    check_daemon(report, context);
  } else {
    check_database(options.database,
                   {.found = [&](const proto::Finding& finding) { report.add(finding); },
                    .progress = [&](std::uint64_t done,
                                    std::uint64_t total) { report.progress(done, total); }});
  }
  return report.finish();
}

}  // namespace puzzled::client
