#include "workers/puzzles/shuttle/shuttle.h"

#include "proto/puzzles/shuttle.pb.h"
#include "tests/puzzles/support.h"

namespace puzzled::test {
namespace {

using shuttle::Moves;

std::string wire(std::uint32_t n) {
  std::string bytes;
  shuttle::encode_instance({n}, bytes);
  return bytes;
}

Moves direct(std::uint32_t n) {
  std::string answer;
  shuttle::solve_direct(wire(n), answer);
  return shuttle::decode_answer(answer);
}

std::string message(std::uint32_t n, const Moves& claimed) {
  std::string answer;
  shuttle::encode_answer(claimed, answer);
  std::string right;
  shuttle::encode_answer(direct(n), right);
  const CheckResult result = shuttle::check(wire(n), answer, right);
  EXPECT_EQ(result.accepted, result.message.empty());
  return result.message;
}

// Plays the moves by the statement alone; false at the first that is illegal.
bool swaps(std::uint32_t n, const Moves& moves) {
  std::string board = std::string(n, 'W') + ' ' + std::string(n, 'B');
  const std::string goal(board.rbegin(), board.rend());
  std::size_t hole = n;
  for (const std::uint32_t move : moves) {
    const std::size_t from = move - 1;
    if (from >= board.size() || from == hole) return false;
    const std::size_t distance = std::max(from, hole) - std::min(from, hole);
    if (distance > 2) return false;
    if (distance == 2 && board[(from + hole) / 2] == board[from]) return false;
    std::swap(board[from], board[hole]);
    hole = from;
  }
  return board == goal;
}

// No solution is shorter than (n+1)^2 - 1: each of n^2 pairs of one white and one black marble
// passes by a jump, a jump moves a marble by two, and 2n(n+1) cells are to go in all.
TEST(Shuttle, IsLegalAndMinimal) {
  for (std::uint32_t n = 1; n <= 60; ++n) {
    const Moves moves = direct(n);
    EXPECT_EQ(moves.size(), (n + 1) * (n + 1) - 1) << n;
    EXPECT_EQ(moves.front(), n);
    EXPECT_TRUE(swaps(n, moves)) << n;
  }
  EXPECT_TRUE(swaps(1000, direct(1000)));
}

TEST(Shuttle, AgreesWithTheSearchAsFarAsThatGoes) {
  for (std::uint32_t n = 1; n <= 7; ++n) {
    std::string slow;
    shuttle::solve_brute_force(wire(n), slow);
    EXPECT_EQ(direct(n), shuttle::decode_answer(slow)) << n;
  }
}

TEST(Shuttle, CheckerSaysWhatIsWrong) {
  EXPECT_EQ(message(1, {1, 3, 2}), "");
  EXPECT_EQ(message(1, {3, 1, 2}),
            "the moves are not the lexicographically smallest: move 1: found 3, expected 1");
  EXPECT_EQ(message(1, {1, 3}), "the marbles are not swapped after 2 moves");
  EXPECT_EQ(message(1, {1, 4}), "move 2 is illegal: nothing at 4 can move into the hole at 1");
  EXPECT_EQ(message(2, {1}), "move 1 is illegal: nothing at 1 can move into the hole at 3");
  EXPECT_EQ(message(1, {1, 2, 1, 3, 2}), "found 5 moves, expected the fewest, 3");
  EXPECT_EQ(message(1, {}), "the marbles are not swapped after 0 moves");
}

TEST(Shuttle, ClaimsAreReadWhateverTheirLayout) {
  const auto claim_of = [](std::string_view text) {
    ParsedClaim claim;
    shuttle::puzzle().read_claims(text)->next(claim);
    return claim.unreadable.empty() ? shuttle::decode_answer(claim.answer) : Moves{};
  };
  EXPECT_EQ(claim_of("1 3 2\n"), (Moves{1, 3, 2}));
  EXPECT_EQ(claim_of("\r\n1\n\n3\t2"), (Moves{1, 3, 2}));
  for (const char* text : {"", "1 x 2", "1 0 2", "1 2002", "01"}) {
    EXPECT_EQ(claim_of(text), Moves{}) << text;
  }
}

// The wire form is written by hand; the message is what it must be.
TEST(Shuttle, AnswersAreThoseOfTheMessage) {
  for (const std::uint32_t n : {1U, 2U, 10U, 64U, 65U, 150U, 1000U}) {
    shuttle::proto::Answer message;
    for (const std::uint32_t move : direct(n)) message.add_moves(move);
    std::string answer;
    shuttle::solve_direct(wire(n), answer);
    EXPECT_EQ(answer, message.SerializeAsString()) << n;
  }
  // What encode_answer() does not write, protobuf may still send.
  using namespace std::string_literals;
  EXPECT_EQ(shuttle::decode_answer("\x08\x01\x08\x03\x08\x02"s), (Moves{1, 3, 2}));
  EXPECT_EQ(shuttle::decode_answer("\x0a\x01\x01\x0a\x02\x83\x00"s), (Moves{1, 3}));
  EXPECT_EQ(shuttle::decode_answer(""), Moves{});
  for (const std::string& bytes :
       {"\x0a\x01\x00"s, "\x0a\x02\xd2\x0f"s, "\x0a\x02\x01"s, "\x0a\x01\x81"s, "\x0a"s}) {
    EXPECT_THROW(shuttle::decode_answer(bytes), InvalidWire);
  }
}

TEST(Shuttle, OneCaseAFile) {
  EXPECT_THROW(shuttle::format_instances({}), InvalidWire);
  EXPECT_THROW(shuttle::format_instances({wire(1), wire(2)}), InvalidWire);
  EXPECT_EQ(shuttle::format_instances({wire(12)}), "12\n");
}

}  // namespace
}  // namespace puzzled::test
