// All chance of a run comes from one generator, so that the seed alone decides it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

namespace puzzled::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t bits() { return engine_(); }
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  std::int64_t from_to(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  // Every power of two of low..high is as likely as the others: for times that differ by orders of
  // magnitude. REQUIRES: low > 0.
  std::int64_t scale_from_to(std::int64_t low, std::int64_t high) {
    int doublings = 0;
    while ((low << (doublings + 1)) <= high) ++doublings;
    const std::int64_t base = low << from_to(0, doublings);
    return std::min(high, from_to(base, 2 * base - 1));
  }
  template <class Number>  // the same for options, whatever their type
  void draw(Number& into, std::int64_t low, std::int64_t high) {
    into = static_cast<Number>(low > 0 ? scale_from_to(low, high) : from_to(low, high));
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  bool percent(std::uint64_t chance) { return below(100) < chance; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace puzzled::sim
