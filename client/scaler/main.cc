#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "client/failure.h"
#include "client/interrupt.h"
#include "client/scaler/loop.h"
#include "client/scaler/signals.h"
#include "proto/base/printable.h"

namespace {

void set_up_log(const std::string& level) {
  auto logger = spdlog::stderr_color_mt("puzzle-scaler");
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ scaler[%P] %v");
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace

int main(int argc, char** argv) {
  using namespace puzzled;
  scaler::Options options;
  if (const auto code = scaler::parse_options(argc, argv, options)) return *code;
  set_up_log(options.log_level);
  client::install_interrupt_handler();
  scaler::install_hangup_handler();
  scaler::Slurm engine(options.slurm);
  try {
    return scaler::Loop(options, engine).run();
  } catch (const client::Failure& failure) {
    spdlog::critical(
        "{}", printable_line(std::string(failure.what()) + (failure.advice().empty() ? "" : "; ") +
                             failure.advice()));
    return failure.exit_code();
  } catch (const std::exception& bug) {
    spdlog::critical("internal: {}; this is a bug of puzzle-scaler, please report it",
                     printable_line(bug.what()));
    return client::kExitInternal;
  }
}
