#include "workers/puzzles/bishops/rook_numbers.h"

#include <algorithm>

#include "proto/base/assert.h"

namespace puzzled::bishops {
namespace {

// Rows sorted by length, row i (from 1) of length r: a rook on it, with j - 1 rooks above, has
// r - (j - 1) free columns, because shorter rows lie within longer ones. Hence
// t[i][j] = t[i-1][j] + t[i-1][j-1] * (r - j + 1).
RookNumbers staircase(const std::vector<std::uint32_t>& lengths) {
  RookNumbers t(lengths.size() + 1);
  t[0] = 1;
  for (std::size_t i = 1; i <= lengths.size(); ++i) {
    for (std::size_t j = std::min<std::size_t>(i, lengths[i - 1]); j >= 1; --j) {
      mpz_addmul_ui(t[j].get_mpz_t(), t[j - 1].get_mpz_t(), lengths[i - 1] - j + 1);
    }
  }
  // The longest rows leave no column free for the last rooks.
  while (t.back() == 0) t.pop_back();
  return t;
}

std::vector<std::uint32_t> diagonal_lengths(std::uint32_t n, std::uint32_t shortest) {
  std::vector<std::uint32_t> lengths;
  for (std::uint32_t length = shortest; length <= n; length += 2) {
    lengths.push_back(length);
    if (length < n) lengths.push_back(length);  // only the main diagonal has no twin.
  }
  return lengths;
}

mpz_class sum(const RookNumbers& numbers) {
  mpz_class total;
  for (const mpz_class& number : numbers) total += number;
  return total;
}

// The polynomial's value at 2^(64 * stride): every coefficient in a slot of `stride` limbs.
std::vector<mp_limb_t> pack(const RookNumbers& numbers, std::size_t stride) {
  std::vector<mp_limb_t> packed(numbers.size() * stride);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const mpz_srcptr number = numbers[i].get_mpz_t();
    std::copy_n(mpz_limbs_read(number), mpz_size(number), packed.begin() + i * stride);
  }
  return packed;
}

}  // namespace

Colours rook_numbers(std::uint32_t n) {
  return {staircase(diagonal_lengths(n, 1)), staircase(diagonal_lengths(n, 2))};
}

mpz_class placements(const Colours& colours, std::uint32_t k) {
  const auto& [corner, other] = colours;
  mpz_class total;
  const std::size_t first = k < other.size() ? 0 : k - (other.size() - 1);
  for (std::size_t i = first; i < corner.size() && i <= k; ++i) {
    mpz_addmul(total.get_mpz_t(), corner[i].get_mpz_t(), other[k - i].get_mpz_t());
  }
  return total;
}

std::vector<mpz_class> all_placements(const Colours& colours) {
  const auto& [corner, other] = colours;
  // No coefficient of the product exceeds the product of the sums, so slots do not overlap.
  const mpz_class bound = sum(corner) * sum(other);
  const std::size_t stride = mpz_size(bound.get_mpz_t());
  const std::vector<mp_limb_t> a = pack(corner, stride);
  const std::vector<mp_limb_t> b = pack(other, stride);
  std::vector<mp_limb_t> product(a.size() + b.size());
  // Both colours hold n - 1 bishops (but for n = 1, where only the corner's has a square).
  ASSERT(a.size() >= b.size());
  mpn_mul(product.data(), a.data(), static_cast<mp_size_t>(a.size()), b.data(),
          static_cast<mp_size_t>(b.size()));
  std::vector<mpz_class> all(corner.size() + other.size() - 1);
  for (std::size_t k = 0; k < all.size(); ++k) {
    mpz_import(all[k].get_mpz_t(), stride, -1, sizeof(mp_limb_t), 0, 0,
               product.data() + k * stride);
  }
  return all;
}

}  // namespace puzzled::bishops
