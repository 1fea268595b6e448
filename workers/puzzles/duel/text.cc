// The contest's text format, and the instance drawn for people.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "workers/puzzles/claims.h"
#include "workers/puzzles/counted_reader.h"
#include "workers/puzzles/duel/duel.h"

namespace puzzled::duel {
namespace {

class Reader final : public CountedReader {
 public:
  explicit Reader(std::string_view text) : CountedReader(text, kGamesMax) {}

 private:
  void read_case(std::string& instance) override {
    const std::int64_t n = read_size(kCellsMin, kCellsMax, "n");
    const bool keep = is_sound();
    values_.clear();  // and grown by what is there: n is only what the file says.
    for (std::int64_t cell = 3; cell <= n; ++cell) {
      const auto value = read_value(0, kValueMax, "value");
      if (keep) values_.push_back(static_cast<std::uint64_t>(value.value_or(0)));
    }
    if (is_sound()) encode_instance({values_}, instance);
  }

  std::vector<std::uint64_t> values_;
};

class Claims final : public LineClaims {
 public:
  using LineClaims::LineClaims;

 private:
  void read_value(TextReader& in, std::string& answer) override {
    constexpr std::int64_t kDifferenceMax = kCellsMax * kValueMax;
    encode_answer({in.require_int(-kDifferenceMax, kDifferenceMax, "difference")}, answer);
  }
};

}  // namespace

std::unique_ptr<InstanceReader> read_instances(std::string_view text) {
  return std::make_unique<Reader>(text);
}

std::unique_ptr<ClaimReader> read_claims(std::string_view text) {
  return std::make_unique<Claims>(text);
}

void format_answer(std::string_view answer, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}\n", decode_answer(answer).difference);
}

std::string format_instances(const std::vector<std::string>& instances) {
  if (instances.empty()) throw InvalidWire("found no game, expected at least one in a file");
  std::string out = fmt::format("{}\n", instances.size());
  for (const std::string& bytes : instances) {
    const Instance instance = decode_instance(bytes);
    fmt::format_to(std::back_inserter(out), "{}\n", instance.cells());
    if (instance.values.empty()) continue;
    fmt::format_to(std::back_inserter(out), "{}\n", fmt::join(instance.values, " "));
  }
  return out;
}

std::string draw(std::string_view bytes) {
  constexpr std::int64_t kCellsShown = 200;
  constexpr std::int64_t kCellsALine = 10;
  const Instance instance = decode_instance(bytes);
  const std::int64_t shown = std::min(instance.cells(), kCellsShown);
  std::string out = fmt::format("{} cells, (1) and (2) are the players' tokens", instance.cells());
  for (std::int64_t cell = 1; cell <= shown; ++cell) {
    if (cell % kCellsALine == 1) fmt::format_to(std::back_inserter(out), "\n{:7}:", cell);
    out += cell < 3 ? fmt::format(" ({})", cell) : fmt::format(" {}", instance.value(cell));
  }
  out += '\n';
  if (shown < instance.cells()) {
    fmt::format_to(std::back_inserter(out), "        and {} more\n", instance.cells() - shown);
  }
  return out;
}

std::string summarize(std::string_view answer) {
  return fmt::format("{}", decode_answer(answer).difference);
}

}  // namespace puzzled::duel
