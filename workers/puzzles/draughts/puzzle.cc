#include "workers/puzzles/draughts/draughts.h"

namespace puzzled::draughts {
namespace {

// Solves into an answer of this thread that keeps its memory.
void run(void (*solve)(const Instance&, Answer&), std::string_view instance, std::string& answer) {
  thread_local Answer solved;
  solve(decode_instance(instance), solved);
  encode_answer(solved, answer);
}

void run_rays(std::string_view instance, std::string& answer) { run(solve_rays, instance, answer); }

void run_brute_force(std::string_view instance, std::string& answer) {
  run(solve_brute_force, instance, answer);
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
  key.add({reinterpret_cast<const char*>(it.squares.data()), it.squares.size()});
}

}  // namespace

const Puzzle& puzzle() {
  static const Puzzle puzzle = {
      .name = "draughts",
      .title = "list the legal operations of the side to move",
      .source = "NOIP mock contest, international draughts",
      .limits = "10 x 10 squares, any pieces, one board a file",
      .solvers = {{"rays", "1", "captures by bit scans along the diagonals", run_rays},
                  {"brute-force", "1", "plays every operation out on a plain board",
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

}  // namespace puzzled::draughts
