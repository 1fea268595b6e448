#include "client/interrupt.h"

#include <unistd.h>
#include <csignal>

#include <atomic>

#include "client/failure.h"

namespace puzzled::client {
namespace {

std::atomic<int> deferrals{0};
std::atomic<bool> flag{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

extern "C" void on_signal(int) {
  if (deferrals.load() == 0 || flag.exchange(true)) ::_exit(kExitInterrupted);
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = on_signal;  // no SA_RESTART: blocking reads and polls must return.
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return flag.load(); }

void throw_if_interrupted() {
  if (interrupted()) throw Failure(kExitInterrupted, "interrupted");
}

void set_interrupted(bool value) { flag.store(value); }

Deferral::Deferral() { deferrals.fetch_add(1); }
Deferral::~Deferral() { deferrals.fetch_sub(1); }

}  // namespace puzzled::client
