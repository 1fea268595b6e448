// Oracle: reuse of answers. A known answer is of the same instance and version (Tables), of a job
// that wants it, and nobody who gave it may turn out to be wrong.
#include <algorithm>
#include <variant>

#include "tests/sim/oracle.h"

namespace puzzled::sim {

void Oracle::recover_answers() {
  answers_.clear();
  const Tables& tables = disk_.committed();
  for (const auto& [key, row] : tables.answers) {
    if (row.proof == 0 && row.id <= tables.answers_forgotten) continue;
    answers_[row.source] = {.stretch = row.proof > 0 ? static_cast<std::uint64_t>(row.proof) : 0,
                            .is_proven = row.proof < 0};
  }
}

void Oracle::check_answers(const Event& event, const Effects& effects) {
  for (const Record& record : effects.records) {
    if (const auto* results = std::get_if<record::InsertResults>(&record)) {
      note_answers(*results);
    } else if (const auto* forgotten = std::get_if<record::ForgetStretch>(&record)) {
      for (auto it = answers_.begin(); it != answers_.end();) {
        if (it->second.stretch != forgotten->stretch) {
          ++it;
        } else if (forgotten->proven) {
          it->second = {.stretch = 0, .is_proven = true};
          ++it;
        } else {
          it = answers_.erase(it);
        }
      }
    } else if (const auto* revised = std::get_if<record::ReviseResults>(&record)) {
      std::erase_if(answers_,
                    [&](const auto& one) { return one.second.stretch == revised->stretch; });
    } else if (std::holds_alternative<record::BarWorker>(record)) {
      std::erase_if(answers_, [](const auto& one) {
        return one.second.stretch == 0 && !one.second.is_proven;
      });
    } else if (const auto* cached = std::get_if<record::InsertCached>(&record)) {
      require(std::holds_alternative<event::ChunkLoaded>(event), 0,
              [] { return "a case gets a known answer that nobody has looked up"; });
      check_cached(*cached);
    }
  }
}

void Oracle::note_answers(const record::InsertResults& r) {
  if (!r.keeps_answers) return;
  const JobRow& job = *disk_.submitted().find(r.job);
  require(!job.spec->no_cache, 0,
          [] { return "answers are kept of a job that is not to be reused"; });
  for (const record::ResultRow& row : r.rows) {
    if (r.results.results.at(row.index).key.empty()) continue;
    const ChunkRow& chunk = job.chunks.at(row.chunk_no);
    const std::uint64_t index = row.case_no.value - chunk.first_case.value;
    answers_[source_of(r.job, chunk.results.at(index).size() + 1, row.case_no)] = {
        .stretch = r.stretch, .is_proven = false};
  }
}

void Oracle::check_cached(const record::InsertCached& r) {
  const JobSpec& spec = *disk_.submitted().find(r.job)->spec;
  require(!spec.no_cache, 0, [] { return "a case gets a known answer, and its job wants none"; });
  require(spec.solver_version.empty() || spec.solver_version == r.solver_version, 0,
          [] { return "a case gets the answer of a version that its job does not take"; });
  const bool is_watched = lane_has_canaries(lane_of(spec));
  for (const KnownAnswer& known : r.answers) {
    const CaseKey key{r.job, CaseNo{r.first_case.value + known.index}};
    const auto it = answers_.find(known.source);
    require(
        it != answers_.end() && it->second.stretch == 0 && (it->second.is_proven || !is_watched), 0,
        [&] { return name(key) + " gets an answer that may be taken back"; });
    const auto current = current_.find(key);
    if (current == current_.end()) continue;
    const LeaseFacts& lease = leases_.at(current->second);
    const auto at = std::ranges::find(lease.cases, key) - lease.cases.begin();
    require(lease.may_end || lease.overdue || !lease.open[static_cast<std::size_t>(at)], 1,
            [&] { return name(key) + " gets a known answer while a worker has it"; });
  }
}

}  // namespace puzzled::sim
