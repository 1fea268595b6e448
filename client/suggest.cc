#include "client/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "client/failure.h"
#include "workers/puzzles/registry.h"

namespace puzzled::client {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Insertions, deletions and replacements between the two (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string joined(const std::vector<std::string_view>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

[[noreturn]] void throw_unknown(std::string_view kind, std::string_view name,
                                const std::vector<std::string_view>& known) {
  const std::string similar = did_you_mean(name, known);
  throw Failure(kExitInvalid, fmt::format("there is no {} \"{}\"", kind, name),
                similar.empty() ? "known: " + joined(known) : similar);
}

}  // namespace

std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& names) {
  constexpr std::size_t kComparedBytesMax = 100;
  const std::string wanted = lower(text.substr(0, kComparedBytesMax));
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  for (const std::string_view name : names) {
    const std::string candidate = lower(name);
    const bool begins = wanted.size() >= 2 && candidate.starts_with(wanted);
    const std::size_t distance = begins ? 1 : edit_distance(wanted, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return best.empty() ? "" : fmt::format("did you mean \"{}\"?", best);
}

const Puzzle& require_puzzle(std::string_view name) {
  if (const Puzzle* puzzle = find_puzzle(name)) return *puzzle;
  std::vector<std::string_view> known;
  for (const Puzzle* puzzle : all_puzzles()) known.push_back(puzzle->name);
  throw_unknown("puzzle", name, known);
}

const Solver& require_solver(const Puzzle& puzzle, std::string_view name) {
  if (name.empty()) return puzzle.solvers.front();
  if (const Solver* solver = find_solver(puzzle, name)) return *solver;
  std::vector<std::string_view> known;
  for (const Solver& solver : puzzle.solvers) known.push_back(solver.name);
  throw_unknown(fmt::format("solver of {}", puzzle.name), name, known);
}

Verdict require_verdict(std::string_view name) {
  if (const auto verdict = parse_verdict(name)) return *verdict;
  std::vector<std::string_view> known(kVerdictShortNames.begin() + 1, kVerdictShortNames.end());
  const std::string similar = [&] {
    std::vector<std::string_view> both = known;
    both.insert(both.end(), kVerdictNames.begin() + 1, kVerdictNames.end());
    return did_you_mean(name, both);
  }();
  throw Failure(kExitInvalid, fmt::format("there is no verdict \"{}\"", name),
                similar.empty() ? "known: " + joined(known) : similar);
}

std::vector<Verdict> parse_verdicts(std::string_view list) {
  std::vector<Verdict> verdicts;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const Verdict verdict = require_verdict(list.substr(0, comma));
    if (std::ranges::find(verdicts, verdict) == verdicts.end()) verdicts.push_back(verdict);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  if (verdicts.empty()) throw Failure(kExitInvalid, "no verdict is named", "e.g. wa,tle");
  return verdicts;
}

}  // namespace puzzled::client
