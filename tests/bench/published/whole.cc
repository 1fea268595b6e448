// A published program that reads one text and writes another, as a library: duel, shuttle.
#define main published_main
#include PUBLISHED
#undef main

// Whoever calls this has given it its standard input and output.
extern "C" void published_run() { published_main(); }
