// The product's puzzles with solvers of bishops added that misbehave, for tests of the worker and
// of the whole system. Each is right, by "staircase", on every instance but those with
// k = kTroubleBishops; what it does there is said beside its entry in test_registry.cc.
#pragma once

#include <cstdint>

namespace puzzled {

inline constexpr std::uint32_t kTroubleBishops = 13;

// Environment variable with the path of the file by which "crash-once" knows that it has crashed,
// and "liar" that it is to answer wrong.
inline constexpr const char* kMarkerVariable = "PUZZLED_TEST_MARKER";
// The version of the test solvers; "test" without it.
inline constexpr const char* kVersionVariable = "PUZZLED_TEST_SOLVER_VERSION";

}  // namespace puzzled
