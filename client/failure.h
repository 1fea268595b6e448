// How a command ends, and the one exception that ends it early.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace puzzled::client {

// Exit codes of puzzlectl; an interface.
inline constexpr int kExitOk = 0;
inline constexpr int kExitVerdicts = 1;       // graded, but some verdict is not as it should be
inline constexpr int kExitInvalid = 2;        // usage or invalid input
inline constexpr int kExitUnreachable = 3;    // no daemon, or timed out
inline constexpr int kExitRefused = 4;        // the daemon said no
inline constexpr int kExitInternal = 70;      // our own bug (EX_SOFTWARE of sysexits.h)
inline constexpr int kExitOutput = 74;        // the output cannot be written (EX_IOERR)
inline constexpr int kExitInterrupted = 130;  // as shells report SIGINT

// Ends the command. what() says what is wrong, advice() what to do about it (may be empty); both
// may hold bytes of others and are made printable where they are shown.
class Failure : public std::runtime_error {
 public:
  Failure(int exit_code, const std::string& what, std::string advice = "")
      : std::runtime_error(what), exit_code_(exit_code), advice_(std::move(advice)) {}
  [[nodiscard]] int exit_code() const { return exit_code_; }
  [[nodiscard]] const std::string& advice() const { return advice_; }

 private:
  int exit_code_;
  std::string advice_;
};

}  // namespace puzzled::client
