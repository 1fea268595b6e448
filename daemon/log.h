// What the daemon writes about itself.
#pragma once

#include "daemon/options.h"

namespace puzzled {

// Sets spdlog's default logger up. Throws Fatal if the file cannot be opened.
void set_up_log(const DaemonOptions& options);

}  // namespace puzzled
