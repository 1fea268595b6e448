// A puzzle's text parsers: the input is read as a test file and as an answer file.
#include "tests/fuzz/puzzle.h"

namespace puzzled {
namespace {

using fuzz::puzzle;

// A round trip of many large cases would only be slow.
constexpr std::size_t kRoundTripCasesMax = 100;
constexpr std::size_t kRoundTripBytesMax = 1U << 20U;

// "LINE:COLUMN: message".
bool is_located_line(std::string_view text) {
  return fuzz::is_plain_line(text) && text.front() >= '1' && text.front() <= '9';
}

void check_defects(const InstanceReader& reader, std::string_view text) {
  std::size_t line = 1;
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  for (const Defect& defect : reader.defects()) {
    ASSERT(fuzz::is_plain_line(defect.message) && is_located_line(describe(defect)));
    ASSERT(defect.at.line >= line && defect.at.line <= lines && defect.at.column > 0);
    line = defect.at.line;
  }
}

// The instances in the contest's format are the same instances.
void round_trip(const std::vector<std::string>& instances) {
  const auto text = fuzz::unless_invalid([&] { return puzzle().format_instances(instances); });
  ASSERT(text && fuzz::is_plain_text(*text));
  const auto reader = puzzle().read_instances(*text);
  ParsedCase parsed;
  for (const std::string& instance : instances) {
    ASSERT(reader->next(parsed) && parsed.instance == instance);
  }
  ASSERT(!reader->next(parsed) && reader->defects().empty() && !reader->dropped_rest());
}

void read_instances(std::string_view text) {
  const auto reader = puzzle().read_instances(text);
  std::vector<std::string> instances;
  std::size_t bytes = 0;
  std::size_t cases = 0;
  ParsedCase parsed;
  for (; reader->next(parsed); ++cases) {
    if (!parsed.invalid.empty()) {
      ASSERT(parsed.instance.empty() && is_located_line(parsed.invalid));
      ASSERT(!reader->defects().empty());
      continue;
    }
    ASSERT(!puzzle().validate(parsed.instance));
    bytes += parsed.instance.size();
    if (instances.size() < kRoundTripCasesMax) instances.push_back(parsed.instance);
  }
  ASSERT(!reader->next(parsed));
  ASSERT(!reader->dropped_rest() || !reader->defects().empty());
  check_defects(*reader, text);
  if (!reader->defects().empty() || instances.size() != cases || bytes > kRoundTripBytesMax) return;
  if (fuzz::unless_invalid([&] { return puzzle().format_instances(instances); })) {
    round_trip(instances);
  }
}

// What was read as a claim can be shown, and is read again from the contest's format.
void check_claim(const std::string& answer) {
  ASSERT(fuzz::summary_of(answer));
  const auto text = fuzz::formatted(answer);
  ASSERT(text && fuzz::is_plain_text(*text));
  const auto reader = puzzle().read_claims(*text);
  ParsedClaim again;
  reader->next(again);
  ASSERT(again.unreadable.empty() && again.answer == answer && !reader->finish());
}

void read_claims(std::string_view text) {
  constexpr int kCases = 8;
  const auto reader = puzzle().read_claims(text);
  ParsedClaim claim;
  for (int i = 0; i < kCases; ++i) {
    reader->next(claim);
    if (claim.unreadable.empty()) {
      check_claim(claim.answer);
    } else {
      ASSERT(claim.answer.empty() && is_located_line(claim.unreadable));
    }
  }
  if (const auto defect = reader->finish()) ASSERT(is_located_line(describe(*defect)));
  if (const auto defect = puzzle().read_claims(text)->finish()) {
    ASSERT(is_located_line(describe(*defect)));
  }
}

}  // namespace
}  // namespace puzzled

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = puzzled::fuzz::input(data, size);
  puzzled::read_instances(text);
  puzzled::read_claims(text);
  return 0;
}
