#include "workers/puzzles/duel/duel.h"

namespace puzzled::duel {
namespace {

void run_sweep(std::string_view instance, std::string& answer) {
  encode_answer(solve_sweep(decode_instance(instance)), answer);
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
  key.add(it.values.size());
  for (const std::uint64_t value : it.values) key.add(value);
}

}  // namespace

const Puzzle& puzzle() {
  static const Puzzle puzzle = {
      .name = "duel",
      .title = "the outcome of a game of two tokens on a line",
      .source = "THUPC 2026 final, Luogu P16531, Codeforces 2215D",
      .limits = "1 <= T <= 1000000, 2 <= n <= 1000000, 0 <= value <= 10^12",
      .solvers = {{"sweep", "1", "one pass over 58 local states a cell, O(n)", run_sweep},
                  {"brute-force", "1", "searches all positions, n <= 20", run_brute_force}},
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

}  // namespace puzzled::duel
