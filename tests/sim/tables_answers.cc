// Tables: the answers that can be found again, as daemon/store/answer_table.cc keeps them.
#include "tests/sim/cases.h"
#include "tests/sim/sim.h"
#include "tests/sim/tables.h"

namespace puzzled::sim {
namespace {

constexpr std::int64_t kUnwatched = 0;
constexpr std::int64_t kProven = -1;
constexpr unsigned kJobShift = 40;
constexpr unsigned kGenerationShift = 32;

}  // namespace

std::int64_t source_of(JobId job, std::uint64_t generation, CaseNo case_no) {
  return static_cast<std::int64_t>(job.value << kJobShift | generation << kGenerationShift |
                                   case_no.value);
}

const StoredResult& Tables::result(std::int64_t source, std::string_view& bytes) const {
  const auto number = static_cast<std::uint64_t>(source);
  const CaseNo case_no{number & 0xffffffffU};
  const JobRow* job = find(JobId{number >> kJobShift});
  const ChunkRow* chunk = job == nullptr ? nullptr : job->chunk_of(case_no);
  require(chunk != nullptr, 8, [] { return "an answer is taken from no result"; });
  const auto index = static_cast<std::uint32_t>(case_no.value - chunk->first_case.value);
  bytes = case_bytes(*chunk->cases, index);
  return chunk->results[index].at((number >> kGenerationShift & 0xffU) - 1);
}

void Tables::keep(const record::InsertResults& r, const CaseResult& result, std::int64_t source) {
  if (!r.keeps_answers || result.key.empty() || !result.has_answer || result.cached) return;
  const std::pair key(std::string(result.key), r.solver_version);
  const auto it = answers.find(key);
  if (it != answers.end() &&
      (it->second.proof != kUnwatched || (r.stretch == 0 && it->second.id > answers_forgotten))) {
    return;
  }
  answers[key] = {
      .id = ++last_answer, .source = source, .proof = static_cast<std::int64_t>(r.stretch)};
}

void Tables::settle_answers(std::uint64_t stretch, bool proven) {
  const auto is_of = [&](const auto& entry) {
    return entry.second.proof == static_cast<std::int64_t>(stretch);
  };
  if (!proven) {
    std::erase_if(answers, is_of);
    return;
  }
  for (auto& entry : answers) {
    if (is_of(entry)) entry.second.proof = kProven;
  }
}

std::vector<KnownAnswer> Tables::known_answers(JobId job, ChunkNo chunk_no, const LookUp& look_up,
                                               bool trusting) const {
  std::vector<KnownAnswer> known;
  const ChunkRow& chunk = find(job)->chunks.at(chunk_no);
  if (chunk.keys.empty()) return known;
  for (std::uint32_t i = 0; i < chunk.done.size(); ++i) {
    const std::string_view bytes = case_bytes(*chunk.cases, i);
    if (chunk.done[i] || has_wrong_claim(bytes)) continue;
    const auto it = answers.find(
        {chunk.keys.substr(i * kAnswerKeyBytes, kAnswerKeyBytes), look_up.solver_version});
    if (it == answers.end()) continue;
    const AnswerRow& answer = it->second;
    const bool is_trusted =
        answer.proof == kProven ||
        (answer.proof == kUnwatched && !look_up.proven_only && answer.id > answers_forgotten);
    if (is_trusted || trusting) known.push_back({.index = i, .source = answer.source});
  }
  return known;
}

void Tables::add(const record::InsertCached& r) {
  JobRow& job = open_row(r.job);
  require(r.chunk_no < job.chunks.size(), 8, [] { return "a known answer is in no chunk"; });
  ChunkRow& chunk = job.chunks[r.chunk_no];
  require(!r.answers.empty() && chunk.first_case == r.first_case, 8,
          [] { return "known answers of another chunk"; });
  for (const KnownAnswer& known : r.answers) {
    const auto text = [&] {
      return "case " + std::to_string(r.first_case.value + known.index) + " of job " +
             std::to_string(r.job.value);
    };
    require(known.index < chunk.done.size() && !chunk.done[known.index], 8,
            [&] { return text() + " gets a second result, a known one"; });
    std::string_view source_bytes;
    const StoredResult source = result(known.source, source_bytes);
    const std::string_view bytes = case_bytes(*chunk.cases, known.index);
    require(instance_of(source_bytes) == instance_of(bytes), 8,
            [&] { return text() + " gets the answer of another instance"; });
    require(source.version == r.solver_version, 0,
            [&] { return text() + " gets the answer of another solver version"; });
    require(known.verdict == right_verdict(bytes), 8,
            [&] { return text() + " gets a verdict that nobody could know"; });
    chunk.done[known.index] = true;
    ++chunk.done_count;
    ++job.done_count;
    chunk.results[known.index].push_back({.worker = source.worker,
                                          .verdict = known.verdict,
                                          .answer = source.answer,
                                          .version = source.version});
  }
}

void Tables::recover_answers(Recovery& recovery) const {
  std::map<std::tuple<std::string, std::string, std::string>, JobId> versions;
  for (const auto& [id, job] : jobs) {
    for (const ChunkRow& chunk : job.chunks) {
      for (std::size_t i = 0; i < chunk.done.size(); ++i) {
        if (!chunk.done[i] || chunk.results[i].back().version.empty()) continue;
        versions[{job.spec->puzzle, job.spec->solver, chunk.results[i].back().version}] = id;
      }
    }
  }
  for (const auto& [of, last_job] : versions) {
    const auto& [puzzle, solver, version] = of;
    recovery.versions.push_back(
        {.puzzle = puzzle, .solver = solver, .version = version, .last_job = last_job});
  }
  recovery.has_answers = !answers.empty();
}

}  // namespace puzzled::sim
