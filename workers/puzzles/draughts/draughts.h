// Draughts: list the legal operations of the side to move. See README.md.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workers/puzzles/puzzle.h"

namespace puzzled::draughts {

inline constexpr int kSide = 10;
inline constexpr int kSquares = kSide * kSide;

enum class Piece : std::uint8_t { kEmpty = 0, kMan = 1, kEnemyMan = 2, kKing = 3, kEnemyKing = 4 };
constexpr bool is_own(Piece p) { return p == Piece::kMan || p == Piece::kKing; }
constexpr bool is_enemy(Piece p) { return p == Piece::kEnemyMan || p == Piece::kEnemyKing; }

// Squares by row from the top, then from the left. Own men move towards row 0.
struct Instance {
  std::array<Piece, kSquares> squares{};
};

// The square of the moving piece of each legal operation, in growing order.
struct Answer {
  std::vector<std::uint8_t> origins;
};

// wire.cc. The decoders throw InvalidWire; an instance is validated, and so is that the origins
// are squares. They and the encoders replace what they are given.
Instance decode_instance(std::string_view bytes);
void encode_instance(const Instance& instance, std::string& out);
void decode_answer(std::string_view bytes, Answer& answer);
void encode_answer(const Answer& answer, std::string& out);

// validator.cc. The only instances that can break the rules are those of bytes that are no pieces.
std::optional<std::string> defect_of(std::string_view squares);

// checker.cc
CheckResult check(std::string_view instance, std::string_view claimed, std::string_view right);

// solver.cc and brute_force.cc. They replace `answer`.
void solve_rays(const Instance& instance, Answer& answer);
void solve_brute_force(const Instance& instance, Answer& answer);

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

}  // namespace puzzled::draughts
