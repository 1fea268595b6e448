#include "client/scaler/signals.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>

#include "client/interrupt.h"

namespace puzzled::scaler {
namespace {

std::atomic<bool> hangup{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_hangup(int) { hangup.store(true); }

}  // namespace

void install_hangup_handler() {
  struct sigaction action {};
  action.sa_handler = on_hangup;  // no SA_RESTART: waiting ends
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGHUP, &action, nullptr);
}

bool take_hangup() { return hangup.exchange(false); }

void wait_for_signal(std::chrono::steady_clock::time_point until) {
  // A signal between the look and the wait must not be missed, so they come only while ppoll waits.
  sigset_t ours;
  sigset_t before;
  ::sigemptyset(&ours);
  for (const int signal : {SIGHUP, SIGTERM, SIGINT}) ::sigaddset(&ours, signal);
  ::pthread_sigmask(SIG_BLOCK, &ours, &before);
  while (!client::interrupted() && !hangup.load()) {
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= std::chrono::steady_clock::duration::zero()) break;
    const std::int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
    const timespec wait{ns / 1'000'000'000, ns % 1'000'000'000};
    ::ppoll(nullptr, 0, &wait, &before);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace puzzled::scaler
