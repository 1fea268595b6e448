// The error that ends a program: thrown only at start-up and by the store, caught only in main.
#pragma once

#include <stdexcept>
#include <string>

namespace puzzled {

// Exit codes of the programs that more than one place needs.
inline constexpr int kExitRefused = 5;  // the daemon will not start: in use, newer, unsuitable
inline constexpr int kExitIo = 74;      // I/O error or corruption

// what() is one printable paragraph for people: what is wrong, with which file, and what to do.
class Fatal : public std::runtime_error {
 public:
  Fatal(int exit_code, const std::string& text) : std::runtime_error(text), exit_code_(exit_code) {}
  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

}  // namespace puzzled
