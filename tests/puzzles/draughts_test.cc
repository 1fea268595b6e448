#include "workers/puzzles/draughts/draughts.h"

#include <initializer_list>

#include "tests/puzzles/support.h"

namespace puzzled::test {
namespace {

using draughts::Answer;
using draughts::Instance;
using draughts::kSide;
using draughts::Piece;

struct Put {
  Piece piece;
  int row;     // from 1
  int column;  // from 1
};
constexpr Piece kMan = Piece::kMan;
constexpr Piece kKing = Piece::kKing;
constexpr Piece kEnemy = Piece::kEnemyMan;

Instance board_of(std::initializer_list<Put> puts) {
  Instance board;
  for (const Put& put : puts) {
    board.squares[static_cast<std::size_t>((put.row - 1) * kSide + put.column - 1)] = put.piece;
  }
  return board;
}

std::string wire(const Instance& board) {
  std::string bytes;
  draughts::encode_instance(board, bytes);
  return bytes;
}

// The answer in the contest's format, on which both solvers must agree.
std::string operations(const Instance& board) {
  Answer fast;
  Answer slow;
  solve_rays(board, fast);
  solve_brute_force(board, slow);
  EXPECT_EQ(fast.origins, slow.origins) << draughts::draw(wire(board));
  std::string bytes;
  std::string text;
  draughts::encode_answer(fast, bytes);
  draughts::format_answer(bytes, text);
  return text;
}
std::size_t count(const Instance& board) {
  const std::string text = operations(board);
  return std::stoul(text);
}

ReadFile read(std::string_view text) { return read_all(draughts::puzzle(), text); }

TEST(Draughts, AManStepsForwardsOnly) {
  EXPECT_EQ(operations(board_of({{kMan, 5, 5}})), "2\n(5,5)\n(5,5)\n");
  EXPECT_EQ(operations(board_of({{kMan, 5, 1}})), "1\n(5,1)\n");
  EXPECT_EQ(operations(board_of({{kMan, 1, 5}})), "0\n");
  EXPECT_EQ(operations(board_of({})), "0\n");
}

TEST(Draughts, OnlyTheMostCapturesAreLegal) {
  // (9,1) captures two, (9,9) one.
  EXPECT_EQ(operations(board_of(
                {{kMan, 9, 1}, {kEnemy, 8, 2}, {kEnemy, 6, 4}, {kMan, 9, 9}, {kEnemy, 8, 8}})),
            "1\n(9,1)\n");
}

TEST(Draughts, AKingFliesOverOneEnemyAndNothingElse) {
  // Over an own man.
  EXPECT_EQ(count(board_of({{kKing, 7, 4}, {kMan, 8, 3}, {kEnemy, 9, 2}})), 1U);
  // Over a nearer enemy: quiet moves only.
  EXPECT_EQ(count(board_of({{kKing, 6, 1}, {kEnemy, 4, 3}, {kEnemy, 3, 4}})), 5U);
  // Over an enemy that it has captured before.
  EXPECT_EQ(count(board_of({{kKing, 8, 3}, {kEnemy, 7, 4}, {kEnemy, 9, 2}})), 7U);
}

TEST(Draughts, TheOriginIsVacated) {
  EXPECT_EQ(count(board_of(
                {{kKing, 8, 2}, {kEnemy, 7, 3}, {kEnemy, 9, 3}, {kEnemy, 7, 5}, {kEnemy, 9, 5}})),
            4U);
  // A man that jumps around four enemies ends where it began, either way round.
  EXPECT_EQ(count(board_of(
                {{kMan, 9, 5}, {kEnemy, 8, 4}, {kEnemy, 6, 4}, {kEnemy, 6, 6}, {kEnemy, 8, 6}})),
            2U);
}

TEST(Draughts, EnemyKingsAreJustEnemies) {
  const Put man = {kMan, 9, 1};
  EXPECT_EQ(operations(board_of({man, {Piece::kEnemyKing, 8, 2}})),
            operations(board_of({man, {kEnemy, 8, 2}})));
}

// The largest that are known of one king and of one man.
TEST(Draughts, LargeAnswers) {
  for (const char* name : {"s35-large-one-king-3060", "s36-men-160"}) {
    const auto file = cases_dir() / "draughts" / (std::string(name) + ".in");
    const Instance board = draughts::decode_instance(read(read_file(file)).cases.at(0).instance);
    EXPECT_EQ(count(board), std::string_view(name).ends_with("3060") ? 3060U : 160U);
  }
}

std::string rows(int count, std::string_view row = "0000000000") {
  std::string text;
  for (int i = 0; i < count; ++i) text.append(row) += '\n';
  return text;
}

TEST(DraughtsText, AcceptsBlanksBlankLinesAndCrlf) {
  const std::string plain =
      read(rows(9) + "0010020000\n" + rows(9) + "0010000000\n").cases.at(0).instance;
  EXPECT_EQ(plain, wire(board_of({{kKing, 10, 3}, {kEnemy, 10, 6}})));
  for (const std::string& text :
       {rows(9) + "0 0 1 0 0 2 0 0 0 0\n\n" + rows(9) + "\t0010000000 \n\n",
        rows(9, "0000000000\r") + "0010020000\r\n" + rows(9, "0000000000\r") + "0010000000",
        rows(9) + "0010020000\n" + rows(9) + "0010000001\n"}) {  // a flag of no piece
    const ReadFile file = read(text);
    ASSERT_TRUE(file.defects.empty()) << describe(file.defects.front());
    EXPECT_EQ(file.cases.at(0).instance, plain) << text;
  }
}

TEST(DraughtsText, ReportsDefectsWithTheirPlace) {
  const auto defects_of = [](const std::string& text) {
    std::string lines;
    for (const Defect& defect : read(text).defects) lines += describe(defect) + "\n";
    return lines;
  };
  EXPECT_EQ(defects_of(""), "1:1: found the end of the file, expected row 1 of the pieces\n");
  EXPECT_EQ(defects_of(rows(12)), "13:1: found the end of the file, expected row 3 of the kings\n");
  EXPECT_EQ(defects_of("000000000\n"),
            "1:10: found the end of the line, expected 10 digits in row 1 of the pieces\n");
  EXPECT_EQ(defects_of("00000000000\n"),
            "1:11: found \"0\", expected the end of the line after ten digits\n");
  EXPECT_EQ(defects_of("000x"), "1:4: found \"x\", expected 0, 1 or 2\n");
  EXPECT_EQ(defects_of("\xef\xbb\xbf" + rows(20)), "1:1: found \"\\xef\", expected 0, 1 or 2\n");
  EXPECT_EQ(defects_of("3000000004\n" + rows(18) + "2000000000\n"),
            "1:1: found 3, expected 0, 1 or 2\n1:10: found 4, expected 0, 1 or 2\n"
            "20:1: found 2, expected 0 or 1\n");
  EXPECT_EQ(defects_of(rows(21)),
            "21:1: found \"0000000000\", expected the end of the file after 20 rows\n");
}

TEST(DraughtsText, AClaimIsTheWholeFile) {
  const auto unreadable = [](std::string_view text) {
    ParsedClaim claim;
    const auto claims = draughts::read_claims(text);
    claims->next(claim);
    EXPECT_FALSE(claims->finish().has_value());
    return claim.unreadable;
  };
  EXPECT_EQ(unreadable("2\n(6,7)\n(10,10)\n"), "");
  EXPECT_EQ(unreadable("2\r\n\n(6,7) \n\t(10,1)"), "");
  EXPECT_EQ(unreadable("0"), "");
  constexpr std::string_view kSquare = "expected (row,column) with row and column in 1..10";
  EXPECT_EQ(unreadable("2\n(6,7)\n"), "3:1: found the end of the file, " + std::string(kSquare));
  EXPECT_EQ(unreadable("1\n(6,7)\n(6,7)\n"),
            "3:1: found \"(6,7)\", expected the end of the file after 1 operations");
  EXPECT_EQ(unreadable("2\n(6,7) (6,7)\n"), "2:7: found \"(6,7)\", expected the end of the line");
  for (const std::string wrong : {"(0,1)", "(11,1)", "(1,11)", "(1,1", "1,1", "(01,1)", "(1,1)x"}) {
    EXPECT_EQ(unreadable("1\n" + wrong), "2:1: found \"" + wrong + "\", " + std::string(kSquare));
  }
  ParsedClaim second;
  const auto claims = draughts::read_claims("0\n");
  claims->next(second);
  claims->next(second);
  EXPECT_NE(second.unreadable, "");
  EXPECT_TRUE(draughts::read_claims("0\n")->finish().has_value());
}

TEST(Draughts, CheckerSaysWhatIsWrong) {
  const std::string board = wire(board_of({{kMan, 5, 5}, {kMan, 8, 1}}));
  const auto message = [&](const Answer& claimed) {
    std::string bytes;
    draughts::encode_answer(claimed, bytes);
    return draughts::check(board, bytes, solve(draughts::puzzle(), board)).message;
  };
  EXPECT_EQ(message({{44, 44, 70}}), "");
  EXPECT_EQ(message({{44, 70, 44}}), "operation 2: found (8,1), expected (5,5)");
  EXPECT_EQ(message({{44, 70}}), "found 2 operations, expected 3");
}

TEST(Draughts, RefusesWhatIsNoBoard) {
  EXPECT_EQ(draughts::defect_of("00"), "found 2 squares, expected 100");
  std::string squares(100, '\0');
  EXPECT_EQ(draughts::defect_of(squares), std::nullopt);
  squares[7] = 5;
  EXPECT_EQ(draughts::defect_of(squares), "found 5 on square 7, expected a piece in 0..4");
}

}  // namespace
}  // namespace puzzled::test
