#include "workers/puzzles/chinese_checkers/chinese_checkers.h"

namespace puzzled::chinese_checkers {
namespace {

void run_bitboard(std::string_view instance, std::string& answer) {
  encode_answer(solve_bitboard(decode_instance(instance)), answer);
}

void run_brute_force(std::string_view instance, std::string& answer) {
  encode_answer(solve_brute_force(decode_instance(instance)), answer);
}

std::optional<std::string> validate(std::string_view instance) {
  try {
    decode_instance(instance);
  } catch (const InvalidWire& error) {
    return error.what();
  }
  return std::nullopt;
}

void add_to_key(std::string_view instance, KeyHash& key) {
  const Instance it = decode_instance(instance);
  for (const std::uint64_t word : it.words) key.add(word);
}

}  // namespace

const Puzzle& puzzle() {
  static const Puzzle puzzle = {
      .name = "chinese-checkers",
      .title = "count the distinct moves of a position",
      .source = "ICPC Asia EC Final 2022, Luogu P9723",
      .limits = "1 <= T <= 1000000, 1 <= n <= 121",
      .solvers = {{"bitboard", "1", "search over hops looked up in the bits of a line",
                   run_bitboard},
                  {"brute-force", "1", "plays every hop and keeps the boards in a set, any n",
                   run_brute_force}},
      .read_instances = read_instances,
      .read_claims = read_claims,
      .format_answer = format_answer,
      .format_instances = format_instances,
      .draw = draw,
      .summarize = summarize,
      .validate = validate,
      .check = check,
      .generate = generate,
      .add_to_key = add_to_key,
  };
  return puzzle;
}

}  // namespace puzzled::chinese_checkers
