// canary and admit: testing workers with cases whose results are known, and letting back in who
// failed.
#include <fmt/format.h>

#include "client/calls.h"
#include "client/commands.h"
#include "client/failure.h"

namespace puzzled::client {
int run_canary(const CanaryOptions& options, Context& context) {
  Connection connection(connection_options(context));
  require_minor(connection, 1, "\"canary\"");
  if (options.off) {
    mark_canary(connection, options.job, true);
    context.console.note(fmt::format("the cases of job {} are no canaries", options.job));
    return kExitOk;
  }
  const proto::JobStatus job = get_job(connection, options.job);
  std::uint64_t known = 0;
  for (const auto& [verdict, count] : verdict_counts(job)) {
    if (is_known(verdict)) known += count;
  }
  if (job.state() == proto::JOB_DONE && known == 0) {
    throw Failure(kExitRefused,
                  fmt::format("no case of job {} can be a canary: none has a verdict that every "
                              "worker must find again",
                              options.job),
                  "choose a job with cases that are solved, accepted, wrong or invalid");
  }
  mark_canary(connection, options.job, false);
  context.console.note(fmt::format("{} of job {} test the workers that solve {} with {}",
                                   counted(known, "case"), options.job, job.spec().puzzle(),
                                   job.spec().solver()));
  return kExitOk;
}

int run_admit(const AdmitOptions& options, Context& context) {
  Connection connection(connection_options(context));
  require_minor(connection, 1, "\"admit\"");
  const std::uint64_t count = admit_worker(connection, options.name);
  if (count == 0) {
    throw Failure(kExitRefused,
                  fmt::format("no worker or host of the name \"{}\" is barred", options.name),
                  "\"puzzlectl workers\" lists those who are");
  }
  context.console.note(
      fmt::format("\"{}\" may come back ({})", options.name, counted(count, "worker")));
  return kExitOk;
}

}  // namespace puzzled::client
