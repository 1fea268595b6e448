// Ctrl-C and SIGTERM. Either the process ends at once with exit code 130, or, while a Deferral
// exists, a flag is set that the waiting loops look at, so that a command can say what goes on
// without it. A second signal always ends the process.
#pragma once

namespace puzzled::client {

// Called once by main().
void install_interrupt_handler();

// True once a signal has come during a Deferral.
bool interrupted();
// Throws Failure(130) if so.
void throw_if_interrupted();
// Sets or clears the flag as a signal would. For tests.
void set_interrupted(bool value);

// While one exists, signals only set the flag.
class Deferral {
 public:
  Deferral();
  ~Deferral();
  Deferral(const Deferral&) = delete;
  Deferral& operator=(const Deferral&) = delete;
};

}  // namespace puzzled::client
