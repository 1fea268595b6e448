#include <spdlog/spdlog.h>

#include "client/failure.h"
#include "client/interrupt.h"
#include "client/scaler/log.h"
#include "client/scaler/loop.h"
#include "client/scaler/signals.h"

int main(int argc, char** argv) {
  using namespace puzzled;
  scaler::Options options;
  if (const auto code = scaler::parse_options(argc, argv, options)) return *code;
  scaler::set_up_log(options.log_level);
  client::install_interrupt_handler();
  scaler::install_hangup_handler();
  scaler::Slurm engine(options.slurm);
  try {
    return scaler::Loop(options, engine).run();
  } catch (const client::Failure& failure) {
    spdlog::critical("{}{}{}", failure.what(), failure.advice().empty() ? "" : "; ",
                     failure.advice());
    return failure.exit_code();
  } catch (const std::exception& bug) {
    spdlog::critical("internal: {}; this is a bug of puzzle-scaler, please report it", bug.what());
    return client::kExitInternal;
  }
}
