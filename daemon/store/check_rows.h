// The part of a check that looks at what is noted beside the results: attempts, what no good canary
// has proven, and the answers that can be found again.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/broker/finding.h"
#include "daemon/store/sqlite.h"

namespace puzzled {

class RowChecker {
 public:
  explicit RowChecker(sqlite::Connection& connection);

  // The next rows after `last`, which moves on. False: those were all.
  bool check_attempts(std::uint64_t& last, std::vector<Finding>& findings);
  // The next stretch after `last`: what a worker stored between two canaries. As above.
  bool check_unproven(std::uint64_t& last, std::vector<Finding>& findings);
  // The next answers after `last`. As above.
  bool check_answers(std::uint64_t& last, std::vector<Finding>& findings);

 private:
  sqlite::Statement attempts_;
  sqlite::Statement next_stretch_;
  sqlite::Statement runs_;
  sqlite::Statement answers_;
};

}  // namespace puzzled
