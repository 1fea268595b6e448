#include "daemon/store/check_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace puzzled {
namespace {

constexpr std::uint64_t kAttemptsPerStep = 1'000;

Finding finding(std::uint64_t job, std::uint64_t case_no, std::string text) {
  return {.rule = Rule::kResults,
          .job = {job},
          .chunk = {},
          .case_no = {case_no},
          .text = std::move(text)};
}

}  // namespace

RowChecker::RowChecker(sqlite::Connection& c)
    : attempts_(c,
                "SELECT a.rowid, a.job, a.case_no, a.attempt, j.case_count, w.start_id = "
                "a.start_id FROM attempts a LEFT JOIN jobs j ON j.job = a.job LEFT JOIN workers w "
                "ON w.worker = a.worker WHERE a.rowid > ? ORDER BY a.rowid LIMIT ?"),
      next_stretch_(c, "SELECT min(stretch) FROM unproven WHERE stretch > ?"),
      runs_(c,
            "SELECT u.job, u.first_case, u.case_count, w.worker IS NOT NULL AND c.id IS NOT NULL "
            "AND u.first_case >= c.first_case AND u.case_count > 0 AND "
            "u.first_case + u.case_count <= c.first_case + c.case_count FROM unproven u "
            "LEFT JOIN workers w ON w.worker = u.worker "
            "LEFT JOIN chunks c ON c.id = u.job << 32 | u.chunk_no WHERE u.stretch = ?") {}

bool RowChecker::check_attempts(std::uint64_t& last, std::vector<Finding>& findings) {
  const sqlite::ResetAtEnd reset(attempts_);
  attempts_.bind(last, kAttemptsPerStep);
  std::uint64_t seen = 0;
  for (; attempts_.step(); ++seen) {
    last = attempts_.number(0);
    const std::uint64_t case_no = attempts_.number(2);
    const char* what = nullptr;
    if (attempts_.null(4) || case_no == 0 || case_no > attempts_.number(4)) {
      what = "case";
    } else if (attempts_.integer(5) == 0) {
      what = "worker";
    }
    if (what == nullptr) continue;
    findings.push_back(finding(attempts_.number(1), case_no,
                               fmt::format("attempt {} is noted for a {} that there never was",
                                           attempts_.integer(3), what)));
  }
  return seen == kAttemptsPerStep;
}

bool RowChecker::check_unproven(std::uint64_t& last, std::vector<Finding>& findings) {
  {
    const sqlite::ResetAtEnd reset(next_stretch_);
    next_stretch_.bind(std::min<std::uint64_t>(last, std::numeric_limits<std::int64_t>::max()));
    if (!next_stretch_.step() || next_stretch_.null(0)) return false;
    last = next_stretch_.number(0);
  }
  const sqlite::ResetAtEnd reset(runs_);
  runs_.bind(last);
  while (runs_.step()) {
    if (runs_.integer(3) != 0) continue;
    findings.push_back(
        finding(runs_.number(0), runs_.number(1),
                fmt::format("{} unproven results are noted that no worker stored, or of no case",
                            runs_.integer(2))));
  }
  return true;
}

}  // namespace puzzled
