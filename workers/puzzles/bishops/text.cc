#include <fmt/format.h>

#include <algorithm>

#include "workers/puzzles/bishops/bishops.h"
#include "workers/puzzles/claims.h"
#include "workers/puzzles/instance_reader.h"

namespace puzzled::bishops {
namespace {

constexpr std::string_view kSideExpected = "n in 1..1000 or the terminator 0 0";
constexpr std::string_view kLineEnd = "the end of the line after n and k";

// Lines "n k" up to "0 0". What is wrong with a line concerns that line only.
class Reader : public InstanceReaderBase {
 public:
  using InstanceReaderBase::InstanceReaderBase;

 private:
  bool read_one(std::string& instance) override {
    if (in().at_end()) in().token(kSideExpected);  // throws: the file is cut off.
    const std::size_t known = in().defects().size();
    Instance read;
    try {
      read = read_line();
    } catch (const ParseError& error) {
      in().add_defect(error.defect().at, error.defect().message);
    }
    if (in().defects().size() != known) {
      in().skip_line();
      return true;
    }
    if (read.n == 0) {
      in().expect_end("the end of the file after the terminator 0 0");
      return false;
    }
    encode_instance(read, instance);
    return true;
  }

  // n = 0 and k = 0 for the terminator. Meaningless if it has added a defect.
  Instance read_line() {
    const auto n = in().read_number(0, kSideMax, kSideExpected);
    if (in().at_line_end()) in().fail(in().position(), "found the end of the line, expected k");
    const auto k = read_bishops(n);
    if (!in().at_line_end()) {
      in().token(kLineEnd);
      in().fail_found(kLineEnd);
    }
    return {static_cast<std::uint32_t>(n.value_or(0)), static_cast<std::uint32_t>(k.value_or(0))};
  }

  std::optional<std::int64_t> read_bishops(std::optional<std::int64_t> n) {
    if (n == 0) return in().read_number(0, 0, "0 after 0 as the terminator, or n in 1..1000");
    const std::int64_t side = n.value_or(kSideMax);
    return in().read_int(0, side * side, "k");
  }
};

class Claims : public LineClaims {
 public:
  using LineClaims::LineClaims;

 private:
  void read_value(TextReader& in, std::string& answer) override {
    const std::string_view token = in.token("a count");
    const bool digits = std::ranges::all_of(token, [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || (token.front() == '0' && token.size() > 1) || token.size() > kCountDigitsMax) {
      in.fail_found(fmt::format("a count >= 0 of at most {} digits", kCountDigitsMax));
    }
    encode_answer(count_from_decimal(token), answer);
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
  append_decimal(decode_answer(answer), out);
  out += '\n';
}

std::string format_instances(const std::vector<std::string>& instances) {
  std::string out;
  for (const std::string& bytes : instances) {
    const auto [n, k] = decode_instance(bytes);
    fmt::format_to(std::back_inserter(out), "{} {}\n", n, k);
  }
  return out + "0 0\n";
}

std::string draw(std::string_view instance) {
  constexpr std::uint32_t kDrawnMax = 16;
  const auto [n, k] = decode_instance(instance);
  std::string out = fmt::format("{} bishop{} on {} x {} squares\n", k, k == 1 ? "" : "s", n, n);
  // A larger board shows its corner: it is all squares and no pieces.
  const std::uint32_t drawn = std::min(n, kDrawnMax);
  for (std::uint32_t row = 0; row < drawn; ++row) {
    for (std::uint32_t column = 0; column < drawn; ++column) {
      if (column > 0) out += ' ';
      out += (row + column) % 2 == 0 ? '.' : '#';
    }
    out += drawn < n ? " ...\n" : "\n";
  }
  if (drawn < n) out += "...\n";
  return out;
}

std::string summarize(std::string_view answer) {
  constexpr std::size_t kWholeMax = 40;
  std::string digits;
  append_decimal(decode_answer(answer), digits);
  if (digits.size() <= kWholeMax) return digits;
  return fmt::format("{}...{} ({} digits)", digits.substr(0, 20), digits.substr(digits.size() - 10),
                     digits.size());
}

}  // namespace puzzled::bishops
