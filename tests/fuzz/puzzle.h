// The puzzle that a target is built for, and what must hold of what its functions return.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tests/fuzz/target.h"
#include "workers/puzzles/registry.h"

namespace puzzled::fuzz {

inline const Puzzle& puzzle() {
  static const Puzzle* const found = find_puzzle(PUZZLED_FUZZ_PUZZLE);
  ASSERT(found != nullptr);
  return *found;
}

// What `function` returns; nothing if it throws InvalidWire, whose message must be fit to show.
template <class Function>
std::optional<decltype(std::declval<Function>()())> unless_invalid(Function function) {
  try {
    return function();
  } catch (const InvalidWire& error) {
    ASSERT(is_plain_line(error.what()));
    return std::nullopt;
  }
}

inline std::optional<std::string> summary_of(std::string_view answer) {
  const auto summary = unless_invalid([&] { return puzzle().summarize(answer); });
  ASSERT(!summary || (is_plain_line(*summary) && summary->size() <= 60));
  return summary;
}

inline std::optional<std::string> formatted(std::string_view answer) {
  return unless_invalid([&] {
    std::string out;
    puzzle().format_answer(answer, out);
    return out;
  });
}

}  // namespace puzzled::fuzz
