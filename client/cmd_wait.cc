// wait: until jobs are done, however often the daemon restarts meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "client/calls.h"
#include "client/commands.h"
#include "client/failure.h"
#include "client/interrupt.h"
#include "client/progress.h"
#include "client/suggest.h"
#include "proto/base/units.h"

namespace puzzled::client {
namespace {

using Clock = Connection::Clock;
using std::chrono::milliseconds;

constexpr milliseconds kPollTerminal{250};
constexpr milliseconds kPollOtherwise{2'000};
// A reason why nothing runs is told once it has stood for that long.
constexpr milliseconds kReasonAge{3'000};

std::string job_list(const std::vector<std::uint64_t>& jobs) {
  return fmt::format("{} {}", jobs.size() == 1 ? "job" : "jobs", fmt::join(jobs, ", "));
}

bool is_finished(const proto::JobStatus& status) {
  return status.state() == proto::JOB_DONE || status.state() == proto::JOB_STATE_CANCELLED;
}

class Waiter {
 public:
  Waiter(Connection& connection, const std::vector<std::uint64_t>& jobs, Context& context)
      : connection_(connection), context_(context) {
    for (const std::uint64_t job : jobs) {
      if (std::ranges::find(jobs_, job) == jobs_.end()) jobs_.push_back(job);
    }
  }

  // The jobs' last states, in order; nullopt: `deadline` came first.
  std::optional<std::vector<proto::JobStatus>> run(Clock::time_point deadline) {
    for (const std::uint64_t job : jobs_) {
      statuses_[job] = get_job(connection_, job);
      if (!is_finished(statuses_[job])) ask_for_end(job);
    }
    const milliseconds poll = context_.console.shows_progress() ? kPollTerminal : kPollOtherwise;
    while (!all_finished()) {
      show();
      wait_until(std::min(Clock::now() + poll, deadline));
      if (Clock::now() >= deadline && !all_finished()) return std::nullopt;
    }
    context_.console.progress("");
    std::vector<proto::JobStatus> result;
    for (const std::uint64_t job : jobs_) result.push_back(statuses_[job]);
    return result;
  }

 private:
  [[nodiscard]] bool all_finished() const {
    return std::ranges::all_of(statuses_, [](const auto& e) { return is_finished(e.second); });
  }

  // WaitJob is answered at the end: the news comes at once, however rarely we look.
  void ask_for_end(std::uint64_t job) {
    proto::ClientRequest request;
    request.mutable_wait_job()->set_job(job);
    ends_[connection_.send(request, false)] = job;
  }

  void ask_status(std::uint64_t job) {
    if (std::ranges::any_of(asked_, [job](const auto& e) { return e.second == job; })) return;
    proto::ClientRequest request;
    request.mutable_get_job()->set_job(job);
    asked_[connection_.send(request)] = job;
  }

  // Handles replies until then (or until everything is finished), and asks how far the jobs are.
  void wait_until(Clock::time_point until) {
    for (const auto& [job, status] : statuses_) {
      if (!is_finished(status)) ask_status(job);
    }
    while (!all_finished()) {
      const auto reply = connection_.receive(until);
      if (!reply) return;
      if (const auto end = ends_.find(reply->id()); end != ends_.end()) {
        const std::uint64_t job = end->second;
        ends_.erase(end);
        if (reply->has_error()) throw_refusal(reply->error());
        // A status asked for before the end came may be older than it.
        std::erase_if(asked_, [&](const auto& e) {
          if (e.second == job) connection_.forget(e.first);
          return e.second == job;
        });
        ask_status(job);
      } else if (const auto asked = asked_.find(reply->id()); asked != asked_.end()) {
        const std::uint64_t job = asked->second;
        asked_.erase(asked);
        if (reply->has_error()) throw_refusal(reply->error());
        statuses_[job] = reply->job_status();
      }
    }
  }

  void show() {
    std::uint64_t total = 0;
    std::uint64_t done = 0;
    std::string reason;
    for (const auto& [job, status] : statuses_) {
      total += status.case_count();
      done +=
          status.state() == proto::JOB_STATE_CANCELLED ? status.case_count() : status.done_count();
      if (reason.empty() && !is_finished(status)) reason = status.waiting_for();
    }
    const auto now = Clock::now();
    meter_.add(std::chrono::duration_cast<milliseconds>(now.time_since_epoch()).count(), done);
    tell_reason(reason, now);
    const int columns = context_.console.setup().err_columns;
    // While nothing runs, the reason is worth more than a rate.
    context_.console.progress(
        reason.empty() ? progress_text(job_list(jobs_), done, total, meter_.per_second(), columns)
                       : fmt::format("{}: {}/{} cases, waiting: {}", job_list(jobs_), done, total,
                                     printable_line(reason)));
  }

  void tell_reason(const std::string& reason, Clock::time_point now) {
    if (reason != reason_) {
      reason_ = reason;
      reason_since_ = now;
      reason_told_ = false;
    }
    const bool stands = !reason_.empty() && now - reason_since_ >= kReasonAge;
    if (!stands || reason_told_ || context_.console.shows_progress()) return;
    context_.console.note("waiting: " + reason_);
    reason_told_ = true;
  }

  Connection& connection_;
  Context& context_;
  std::vector<std::uint64_t> jobs_;  // without repetitions
  std::map<std::uint64_t, proto::JobStatus> statuses_;
  std::map<std::uint64_t, std::uint64_t> ends_;   // unanswered WaitJob: its job
  std::map<std::uint64_t, std::uint64_t> asked_;  // unanswered GetJob: its job
  RateMeter meter_;
  std::string reason_;
  Clock::time_point reason_since_{};
  bool reason_told_ = false;
};

// The first cases that failed, with what to run for more.
void write_failures(Connection& connection, const proto::JobStatus& status,
                    const std::vector<Verdict>& verdicts, std::ostream& out, Context& context) {
  constexpr std::uint32_t kFailuresShown = 5;
  proto::ListResults query;
  query.set_job(status.job());
  query.set_limit(kFailuresShown);
  std::string names;
  for (const Verdict verdict : verdicts) {
    query.add_verdicts(static_cast<proto::Verdict>(verdict));
    std::string name(verdict_short_name(verdict));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    names += (names.empty() ? "" : ",") + name;
  }
  ResultsCursor cursor(connection, query);
  for (std::uint32_t shown = 0; shown < kFailuresShown; ++shown) {
    const proto::ResultRow* row = cursor.next();
    if (row == nullptr) break;
    const Verdict verdict = verdict_of(row->verdict());
    out << fmt::format("  {}  {}  case {}{}\n",
                       context.console.coloured(fmt::format("{:3}", verdict_short_name(verdict)),
                                                verdict_colour(verdict)),
                       printable_line(row->label()), row->case_no(),
                       row->message().empty() ? "" : ": " + printable_line(row->message()));
  }
  out << "  more: "
      << command_line(context, fmt::format("results {} --verdict {}", status.job(), names)) << '\n';
}

void write_summary(Connection& connection, const proto::JobStatus& status, std::ostream& out,
                   Context& context) {
  const auto counts = verdict_counts(status);
  std::string took;
  if (status.finished_ms() > status.created_ms()) {
    took = " in " + approximate_duration_us(1000 * static_cast<std::uint64_t>(status.finished_ms() -
                                                                              status.created_ms()));
  }
  const std::string name = status.spec().name().empty()
                               ? ""
                               : fmt::format(" ({})", printable_line(status.spec().name()));
  const std::string cached =
      status.cached_count() == 0 ? "" : fmt::format(" ({} cached)", status.cached_count());
  out << fmt::format("job {}{}: {}{}, {}{}{}\n", status.job(), name, state_name(status.state()),
                     took, counted(status.case_count(), "case"),
                     counts.empty() ? "" : ": " + describe_counts(counts), cached);
  if (!status.cancel_reason().empty()) {
    out << "  cancelled: " << printable_line(status.cancel_reason()) << '\n';
  }
  std::vector<Verdict> failed;
  for (const auto& [verdict, count] : counts) {
    if (!is_good(verdict) && verdict != Verdict::kCancelled) failed.push_back(verdict);
  }
  if (!failed.empty()) write_failures(connection, status, failed, out, context);
}

// Which verdicts make the exit code 1.
std::vector<Verdict> failing_verdicts(const WaitOptions& options) {
  if (options.fail_on) {
    return *options.fail_on == "none" ? std::vector<Verdict>{} : parse_verdicts(*options.fail_on);
  }
  std::vector<Verdict> all;
  for (std::size_t i = 1; i < kVerdictCount; ++i) {
    if (!is_good(static_cast<Verdict>(i))) all.push_back(static_cast<Verdict>(i));
  }
  return all;
}

}  // namespace

int wait_for_jobs(Connection& connection, const WaitOptions& options, std::ostream& summary,
                  Context& context) {
  const auto is_failing = [failing = failing_verdicts(options)](Verdict verdict) {
    return std::ranges::find(failing, verdict) != failing.end();
  };
  const std::string again =
      command_line(context, fmt::format("wait {}", fmt::join(options.jobs, " ")));
  const Clock::time_point deadline = options.timeout_ms
                                         ? Clock::now() + milliseconds(*options.timeout_ms)
                                         : Clock::time_point::max();
  bool failed = false;
  try {
    const auto statuses = Waiter(connection, options.jobs, context).run(deadline);
    if (!statuses) {
      throw Failure(kExitUnreachable,
                    fmt::format("timed out after {}, {} not finished",
                                approximate_duration_us(*options.timeout_ms * 1000),
                                options.jobs.size() == 1 ? "the job is" : "the jobs are"));
    }
    for (const proto::JobStatus& status : *statuses) {
      write_summary(connection, status, summary, context);
      // Also if all cases that came are graded: the rest of a cancelled upload never came.
      failed = failed ||
               (status.state() == proto::JOB_STATE_CANCELLED && is_failing(Verdict::kCancelled));
      for (const auto& [verdict, count] : verdict_counts(status)) {
        failed = failed || is_failing(verdict);
      }
    }
  } catch (const Failure& failure) {
    if (failure.exit_code() == kExitInterrupted || failure.exit_code() == kExitUnreachable) {
      const std::string goes_on = failure.advice().empty()
                                      ? fmt::format("{} {} without this", job_list(options.jobs),
                                                    options.jobs.size() == 1 ? "goes on" : "go on")
                                      : failure.advice();
      throw Failure(failure.exit_code(), failure.what(), goes_on + "; wait again: " + again);
    }
    throw;
  }
  return failed ? kExitVerdicts : kExitOk;
}

int run_wait(const WaitOptions& options, Context& context) {
  const Deferral deferral;
  if (options.fail_on && *options.fail_on != "none") parse_verdicts(*options.fail_on);
  ConnectionOptions reach = connection_options(context, kRestartPatienceMs);
  if (options.timeout_ms) {
    reach.connect_timeout_ms = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        reach.connect_timeout_ms, std::max<std::uint64_t>(*options.timeout_ms, 1)));
  }
  Connection connection(std::move(reach));
  return wait_for_jobs(connection, options, context.console.out(), context);
}

}  // namespace puzzled::client
