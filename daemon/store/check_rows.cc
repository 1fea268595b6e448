#include "daemon/store/check_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "daemon/store/keys.h"

namespace puzzled {
namespace {

constexpr std::uint64_t kAttemptsPerStep = 1'000;
constexpr std::uint64_t kAnswersPerStep = 1'000;

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
            "LEFT JOIN chunks c ON c.id = u.job << 32 | u.chunk_no WHERE u.stretch = ?"),
      answers_(c,
               "SELECT a.id, a.result, length(a.key) = 16 AND a.proof >= -1, "
               "r.answer IS NOT NULL AND r.solver_version = a.solver_version AND r.cached = 0, "
               "a.proof <= 0 OR EXISTS (SELECT 1 FROM unproven u WHERE u.stretch = a.proof) "
               "FROM answers a LEFT JOIN results r ON r.id = a.result WHERE a.id > ? "
               "ORDER BY a.id LIMIT ?") {}

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

bool RowChecker::check_answers(std::uint64_t& last, std::vector<Finding>& findings) {
  const sqlite::ResetAtEnd reset(answers_);
  answers_.bind(std::min<std::uint64_t>(last, std::numeric_limits<std::int64_t>::max()),
                kAnswersPerStep);
  std::uint64_t seen = 0;
  for (; answers_.step(); ++seen) {
    last = answers_.number(0);
    const char* wrong = nullptr;
    if (answers_.integer(2) == 0) {
      wrong = "its key or its proof cannot be one";
    } else if (answers_.integer(3) == 0) {
      wrong = "its result is missing, has no answer, is a copy, or is of another solver version";
    } else if (answers_.integer(4) == 0) {
      wrong = "it waits for a canary, and its result does not";
    }
    if (wrong == nullptr) continue;
    const std::uint64_t result = answers_.number(1);
    findings.push_back(finding(result >> 39U, keys::number(answers_.integer(1)),
                               fmt::format("answer {} can be found again, but {}", last, wrong)));
  }
  return seen == kAnswersPerStep;
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
