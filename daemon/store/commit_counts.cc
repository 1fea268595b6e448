#include "daemon/store/commit_counts.h"

#include <algorithm>
#include <variant>

namespace puzzled {

void CommitCounts::note(const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (const auto* results_of = std::get_if<record::InsertResults>(&record)) {
      for (const record::ResultRow& row : results_of->rows) {
        const CaseResult& result = results_of->results.results[row.index];
        ++results[static_cast<std::size_t>(result.verdict)];
        cached += result.cached ? 1 : 0;
      }
    } else if (const auto* known = std::get_if<record::InsertCached>(&record)) {
      for (const KnownAnswer& answer : known->answers) {
        ++results[static_cast<std::size_t>(answer.verdict)];
      }
      cached += known->answers.size();
    } else if (const auto* chunk = std::get_if<record::InsertChunk>(&record)) {
      cases += chunk->cases ? chunk->cases->count() : 0;
    } else if (std::holds_alternative<record::InsertJob>(record)) {
      ++jobs;
    } else if (std::holds_alternative<record::InsertAttempt>(record)) {
      ++attempts;
    }
  }
}

void CommitCounts::note_commit(std::chrono::microseconds took) {
  const auto* const bound = std::ranges::lower_bound(kCommitBounds, took);
  ++commits[static_cast<std::size_t>(bound - kCommitBounds.begin())];
  commit_time += took;
}

}  // namespace puzzled
