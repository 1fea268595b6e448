// Duel: two tokens on a line, what the game is worth to the first player. See README.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workers/puzzles/puzzle.h"

namespace puzzled::duel {

inline constexpr std::int64_t kGamesMax = 1'000'000;  // in one file
inline constexpr std::int64_t kCellsMin = 2;
inline constexpr std::int64_t kCellsMax = 1'000'000;  // n
inline constexpr std::int64_t kValueMax = 1'000'000'000'000;
// A jump is of 1 to 4 cells.
inline constexpr int kJumpMax = 4;

// The values of cells 3..n, in order; n is their number plus 2. A view: who made it says for how
// long it is valid.
struct Instance {
  std::span<const std::uint64_t> values;

  [[nodiscard]] std::int64_t cells() const { return std::ssize(values) + 2; }
  // REQUIRES: 1 <= cell <= cells().
  [[nodiscard]] std::int64_t value(std::int64_t cell) const {
    return cell < 3 ? 0 : static_cast<std::int64_t>(values[static_cast<std::size_t>(cell - 3)]);
  }
};

// First player's total minus the second's.
struct Answer {
  std::int64_t difference = 0;
};

// wire.cc. The decoders throw InvalidWire; an instance is validated, and valid until the next call
// of decode_instance() on this thread. The encoders replace `out`.
Instance decode_instance(std::string_view bytes);
void encode_instance(const Instance& instance, std::string& out);
Answer decode_answer(std::string_view bytes);
void encode_answer(const Answer& answer, std::string& out);

// validator.cc: what breaks the rules, if anything.
std::optional<std::string> defect_of(const Instance& instance);

// checker.cc
CheckResult check(std::string_view instance, std::string_view claimed, std::string_view right);

// solver.cc and brute_force.cc. REQUIRES: a valid instance.
Answer solve_sweep(const Instance& instance);
Answer solve_brute_force(const Instance& instance);

// generator.cc: as Puzzle::generate.
std::string generate(Rng& rng, int size);

// text.cc
std::unique_ptr<InstanceReader> read_instances(std::string_view text);
std::unique_ptr<ClaimReader> read_claims(std::string_view text);
void format_answer(std::string_view answer, std::string& out);
std::string format_instances(const std::vector<std::string>& instances);
std::string draw(std::string_view instance);
std::string summarize(std::string_view answer);

// puzzle.cc
const Puzzle& puzzle();

}  // namespace puzzled::duel
