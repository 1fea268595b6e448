// The program puzzle-worker as a function, so that another program can be the same with another
// registry of puzzles.
#pragma once

namespace puzzled::host {

// Returns the exit code. Runs as a solver process if the arguments say so.
int worker_main(int argc, char** argv);

}  // namespace puzzled::host
