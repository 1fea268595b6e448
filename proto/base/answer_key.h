// By what the answer of a case is found again (workers/puzzles/key.h).
#pragma once

#include <cstddef>

namespace puzzled {

inline constexpr std::size_t kAnswerKeyBytes = 16;

}  // namespace puzzled
