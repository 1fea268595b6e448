// What holds for every puzzle, through the registry alone.
#include "workers/puzzles/registry.h"

#include <fmt/format.h>

#include "tests/puzzles/support.h"

namespace puzzled::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Registry, EveryPuzzle, testing::ValuesIn(all_puzzles()), puzzle_test_name);

std::string random_bytes(Rng& rng, std::int64_t bytes_max) {
  std::string bytes(static_cast<std::size_t>(rng.uniform(0, bytes_max)), '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.uniform(0, 255));
  return bytes;
}

// Flips, drops or inserts a byte.
std::string mutated(Rng& rng, std::string bytes) {
  const auto at = static_cast<std::size_t>(rng.uniform(0, static_cast<std::int64_t>(bytes.size())));
  const auto byte = static_cast<char>(rng.uniform(0, 255));
  if (at == bytes.size() || rng.chance(1, 4)) {
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), byte);
  } else if (rng.chance(1, 3)) {
    bytes.erase(at, 1);
  } else {
    bytes[at] = byte;
  }
  return bytes;
}

std::string formatted(const Puzzle& puzzle, std::string_view answer) {
  std::string text;
  puzzle.format_answer(answer, text);
  return text;
}

std::string brute_force(const Puzzle& puzzle, std::string_view instance) {
  std::string answer;
  find_solver(puzzle, "brute-force")->solve(instance, answer);
  return answer;
}

// Cases that the puzzle's file format takes at once.
std::size_t cases_per_file(const Puzzle& puzzle) {
  Rng rng(1);
  const std::string instance = puzzle.generate(rng, 0);
  try {
    puzzle.format_instances({instance, instance});
    return 50;
  } catch (const InvalidWire&) {
    return 1;
  }
}

TEST(Registry, ListsTheFivePuzzlesInOrder) {
  std::vector<std::string_view> names;
  for (const Puzzle* puzzle : all_puzzles()) names.push_back(puzzle->name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"chinese-checkers", "shuttle", "duel", "draughts",
                                                  "bishops"}));
}

TEST_P(EveryPuzzle, IsFoundByNameWithItsSolvers) {
  EXPECT_EQ(find_puzzle(puzzle().name), &puzzle());
  EXPECT_EQ(find_puzzle("unknown"), nullptr);
  EXPECT_NE(find_solver(puzzle(), "brute-force"), nullptr);
  EXPECT_EQ(find_solver(puzzle(), puzzle().solvers.front().name), &puzzle().solvers.front());
  EXPECT_NE(puzzle().solvers.front().name, "brute-force");
  EXPECT_EQ(find_solver(puzzle(), "unknown"), nullptr);
  for (const std::string_view text : {puzzle().title, puzzle().source, puzzle().limits}) {
    EXPECT_FALSE(text.empty());
    EXPECT_TRUE(is_printable_line(text));
  }
}

TEST_P(EveryPuzzle, InstancesSurviveTheirText) {
  Rng rng(announced_seed());
  const std::size_t cases = cases_per_file(puzzle());
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> instances;
    for (std::size_t i = 0; i < cases; ++i) {
      instances.push_back(puzzle().generate(rng, static_cast<int>(rng.uniform(0, 100))));
      ASSERT_EQ(puzzle().validate(instances.back()), std::nullopt);
    }
    const std::string text = puzzle().format_instances(instances);
    const ReadFile file = read_all(puzzle(), text);
    ASSERT_TRUE(file.defects.empty()) << describe(file.defects.front()) << "\n" << text;
    ASSERT_FALSE(file.dropped_rest);
    ASSERT_EQ(file.cases.size(), cases);
    for (std::size_t i = 0; i < cases; ++i) {
      ASSERT_EQ(file.cases[i].instance, instances[i]) << text;
      ASSERT_EQ(file.cases[i].invalid, "");
    }
  }
}

// Whatever the text: no crash, an end, defects inside the text, and reasons for skipped cases.
TEST_P(EveryPuzzle, MutatedTextsAreReadOrRefused) {
  Rng rng(announced_seed());
  const std::size_t cases = cases_per_file(puzzle()) > 1 ? 5 : 1;
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::string> instances;
    for (std::size_t i = 0; i < cases; ++i) instances.push_back(puzzle().generate(rng, 20));
    std::string text = puzzle().format_instances(instances);
    for (auto mutations = rng.uniform(1, 4); mutations > 0; --mutations) text = mutated(rng, text);
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
    const ReadFile file = read_all(puzzle(), text);
    for (const Defect& defect : file.defects) {
      ASSERT_GE(defect.at.line, 1U);
      ASSERT_LE(defect.at.line, lines) << text;
      ASSERT_GE(defect.at.column, 1U);
      ASSERT_NE(defect.message.find("expected"), std::string::npos) << defect.message;
      ASSERT_TRUE(is_printable_line(defect.message)) << defect.message;
    }
    for (const ParsedCase& read : file.cases) {
      ASSERT_TRUE(read.invalid.empty() || read.instance.empty());
      if (read.invalid.empty()) {
        ASSERT_EQ(puzzle().validate(read.instance), std::nullopt) << text;
      }
    }
    if (file.dropped_rest) {
      ASSERT_FALSE(file.defects.empty());
    }
  }
}

// The main test: both solvers agree, the answer survives its text, the checker takes it and
// refuses every other.
TEST_P(EveryPuzzle, DefaultSolverAgreesWithBruteForce) {
  Rng rng(announced_seed());
  for (int round = 0; round < 10'000; ++round) {
    const std::string instance = puzzle().generate(rng, static_cast<int>(rng.uniform(0, 100)));
    const std::string answer = solve(puzzle(), instance);
    const std::string slow = brute_force(puzzle(), instance);
    ASSERT_EQ(formatted(puzzle(), answer), formatted(puzzle(), slow)) << puzzle().draw(instance);
    ASSERT_EQ(answer, slow) << "one answer has one serialised form";
    ASSERT_TRUE(puzzle().check(instance, answer, answer).accepted);
  }
}

TEST_P(EveryPuzzle, AnswersSurviveTheirText) {
  Rng rng(announced_seed());
  const std::size_t cases = cases_per_file(puzzle());
  for (int round = 0; round < 100; ++round) {
    std::vector<std::string> answers;
    std::string text;
    for (std::size_t i = 0; i < cases; ++i) {
      answers.push_back(solve(puzzle(), puzzle().generate(rng, 100)));
      puzzle().format_answer(answers.back(), text);
    }
    const auto claims = puzzle().read_claims(text);
    ParsedClaim claim;
    for (const std::string& answer : answers) {
      claims->next(claim);
      ASSERT_EQ(claim.unreadable, "") << text;
      ASSERT_EQ(claim.answer, answer);
    }
    ASSERT_FALSE(claims->finish().has_value());
  }
}

TEST_P(EveryPuzzle, CheckerRefusesMutatedAnswers) {
  Rng rng(announced_seed());
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::string instance = puzzle().generate(rng, static_cast<int>(rng.uniform(0, 100)));
    const std::string right = solve(puzzle(), instance);
    std::string claimed = mutated(rng, right);
    if (rng.chance(1, 2)) {  // in the text instead: one digit for another.
      std::string text = formatted(puzzle(), right);
      const auto last = static_cast<std::int64_t>(text.size()) - 1;
      char& digit = text[static_cast<std::size_t>(rng.uniform(0, last))];
      if (digit >= '0' && digit <= '9') digit = static_cast<char>(rng.uniform('0', '9'));
      ParsedClaim claim;
      puzzle().read_claims(text)->next(claim);
      if (!claim.unreadable.empty()) {
        EXPECT_TRUE(is_printable_line(claim.unreadable));
        continue;
      }
      claimed = claim.answer;
    }
    try {
      const CheckResult result = puzzle().check(instance, claimed, right);
      ASSERT_EQ(result.accepted, formatted(puzzle(), claimed) == formatted(puzzle(), right))
          << puzzle().draw(instance) << puzzle().summarize(claimed);
      if (result.accepted) continue;
      ++refused;
      ASSERT_FALSE(result.message.empty());
      ASSERT_LE(result.message.size(), 500U);
      ASSERT_TRUE(is_printable_line(result.message)) << result.message;
    } catch (const InvalidWire& error) {
      ASSERT_TRUE(is_printable_line(error.what()));
    }
  }
  EXPECT_GT(refused, 100);
}

// Runs `call`; true if it threw InvalidWire with a printable line.
template <class Call>
bool refuses(const Call& call) {
  try {
    call();
    return false;
  } catch (const InvalidWire& error) {
    EXPECT_FALSE(std::string_view(error.what()).empty());
    EXPECT_TRUE(is_printable_line(error.what())) << error.what();
    return true;
  }
}

TEST_P(EveryPuzzle, RefusesInstancesThatAreNone) {
  Rng rng(announced_seed());
  std::string answer;
  for (int round = 0; round < 10'000; ++round) {
    const std::string bytes =
        round % 2 == 0 ? random_bytes(rng, 40) : mutated(rng, puzzle().generate(rng, 20));
    const bool invalid = puzzle().validate(bytes).has_value();
    ASSERT_EQ(refuses([&] { puzzle().draw(bytes); }), invalid);
    ASSERT_EQ(refuses([&] { puzzle().format_instances({bytes}); }), invalid);
    if (!invalid) continue;  // it may be large.
    for (const Solver& solver : puzzle().solvers) {
      ASSERT_TRUE(refuses([&] { solver.solve(bytes, answer); })) << solver.name;
    }
  }
  ASSERT_TRUE(puzzle().validate(std::string(1, '\xff')).has_value());
}

TEST_P(EveryPuzzle, RefusesAnswersThatAreNone) {
  Rng rng(announced_seed());
  const std::string instance = puzzle().generate(rng, 50);
  const std::string right = solve(puzzle(), instance);
  for (int round = 0; round < 10'000; ++round) {
    const std::string bytes = round % 2 == 0
                                  ? random_bytes(rng, 40)
                                  : mutated(rng, solve(puzzle(), puzzle().generate(rng, 20)));
    const bool invalid = refuses([&] { formatted(puzzle(), bytes); });
    ASSERT_EQ(refuses([&] { puzzle().summarize(bytes); }), invalid);
    if (invalid) {
      ASSERT_TRUE(refuses([&] { puzzle().check(instance, bytes, right); }));
    }
  }
  ASSERT_TRUE(refuses([&] { formatted(puzzle(), std::string(1, '\xff')); }));
}

TEST_P(EveryPuzzle, ShowsInstancesAndAnswersToPeople) {
  Rng rng(announced_seed());
  for (int round = 0; round < 100; ++round) {
    const std::string instance = puzzle().generate(rng, 100);
    const std::string drawn = puzzle().draw(instance);
    ASSERT_TRUE(drawn.ends_with('\n'));
    for (const char c : drawn) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << drawn;
    const std::string summary = puzzle().summarize(solve(puzzle(), instance));
    ASSERT_TRUE(is_printable_line(summary) && !summary.empty() && summary.size() <= 60) << summary;
  }
}

TEST_P(EveryPuzzle, GeneratesTheSameFromOneSeed) {
  Rng first(7);
  Rng second(7);
  for (int size = 0; size <= 100; ++size) {
    ASSERT_EQ(puzzle().generate(first, size), puzzle().generate(second, size));
  }
}

}  // namespace
}  // namespace puzzled::test
