// cancel: open cases of a job are not graded any more.
#include <fmt/format.h>

#include "client/calls.h"
#include "client/commands.h"
#include "client/failure.h"

namespace puzzled::client {

int run_cancel(const CancelOptions& options, Context& context) {
  constexpr std::size_t kReasonBytesMax = 1000;  // as in the protocol
  if (options.reason.size() > kReasonBytesMax) {
    throw Failure(kExitInvalid,
                  fmt::format("the reason is {} bytes long, the limit is {}", options.reason.size(),
                              kReasonBytesMax),
                  "shorten it");
  }
  Connection connection(connection_options(context));
  cancel_job(connection, options.job, options.reason);
  context.console.note(fmt::format("job {} is cancelled", options.job));
  return kExitOk;
}

}  // namespace puzzled::client
