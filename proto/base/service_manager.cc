#include "proto/base/service_manager.h"

#include <systemd/sd-daemon.h>

namespace puzzled::service_manager {

void ready(const std::string& status) { ::sd_notify(0, ("READY=1\nSTATUS=" + status).c_str()); }

void stopping() { ::sd_notify(0, "STOPPING=1\nSTATUS=finishing what runs"); }

std::int64_t watchdog_interval_ms() {
  constexpr std::uint64_t kUsPerMs = 1'000;
  std::uint64_t us = 0;
  if (::sd_watchdog_enabled(0, &us) <= 0) return 0;
  return static_cast<std::int64_t>(us / 2 / kUsPerMs);
}

void alive() { ::sd_notify(0, "WATCHDOG=1"); }

}  // namespace puzzled::service_manager
