#include <unistd.h>

#include <iostream>

#include "client/file_text.h"
#include "client/interrupt.h"
#include "client/run.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  puzzled::client::install_interrupt_handler();
  puzzled::client::install_map_fault_handler();
  return puzzled::client::run(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr,
                              ::isatty(STDOUT_FILENO) == 1, ::isatty(STDERR_FILENO) == 1);
}
