#include <gmpxx.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "workers/puzzles/bishops/bishops.h"

namespace puzzled::bishops {
namespace {

constexpr std::size_t kWordBytes = 8;
constexpr std::size_t kWordDigits = 19;  // any number of 19 digits fits into 64 bits.

CountBytes from_word(std::uint64_t value) {
  CountBytes count;
  for (int shift = 56; shift >= 0; shift -= 8) {
    const auto byte = static_cast<char>((value >> shift) & 0xffU);
    if (byte != 0 || !count.empty()) count.push_back(byte);
  }
  return count;
}

}  // namespace

CountBytes count_from_decimal(std::string_view digits) {
  if (digits.size() <= kWordDigits) {
    std::uint64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return from_word(value);
  }
  const mpz_class value{std::string(digits), 10};
  if (value == 0) return {};
  CountBytes count((mpz_sizeinbase(value.get_mpz_t(), 2) + 7) / 8, '\0');
  mpz_export(count.data(), nullptr, 1, 1, 1, 0, value.get_mpz_t());
  return count;
}

void append_decimal(std::string_view count, std::string& out) {
  if (count.size() <= kWordBytes) {
    std::uint64_t value = 0;
    for (const char byte : count) value = value << 8U | static_cast<std::uint8_t>(byte);
    std::array<char, 20> digits;
    out.append(digits.data(), std::to_chars(digits.begin(), digits.end(), value).ptr);
    return;
  }
  mpz_class value;
  mpz_import(value.get_mpz_t(), count.size(), 1, 1, 1, 0, count.data());
  out += value.get_str();
}

}  // namespace puzzled::bishops
