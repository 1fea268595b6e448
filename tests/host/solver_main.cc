// A test program whose slots start it again as a solver process.
#include <gtest/gtest.h>

#include "workers/host/solver_child.h"

int main(int argc, char** argv) {
  if (const auto code = puzzled::host::run_as_solver_child(argc, argv)) return *code;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
