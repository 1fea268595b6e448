#include "daemon/store/check_chunk.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "daemon/store/keys.h"
#include "proto/wire.h"

namespace puzzled {
namespace {

// Empty files at a chunk's end may have been named by it or by the next: that many are tried.
constexpr std::size_t kEmptyFilesTried = 64;
// Of one chunk, so that one defect does not drown the others.
constexpr std::size_t kFindingsPerChunk = 20;

struct NamedFile {
  std::string serialised;
  std::uint64_t first_case = 0;
  std::uint64_t case_count = 0;
};

std::string verdict_text(std::uint64_t verdict) {
  return is_verdict(verdict) ? std::string(verdict_name(static_cast<Verdict>(verdict)))
                             : fmt::format("number {}", verdict);
}

}  // namespace

ChunkChecker::ChunkChecker(sqlite::Connection& c)
    : chunk_(
          c,
          "SELECT first_case, case_count, hash, keyed, "
          "(SELECT length(keys) FROM chunk_keys k WHERE k.id = c.id) FROM chunks c WHERE id = ?"),
      cases_(c, "SELECT payload FROM chunk_cases WHERE id = ?"),
      files_(c, "SELECT path, first_case, case_count FROM files WHERE id >= ? AND id <= ?"),
      progress_(c, "SELECT done, present, verdicts, generations FROM progress WHERE id = ?"),
      // Answers and messages lie behind these columns: they are not read.
      results_(c,
               "SELECT id, verdict, worker, solver_version, cached FROM results "
               "WHERE id >= ? AND id < ? ORDER BY id"),
      worker_(c, "SELECT 1 FROM workers WHERE worker = ?"),
      version_(c, "SELECT 1 FROM solver_versions WHERE id = ?") {}

void ChunkChecker::report(Rule rule, std::string text, std::uint64_t case_no) {
  findings_->push_back({.rule = rule,
                        .job = job_,
                        .chunk = chunk_no_,
                        .case_no = {case_no},
                        .text = std::move(text)});
}

void ChunkChecker::check(JobCheck& at, std::uint64_t file_count, bool was_revised,
                         std::vector<Finding>& findings) {
  std::vector<Finding> found;
  findings_ = &found;
  job_ = at.job;
  chunk_no_ = static_cast<ChunkNo>(at.chunk_no);
  Chunk chunk;
  if (read_chunk(at, chunk)) {
    if (chunk.first_case != at.next_case) {
      report(Rule::kLedger, fmt::format("the chunk begins with case {}, the one before it ends "
                                        "with case {}",
                                        chunk.first_case, at.next_case - 1));
    }
    check_cases(at, chunk, file_count);
    check_results(at, chunk, check_progress(at, chunk), was_revised);
    at.next_case = chunk.end();
    at.digest = wire::fold_digest(at.digest, chunk.hash);
  }
  ++at.chunk_no;
  if (found.size() > kFindingsPerChunk) {
    const std::size_t more = found.size() - kFindingsPerChunk;
    found.resize(kFindingsPerChunk);
    found.back().text += fmt::format(" (and {} more of this chunk)", more);
  }
  std::ranges::move(found, std::back_inserter(findings));
}

bool ChunkChecker::read_chunk(const JobCheck& at, Chunk& chunk) {
  const sqlite::ResetAtEnd reset(chunk_);
  chunk_.bind(keys::chunk(at.job, at.chunk_no));
  if (!chunk_.step()) {
    report(Rule::kCases, "the chunk is missing");
    return false;
  }
  chunk = {
      .first_case = chunk_.number(0), .case_count = chunk_.number32(1), .hash = chunk_.number(2)};
  const std::uint64_t keys_bytes = chunk_.integer(3) != 0 ? kAnswerKeyBytes * chunk.case_count : 0;
  if (chunk_.number(4) != keys_bytes) {
    report(Rule::kCases, fmt::format("the chunk's keys have {} bytes, expected {}",
                                     chunk_.number(4), keys_bytes));
  }
  if (chunk.first_case == 0 || chunk.first_case > keys::kCaseMax ||
      chunk.case_count > keys::kCaseMax + 1 - chunk.first_case) {
    report(Rule::kLedger, fmt::format("the chunk begins with case {} and has {}, which cannot be",
                                      chunk.first_case, chunk.case_count));
    return false;
  }
  return true;
}

// The hash covers the cases and the files that the chunk named when it was sent.
void ChunkChecker::check_cases(JobCheck& at, const Chunk& chunk, std::uint64_t file_count) {
  std::vector<std::string> named;
  std::size_t sure = 0;  // of them; those behind may belong to the next chunk
  {
    const sqlite::ResetAtEnd reset(files_);
    files_.bind(keys::file(at.job, at.next_file), keys::file(at.job, file_count));
    while (named.size() < sure + kEmptyFilesTried && files_.step()) {
      const std::uint64_t first = files_.number(1);
      const std::uint64_t count = files_.number(2);
      if (first > chunk.end() || (first == chunk.end() && count > 0)) break;
      if (first != at.file_cases + 1) {
        report(Rule::kFiles, fmt::format("file {} begins with case {}, the one before it ends with "
                                         "case {}",
                                         at.next_file + named.size(), first, at.file_cases));
      }
      at.file_cases = first - 1 + count;
      named.push_back(wire::serialised_file(files_.bytes(0), first, count));
      if (first < chunk.end()) sure = named.size();
    }
  }
  const sqlite::ResetAtEnd reset(cases_);
  cases_.bind(keys::chunk(at.job, at.chunk_no));
  if (!cases_.step()) {
    at.next_file += sure;
    return report(Rule::kCases, "the chunk's cases are missing");
  }
  const std::string_view payload = cases_.bytes(0);
  const auto offsets = wire::split_cases(payload);
  if (!offsets || offsets->size() != chunk.case_count + std::size_t{1}) {
    report(Rule::kCases, fmt::format("the chunk's cases cannot be read back: found {}, expected {}",
                                     offsets ? std::to_string(offsets->size() - 1) : "no list",
                                     chunk.case_count));
  }
  for (std::size_t count = sure; count <= named.size(); ++count) {
    if (wire::chunk_hash(payload, {named.begin(), named.begin() + static_cast<long>(count)}) ==
        chunk.hash) {
      at.next_file += count;
      return;
    }
  }
  at.next_file += sure;
  report(Rule::kCases,
         "the chunk's cases or file names are not those that were submitted: its "
         "hash differs");
}

ChunkChecker::Noted ChunkChecker::check_progress(JobCheck& at, const Chunk& chunk) {
  const sqlite::ResetAtEnd reset(progress_);
  progress_.bind(keys::progress(at.job, at.chunk_no));
  Noted noted;
  if (!progress_.step()) return noted;
  noted.verdicts = progress_.string(2);
  noted.generations = progress_.string(3);
  if (noted.verdicts.size() != chunk.case_count ||
      (!noted.generations.empty() && noted.generations.size() != chunk.case_count)) {
    report(Rule::kLedger,
           fmt::format("the verdicts of {} cases and the generations of {} are noted, the chunk "
                       "has {}",
                       noted.verdicts.size(), noted.generations.size(), chunk.case_count));
    return {};
  }
  std::uint64_t done = 0;
  std::uint32_t present = 0;
  for (const char byte : noted.verdicts) {
    const auto verdict = static_cast<std::uint8_t>(byte);
    done += verdict != 0 ? 1 : 0;
    present |= 1U << (verdict % 32U);
    if (is_verdict(verdict)) ++at.verdicts[verdict];
  }
  if (done != progress_.number(0) || present != progress_.number32(1)) {
    report(Rule::kLedger,
           fmt::format("{} cases are noted as done (verdict set {:#x}), counted are {} ({:#x})",
                       progress_.number(0), progress_.number32(1), done, present));
  }
  for (std::size_t i = 0; i < noted.generations.size(); ++i) {
    const std::uint64_t generation = static_cast<std::uint8_t>(noted.generations[i]);
    if (generation < keys::kFirstGeneration || generation > keys::kGenerationMax) {
      report(Rule::kLedger, fmt::format("the case is noted in generation {}", generation),
             chunk.first_case + i);
      noted.generations.clear();
      return noted;
    }
    at.revised += generation - keys::kFirstGeneration;
    noted.newest = std::max(noted.newest, generation);
  }
  return noted;
}

bool ChunkChecker::exists(sqlite::Statement& by_id, std::int64_t id, std::int64_t& last_found) {
  if (id == last_found) return true;  // rows in a row are from few workers
  const sqlite::ResetAtEnd reset(by_id);
  by_id.bind(id);
  if (!by_id.step()) return false;
  last_found = id;
  return true;
}

void ChunkChecker::check_results(JobCheck& at, const Chunk& chunk, const Noted& noted,
                                 bool was_revised) {
  for (std::uint64_t g = keys::kFirstGeneration; g <= noted.newest; ++g) {
    check_generation(at, chunk, noted, g);
  }
  if (!was_revised) return;  // then Checker finds what is in later ones
  // Those of other chunks lie between, so each generation is asked for.
  for (std::uint64_t g = noted.newest + 1; g <= keys::kGenerationMax; ++g) {
    const sqlite::ResetAtEnd reset(results_);
    results_.bind(keys::result(at.job, chunk.first_case, g), keys::result(at.job, chunk.end(), g));
    if (!results_.step()) continue;
    report(Rule::kLedger, fmt::format("the case has a result in generation {}, noted is none", g),
           keys::number(results_.integer(0)));
  }
}

void ChunkChecker::check_generation(JobCheck& at, const Chunk& chunk, const Noted& noted,
                                    std::uint64_t generation) {
  const sqlite::ResetAtEnd reset(results_);
  results_.bind(keys::result(at.job, chunk.first_case, generation),
                keys::result(at.job, chunk.end(), generation));
  // The verdict that a case must have in this generation: 0 for none, kAny if it was taken back.
  constexpr std::uint64_t kAny = 255;
  const auto expected = [&](std::uint64_t case_no) -> std::uint64_t {
    const std::uint64_t i = case_no - chunk.first_case;
    const std::uint64_t newest = noted.generations.empty()
                                     ? keys::kFirstGeneration
                                     : static_cast<std::uint8_t>(noted.generations[i]);
    if (generation != newest) return generation < newest ? kAny : 0;
    return noted.verdicts.empty() ? 0 : static_cast<std::uint8_t>(noted.verdicts[i]);
  };
  std::uint64_t next = chunk.first_case;
  const auto none_until = [&](std::uint64_t end) {
    if (noted.verdicts.empty()) next = std::max(next, end);
    for (; next < end; ++next) {
      const std::uint64_t verdict = expected(next);
      if (verdict == 0) continue;
      report(Rule::kLedger,
             verdict == kAny ? fmt::format("the case's result of generation {}, which was taken "
                                           "back, is missing",
                                           generation)
                             : fmt::format("the case is noted as done ({}), its result is missing",
                                           verdict_text(verdict)),
             next);
    }
  };
  while (results_.step()) {
    const std::uint64_t case_no = keys::number(results_.integer(0));
    none_until(case_no);
    next = case_no + 1;
    const std::uint64_t verdict = results_.number(1);
    if (!is_verdict(verdict) || verdict == static_cast<std::uint64_t>(Verdict::kCancelled)) {
      report(Rule::kResults, fmt::format("the result has the verdict {}", verdict_text(verdict)),
             case_no);
    }
    if (verdict == expected(case_no) && results_.integer(4) != 0) ++at.cached;
    if (verdict != expected(case_no) && expected(case_no) != kAny) {
      report(Rule::kLedger,
             fmt::format("the case has the result {}, noted is {}", verdict_text(verdict),
                         expected(case_no) == 0 ? "none" : verdict_text(expected(case_no))),
             case_no);
    }
    if (!exists(worker_, results_.integer(2), last_worker_)) {
      report(
          Rule::kResults,
          fmt::format("the result is from worker {}, which there never was", results_.integer(2)),
          case_no);
    }
    if (!exists(version_, results_.integer(3), last_version_)) {
      report(Rule::kResults,
             fmt::format("the result is from solver version {}, which there never was",
                         results_.integer(3)),
             case_no);
    }
  }
  none_until(chunk.end());
}

}  // namespace puzzled
