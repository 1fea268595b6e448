// Shuttle: swap n white and n black marbles across one hole in the fewest moves. (README.md)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workers/puzzles/puzzle.h"

namespace puzzled::shuttle {

inline constexpr std::uint32_t kMarblesMax = 1000;
// Positions are numbered from 1 to 2n+1.
inline constexpr std::uint32_t kPositionMax = 2 * kMarblesMax + 1;

struct Instance {
  std::uint32_t n = 1;  // marbles of each colour, 1..kMarblesMax.
};

// The positions moved from, which is where the hole goes, in order. Two bytes a
// move: the largest answer has a million.
using Moves = std::vector<std::uint16_t>;

// wire.cc. The decoders throw InvalidWire, also for what breaks the rules of validator.cc.
Instance decode_instance(std::string_view bytes);
void encode_instance(const Instance& instance, std::string& out);
Moves decode_answer(std::string_view bytes);
void encode_answer(const Moves& moves, std::string& out);

// text.cc.
std::unique_ptr<InstanceReader> read_instances(std::string_view text);
std::unique_ptr<ClaimReader> read_claims(std::string_view text);
void format_answer(std::string_view answer, std::string& out);
std::string format_instances(const std::vector<std::string>& instances);
std::string draw(std::string_view instance);
std::string summarize(std::string_view answer);

// validator.cc. Nothing if the instance is valid, else why not.
std::optional<std::string> defect_of(const Instance& instance);

// checker.cc, generator.cc, solver.cc, brute_force.cc: see Puzzle and Solver.
CheckResult check(std::string_view instance, std::string_view claimed, std::string_view right);
std::string generate(Rng& rng, int size);
void solve_direct(std::string_view instance, std::string& answer);
void solve_brute_force(std::string_view instance, std::string& answer);

const Puzzle& puzzle();

}  // namespace puzzled::shuttle
