// SIGHUP, and waiting for signals: what client/interrupt.h does not have.
#pragma once

#include <chrono>

namespace puzzled::scaler {

// Called once by main(), after install_interrupt_handler().
void install_hangup_handler();
// True once after each SIGHUP.
bool take_hangup();
// Until that time, or until a SIGHUP, SIGTERM or SIGINT has come.
void wait_for_signal(std::chrono::steady_clock::time_point until);

}  // namespace puzzled::scaler
