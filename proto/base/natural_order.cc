#include "proto/base/natural_order.h"

#include <algorithm>

namespace puzzled {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int compare_digits(std::string_view a, std::string_view b) {
  const auto significant = [](std::string_view digits) {
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
  };
  const std::string_view x = significant(a);
  const std::string_view y = significant(b);
  if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
  return x.compare(y);
}

std::string_view leading_digits(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  return text.substr(0, n);
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  const auto rank = [](char c) {
    return c == '/' ? 0 : static_cast<int>(static_cast<unsigned char>(c)) + 1;
  };
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view x = leading_digits(a);
      const std::string_view y = leading_digits(b);
      if (const int order = compare_digits(x, y); order != 0) return order < 0;
      a.remove_prefix(x.size());
      b.remove_prefix(y.size());
      continue;
    }
    if (a.front() != b.front()) return rank(a.front()) < rank(b.front());
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // equal but for leading zeros.
}

}  // namespace puzzled
