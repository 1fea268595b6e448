// Makes a library of the published chinese-checkers program, which run.sh --published finds as
// PUBLISHED. Only its search is called, so that reading and printing are not compared.
#define main published_main
#include PUBLISHED
#undef main

// `occupied`: 121 bytes, by row and column. The number of distinct moves.
extern "C" long published_solve(const unsigned char* occupied, unsigned long) {
  static const bool built = (build_board(), true);
  long moves = built ? 0 : -1;
  for (int cell = 0; cell < 121; ++cell) occ[cell + 1] = occupied[cell] != 0;
  for (int cell = 1; cell <= 121; ++cell) {
    if (!occupied[cell - 1]) continue;
    occ[cell] = false;
    moves += bfs_count(cell) - 1;
    occ[cell] = true;
  }
  return moves;
}
