// What systemd wants to hear of a service of Type=notify (sd_notify(3)). All of it does nothing for
// a program that was started otherwise.
#pragma once

#include <cstdint>
#include <string>

namespace puzzled::service_manager {

// The program does its work; `status` is one line for `systemctl status`.
void ready(const std::string& status);
void stopping();

// How often alive() is to be called, so that a watchdog does not end the program: half of what the
// unit allows. 0: there is none.
std::int64_t watchdog_interval_ms();
void alive();

}  // namespace puzzled::service_manager
