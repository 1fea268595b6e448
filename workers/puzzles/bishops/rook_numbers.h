// The mathematics of the staircase solver: rook numbers of the two colours, and their product.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <vector>

namespace puzzled::bishops {

// r[j] = ways to place j rooks that do not attack each other.
using RookNumbers = std::vector<mpz_class>;

// The squares of one colour, turned by 45 degrees, are a board for rooks whose row lengths are
// the lengths of the diagonals: 1,1,3,3,5,5,… for the colour of the corner, 2,2,4,4,… for the
// other. Returned in this order.
struct Colours {
  RookNumbers corner;
  RookNumbers other;
};
Colours rook_numbers(std::uint32_t n);

// Coefficient k of the product of the two polynomials: the ways to place k bishops.
mpz_class placements(const Colours& colours, std::uint32_t k);

// All coefficients at once, by one multiplication of integers.
std::vector<mpz_class> all_placements(const Colours& colours);

}  // namespace puzzled::bishops
