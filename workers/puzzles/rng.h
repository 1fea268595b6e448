// A small random generator whose sequence is the same on every platform and in every release:
// seeds printed by tests must replay (std distributions are not portable).
#pragma once

#include <cstdint>

namespace puzzled {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  // Uniform in [low, high], both included. REQUIRES: low <= high.
  std::int64_t uniform(std::int64_t low, std::int64_t high) {
    const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    const std::uint64_t draw = span == 0 ? next() : next() % span;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + draw);
  }
  // True with probability numerator / denominator.
  bool chance(std::int64_t numerator, std::int64_t denominator) {
    return uniform(1, denominator) <= numerator;
  }

 private:
  std::uint64_t state_;
};

}  // namespace puzzled
