#include "workers/puzzles/shuttle/shuttle.h"

namespace puzzled::shuttle {
namespace {

std::optional<std::string> validate(std::string_view instance) {
  try {
    decode_instance(instance);
  } catch (const InvalidWire& error) {
    return error.what();
  }
  return std::nullopt;
}

void add_to_key(std::string_view instance, KeyHash& key) { key.add(decode_instance(instance).n); }

}  // namespace

const Puzzle& puzzle() {
  static const Puzzle puzzle = {
      .name = "shuttle",
      .title = "swap the white and the black marbles in the fewest moves",
      .source = "USACO 4.4.1",
      .limits = "1 <= N <= 1000, one case a file",
      .solvers = {{"direct", "1", "closed form, linear in the answer", solve_direct},
                  {"brute-force", "1", "breadth-first search from the goal, N <= 8",
                   solve_brute_force}},
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

}  // namespace puzzled::shuttle
