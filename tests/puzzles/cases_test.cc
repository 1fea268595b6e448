// The handed case files: valid ones byte for byte, invalid ones refused at the right place.
#include <map>

#include "tests/puzzles/support.h"

namespace puzzled::test {
namespace {

using std::filesystem::path;

class HandedCases : public EveryPuzzle {};
INSTANTIATE_TEST_SUITE_P(Cases, HandedCases, testing::ValuesIn(all_puzzles()), puzzle_test_name);

void expect_solved(const Puzzle& puzzle, const path& file) {
  const std::string text = read_file(file);
  const std::string expected = read_file(path(file).replace_extension(".ans"));
  const ReadFile read = read_all(puzzle, text);
  ASSERT_TRUE(read.defects.empty()) << describe(read.defects.front());
  const auto claims = puzzle.read_claims(expected);
  std::string answers;
  ParsedClaim claim;
  for (const ParsedCase& one : read.cases) {
    const std::string answer = solve(puzzle, one.instance);
    puzzle.format_answer(answer, answers);
    claims->next(claim);
    ASSERT_EQ(claim.unreadable, "");
    ASSERT_TRUE(puzzle.check(one.instance, claim.answer, answer).accepted);
  }
  ASSERT_FALSE(claims->finish().has_value());
  ASSERT_TRUE(answers == expected) << "the answers are not byte for byte those of the .ans file";
}

TEST_P(HandedCases, SolvesTheHandedFilesByteForByte) {
  const auto files = instance_files(cases_dir() / puzzle().name);
  ASSERT_FALSE(files.empty());
  for (const path& file : files) {
    SCOPED_TRACE(file);
    expect_solved(puzzle(), file);
  }
}

// "LINE" or "LINE:COLUMN" of the first defect by file name; "-" if the index does not say.
using Places = std::map<std::string, std::string>;

// Lines of "name TAB line TAB what".
Places places_of_index(const path& index) {
  Places places;
  std::ifstream in(index);
  for (std::string name, line, rest;
       std::getline(in, name, '\t') && std::getline(in, line, '\t') && std::getline(in, rest);) {
    places[name] = line;
  }
  return places;
}

// Where no index was handed.
const std::map<std::string, Places, std::less<>> kPlaces = {
    {"bishops",
     {{"empty_file", "1:1"},
      {"k_missing_on_last_line", "2:2"},
      {"k_negative", "1:3"},
      {"k_over_n_squared", "1:3"},
      {"k_over_n_squared_n1_k2", "1:3"},
      {"letters_for_k", "1:3"},
      {"letters_for_n", "1:1"},
      {"missing_terminator", "3:1"},
      {"n_decimal", "1:1"},
      {"n_negative", "1:1"},
      {"n_overflow_64bit", "1:1"},
      {"n_zero_k_positive", "1:3"},
      {"terminator_one_zero_only", "2:2"},
      {"three_numbers_on_line", "1:5"}}},
    {"duel",
     {{"empty_file", "1:1"},
      {"n_decimal", "2:1"},
      {"n_declared_1e12", "2:1"},
      {"n_missing_after_t", "2:1"},
      {"n_negative", "2:1"},
      {"n_one", "2:1"},
      {"n_zero", "2:1"},
      {"t_larger_than_cases", "4:1"},
      {"t_letters", "1:1"},
      {"t_negative", "1:1"},
      {"t_smaller_extra_case", "4:1"},
      {"t_zero", "1:1"},
      {"value_decimal", "3:3"},
      {"value_letters", "3:3"},
      {"value_negative", "3:3"},
      {"value_overflow_30_digits", "3:3"},
      {"values_too_few", "4:1"},
      {"values_too_many_n_values_given", "3:5"}}},
    {"shuttle",
     {{"empty_file", "1:1"},
      {"extra_line_second_number", "2:1"},
      {"extra_token_same_line", "1:3"},
      {"n_decimal", "1:1"},
      {"n_exponent", "1:1"},
      {"n_hex", "1:1"},
      {"n_letters", "1:1"},
      {"n_negative", "1:1"},
      {"n_nul_byte", "1:1"},
      {"n_overflow_64bit", "1:1"},
      {"n_trailing_letter", "1:1"},
      {"n_zero", "1:1"},
      {"whitespace_only", "3:1"}}},
};

TEST_P(HandedCases, RefusesTheHandedInvalidFilesAtTheirPlace) {
  const path folder = cases_dir() / puzzle().name / "invalid";
  Places places = places_of_index(folder / "INDEX.tsv");
  if (const auto ours = kPlaces.find(puzzle().name); ours != kPlaces.end()) places = ours->second;
  const auto files = instance_files(folder);
  ASSERT_FALSE(files.empty());
  for (const path& file : files) {
    SCOPED_TRACE(file);
    const ReadFile read = read_all(puzzle(), read_file(file));
    ASSERT_FALSE(read.defects.empty());
    const Defect& first = read.defects.front();
    EXPECT_TRUE(first.message.starts_with("found ")) << first.message;
    EXPECT_NE(first.message.find(", expected "), std::string::npos) << first.message;
    const auto place = places.find(file.stem());
    ASSERT_NE(place, places.end()) << "the place of this defect is not listed";
    if (place->second == "-") continue;
    const std::string line = std::to_string(first.at.line);
    const std::string exact = line + ":" + std::to_string(first.at.column);
    EXPECT_EQ(place->second.find(':') == std::string::npos ? line : exact, place->second)
        << first.message;
  }
}

// All that the sources leave open is accepted, but for the byte order mark.
TEST(AmbiguousCases, AreAcceptedButForTheByteOrderMark) {
  const Puzzle* draughts = find_puzzle("draughts");
  ASSERT_NE(draughts, nullptr);
  const auto files = instance_files(cases_dir() / "draughts" / "ambiguous");
  ASSERT_EQ(files.size(), 7U);
  for (const path& file : files) {
    SCOPED_TRACE(file);
    if (file.stem() != "utf8-bom") {
      expect_solved(*draughts, file);
      continue;
    }
    const ReadFile read = read_all(*draughts, read_file(file));
    ASSERT_FALSE(read.defects.empty());
    EXPECT_EQ(read.defects.front().at.line, 1U);
    EXPECT_EQ(read.defects.front().at.column, 1U);
  }
}

}  // namespace
}  // namespace puzzled::test
