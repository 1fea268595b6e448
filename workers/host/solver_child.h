// The solver process: solves the cases of one dispatch after the other, found in the memory file
// that it shares with its slot (shared_area.h). It may die at any case; the slot copes.
#pragma once

#include <optional>

namespace puzzled::host {

// The hidden first argument with which a program starts itself as a solver process; the second is
// the process id of the host.
inline constexpr const char* kChildArgument = "--solver-child";

// Runs as a solver process if the arguments say so and returns its exit code, else nullopt. A
// program that makes slots calls this first in main().
std::optional<int> run_as_solver_child(int argc, char** argv);

}  // namespace puzzled::host
