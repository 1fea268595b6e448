// Places the bishops one after the other, in the order of the squares, and counts.
#include <vector>

#include "workers/puzzles/bishops/bishops.h"

namespace puzzled::bishops {
namespace {

class Board {
 public:
  explicit Board(std::uint32_t n) : n_(n), rising_(2 * n - 1), falling_(2 * n - 1) {}

  // Ways to place `bishops` more on squares from `first` on.
  std::uint64_t count(std::uint32_t bishops, std::uint32_t first) {
    if (bishops == 0) return 1;
    std::uint64_t ways = 0;
    for (std::uint32_t square = first; square < n_ * n_; ++square) {
      const std::uint32_t rising = square / n_ + square % n_;
      const std::uint32_t falling = square / n_ + (n_ - 1) - square % n_;
      if (rising_[rising] || falling_[falling]) continue;
      rising_[rising] = falling_[falling] = true;
      ways += count(bishops - 1, square + 1);
      rising_[rising] = falling_[falling] = false;
    }
    return ways;
  }

 private:
  std::uint32_t n_;
  std::vector<bool> rising_;  // diagonals that have a bishop.
  std::vector<bool> falling_;
};

}  // namespace

void solve_brute_force(std::string_view instance, std::string& answer) {
  const auto [n, k] = decode_instance(instance);
  const std::uint64_t ways = Board(n).count(k, 0);
  encode_answer(count_from_decimal(std::to_string(ways)), answer);
}

}  // namespace puzzled::bishops
