#include "workers/puzzles/bishops/bishops.h"

namespace puzzled::bishops {
namespace {

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
  key.add(it.n);
  key.add(it.k);
}

}  // namespace

const Puzzle& puzzle() {
  static const Puzzle puzzle = {
      .name = "bishops",
      .title = "count the ways to place k bishops that do not attack each other",
      .source = "UVa 861 and 10237",
      .limits = "1 <= n <= 1000, 0 <= k <= n*n",
      .solvers = {{"staircase", "1", "rook numbers of the two colours' staircases, exact",
                   solve_staircase},
                  {"brute-force", "1", "places the bishops square by square, n <= 6",
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

}  // namespace puzzled::bishops
