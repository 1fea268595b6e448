// The published draughts program as a library. Only its search is called.
#define main published_main
#define map published_map
#include PUBLISHED
#undef map
#undef main

// `squares`: 100 bytes by row, 0 empty, 1 and 2 men, 3 and 4 kings, the odd ones own. The number of
// legal operations as the program counts them, which is not always right.
extern "C" long published_solve(const unsigned char* squares, unsigned long) {
  for (int i = 0; i < 100; ++i) {
    const int piece = squares[i];
    published_map[i / 10 + 1][i % 10 + 1] = piece == 0 ? 0 : (piece % 2 == 1 ? 1 : 2);
    King[i / 10 + 1][i % 10 + 1] = piece >= 3;
  }
  maxn = 0;
  cnt = 0;
  get_ans();
  return cnt;
}
