// The whole program but main(): so that tests run it as it is, with their own streams.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace puzzled::client {

// Parses, runs, reports; returns the exit code. Never throws.
int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
        bool out_terminal, bool err_terminal);

}  // namespace puzzled::client
