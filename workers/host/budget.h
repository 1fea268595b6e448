// Counts what a solver allocates for one case and ends the process when that is too much.
//
// Linking this file into a program replaces the global operators new and delete; they only count
// after install(), which a solver process calls once and nobody else does.
#pragma once

#include <atomic>
#include <cstdint>

#include "workers/host/shared_area.h"

namespace puzzled::host::budget {

// Starts counting, GMP's numbers included. The case's peak is kept in `header`, and the reason when
// the process ends itself.
void install(SharedHeader* header);

// From here on the level may rise by at most `limit_bytes`.
void begin_case(std::uint64_t limit_bytes);

// The highest level since begin_case(), less the level then. Ends the limit.
std::uint64_t end_case();

// Ends the process: the case needs more memory than it may have.
[[noreturn]] void exceed();

}  // namespace puzzled::host::budget
