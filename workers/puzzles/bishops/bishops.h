// Bishops: in how many ways can k bishops stand on an n x n board so that no two share a diagonal?
// (README.md)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "workers/puzzles/puzzle.h"

namespace puzzled::bishops {

inline constexpr std::uint32_t kSideMax = 1000;

struct Instance {
  std::uint32_t n = 1;  // side of the board, 1..kSideMax.
  std::uint32_t k = 0;  // bishops, 0..n*n.
};

// Counts are big-endian bytes without a leading zero byte, empty for 0, as in the wire's Answer:
// they are compared and stored far more often than computed with.
using CountBytes = std::string;

// No count within the limits has more digits (the largest, at n = 1000, has 3,856). Longer claims
// are not read.
inline constexpr std::size_t kCountDigitsMax = 4000;

// count.cc. `digits` are decimal digits only.
CountBytes count_from_decimal(std::string_view digits);
void append_decimal(std::string_view count, std::string& out);

// wire.cc. The decoders throw InvalidWire, also for what breaks the rules of validator.cc.
Instance decode_instance(std::string_view bytes);
void encode_instance(const Instance& instance, std::string& out);
CountBytes decode_answer(std::string_view bytes);
void encode_answer(std::string_view count, std::string& out);

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
void solve_staircase(std::string_view instance, std::string& answer);
void solve_brute_force(std::string_view instance, std::string& answer);

const Puzzle& puzzle();

}  // namespace puzzled::bishops
