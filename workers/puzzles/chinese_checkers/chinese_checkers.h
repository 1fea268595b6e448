// Chinese checkers: count the distinct moves of a position. See README.md.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workers/puzzles/puzzle.h"

namespace puzzled::chinese_checkers {

inline constexpr int kCells = 121;
inline constexpr int kRows = 17;
// Boards in one file.
inline constexpr std::int64_t kBoardsMax = 1'000'000;
// Cells of each row from the top, and the number of the row's first cell. Cells are numbered 0..120
// by row, then from the left.
inline constexpr std::array<int, kRows> kRowLengths = {1,  2,  3,  4,  13, 12, 11, 10, 9,
                                                       10, 11, 12, 13, 4,  3,  2,  1};
inline constexpr std::array<int, kRows> kRowStarts = {0,  1,  3,  6,  10,  23,  35,  46, 56,
                                                      65, 75, 86, 98, 111, 115, 118, 120};

// The occupied cells, as a set.
struct Instance {
  std::array<std::uint64_t, 2> words{};  // cell i is bit i % 64 of word i / 64.

  [[nodiscard]] bool contains(int cell) const {
    return ((words[static_cast<std::size_t>(cell) / 64] >> (cell % 64)) & 1U) != 0;
  }
  void add(int cell) {
    words[static_cast<std::size_t>(cell) / 64] |= std::uint64_t{1} << (cell % 64);
  }
  [[nodiscard]] int size() const { return std::popcount(words[0]) + std::popcount(words[1]); }
  bool operator==(const Instance&) const = default;
};
inline constexpr std::uint64_t kLastWordCells = (std::uint64_t{1} << (kCells - 64)) - 1;

// Number of distinct moves; at most 930 if it is right.
struct Answer {
  std::uint32_t moves = 0;
};

// wire.cc. The decoders throw InvalidWire; an instance is validated. The encoders replace `out`.
Instance decode_instance(std::string_view bytes);
void encode_instance(const Instance& instance, std::string& out);
Answer decode_answer(std::string_view bytes);
void encode_answer(const Answer& answer, std::string& out);

// validator.cc: what breaks the rules, if anything.
std::optional<std::string> defect_of(const Instance& instance);

// checker.cc
CheckResult check(std::string_view instance, std::string_view claimed, std::string_view right);

// solver.cc and brute_force.cc. REQUIRES: a valid instance.
Answer solve_bitboard(const Instance& instance);
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

}  // namespace puzzled::chinese_checkers
