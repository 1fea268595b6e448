#include "workers/host/worker_main.h"

int main(int argc, char** argv) { return puzzled::host::worker_main(argc, argv); }
