// Keys of answers: equal instances have one however they are written, all others have their own.
#include "workers/puzzles/key.h"

#include <map>
#include <set>

#include "tests/puzzles/support.h"

namespace puzzled {
namespace {

AnswerKey key_of(const Puzzle& puzzle, std::string_view instance,
                 std::string_view solver = "some") {
  return answer_key(puzzle, solver, instance);
}

std::string instance_of(const std::string& puzzle, const std::string& text) {
  const test::ReadFile file = test::read_all(*find_puzzle(puzzle), text);
  EXPECT_EQ(file.cases.size(), 1U) << text;
  return file.cases.empty() ? std::string() : file.cases[0].instance;
}

TEST(AnswerKeys, AreThoseOfEarlierReleases) {
  // Others would find nothing of what is stored. BLAKE2b of: 4 "duel", 4 "some", 2, 7, 300.
  KeyHash hash;
  hash.add("duel");
  hash.add("some");
  hash.add(2);
  hash.add(7);
  hash.add(300);
  const std::string instance = instance_of("duel", "1\n4\n7 300\n");
  EXPECT_EQ(key_of(*find_puzzle("duel"), instance), hash.finish());
  std::string hex;
  for (const char c : key_of(*find_puzzle("duel"), instance)) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned char>(c) / 16];
    hex += kDigits[static_cast<unsigned char>(c) % 16];
  }
  EXPECT_EQ(hex, "160859b94ae79d46781bc286957b38b4");
}

TEST(AnswerKeys, DoNotDependOnHowTheInstanceIsWritten) {
  const auto same = [](const std::string& puzzle, const std::string& a, const std::string& b) {
    EXPECT_EQ(key_of(*find_puzzle(puzzle), instance_of(puzzle, a)),
              key_of(*find_puzzle(puzzle), instance_of(puzzle, b)))
        << puzzle << ": " << a << " and " << b;
  };
  same("duel", "1\n4\n7 8\n", "1 \n 4\n\n7   8 ");
  same("bishops", "8 6\n0 0\n", "  8   6\n\n0 0\n");
}

// The checkers of a file come in any order.
TEST(AnswerKeys, DoNotDependOnAnOrderThatMeansNothing) {
  const Puzzle& puzzle = *find_puzzle("chinese-checkers");
  Rng rng(1);
  const std::string instance = puzzle.generate(rng, 20);
  const std::string text = puzzle.format_instances({instance});
  const test::ReadFile file = test::read_all(puzzle, text);
  ASSERT_EQ(file.cases.size(), 1U);
  EXPECT_EQ(key_of(puzzle, file.cases[0].instance), key_of(puzzle, instance));
}

// Fields in another order, numbers of more bytes than they need: other bytes, the same instance.
TEST(AnswerKeys, DoNotDependOnTheSerialisedForm) {
  const std::string plain("\x08\x08\x10\x06", 4);            // n = 8, k = 6
  const std::string reordered("\x10\x06\x08\x08", 4);        // k, n
  const std::string padded("\x08\x88\x00\x10\x06", 5);       // n in two bytes
  const std::string unknown("\x08\x08\x10\x06\x78\x01", 6);  // a field that nobody knows
  const Puzzle& puzzle = *find_puzzle("bishops");
  for (const std::string& other : {reordered, padded, unknown}) {
    EXPECT_EQ(key_of(puzzle, other), key_of(puzzle, plain));
  }
}

TEST(AnswerKeys, AreOfThePuzzleAndTheSolver) {
  const std::string instance("\x08\x03", 2);  // n = 3 of shuttle, and of bishops
  std::set<AnswerKey> keys;
  for (const char* puzzle : {"shuttle", "bishops"}) {
    for (const char* solver : {"direct", "brute-force"}) {
      keys.insert(key_of(*find_puzzle(puzzle), instance, solver));
    }
  }
  EXPECT_EQ(keys.size(), 4U);
}

TEST(AnswerKeys, OfDifferentInstancesAreDifferent) {
  Rng rng(test::announced_seed());
  for (const Puzzle* puzzle : all_puzzles()) {
    std::map<AnswerKey, std::string> seen;
    for (int i = 0; i < 2'000; ++i) {
      const std::string instance = puzzle->generate(rng, i % 101);
      const auto [at, is_new] = seen.try_emplace(key_of(*puzzle, instance), instance);
      EXPECT_EQ(puzzle->draw(at->second), puzzle->draw(instance)) << puzzle->name;
    }
  }
}

// Nothing of one field can pass for the beginning of the next.
TEST(AnswerKeys, TellFieldsApart) {
  const Puzzle& duel = *find_puzzle("duel");
  std::set<AnswerKey> keys;
  for (const char* text : {"1\n4\n1 23\n", "1\n4\n12 3\n", "1\n3\n123\n", "1\n5\n1 2 3\n",
                           "1\n5\n0 0 123\n", "1\n4\n0 123\n"}) {
    keys.insert(key_of(duel, instance_of("duel", text)));
  }
  EXPECT_EQ(keys.size(), 6U);
}

TEST(AnswerKeys, ABadInstanceHasNone) {
  EXPECT_THROW(answer_key(*find_puzzle("bishops"), "some", "\xff"), InvalidWire);
  // n = 0 breaks the rules.
  EXPECT_THROW(answer_key(*find_puzzle("bishops"), "some", ""), InvalidWire);
}

TEST(AnswerKeys, OfLargeInstancesAreHashedInPieces) {
  const auto key_with = [](std::uint64_t last) {
    KeyHash hash;
    for (std::uint64_t i = 0; i < 5'000; ++i) hash.add(i * i * i);
    hash.add(std::string(2'000, 'x'));
    hash.add(last);
    return hash.finish();
  };
  EXPECT_EQ(key_with(1), key_with(1));
  EXPECT_NE(key_with(1), key_with(2));
}

}  // namespace
}  // namespace puzzled
