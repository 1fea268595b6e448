#include "daemon/store/results_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "daemon/store/keys.h"
#include "proto/base/glob.h"

namespace puzzled {
namespace {

constexpr std::uint64_t kRowBytes = 64;  // what a row costs besides its texts
// Chunks that SQLite may pass over before the page's time is looked at.
constexpr std::uint64_t kWalkChunksMax = 1'000;
constexpr std::uint64_t kAnyLength = std::numeric_limits<std::int64_t>::max();
constexpr std::uint32_t kAnyVerdict = ~0U;  // as a set of them
constexpr std::size_t kNamesMax = 100'000;  // remembered worker names and solver versions

// The literal beginning of a glob.
std::string literal_prefix(const std::string& glob) {
  return glob.substr(0, glob.find_first_of("*?[\\"));
}

// Whether a label of this file, "path#index", can start with the prefix at all.
bool may_match(const std::string& path, const std::string& prefix) {
  const std::size_t common = std::min(path.size(), prefix.size());
  if (path.compare(0, common, prefix, 0, common) != 0) return false;
  return prefix.size() <= path.size() || prefix[path.size()] == '#';
}

sqlite::Error another_size(std::int64_t chunk) {
  return sqlite::corrupt(fmt::format("chunk {} of job {} has a progress row of another size",
                                     keys::number(chunk), chunk >> 32U));
}

std::uint64_t bytes_of(const query::ResultRow& row) {
  return kRowBytes + row.label.size() + row.worker.size() + row.solver_version.size() +
         row.answer.size() + row.message.size();
}

}  // namespace

ResultsPager::ResultsPager(sqlite::Connection& connection, const StoreOptions& options)
    : options_(options),
      chunks_(connection,
              "SELECT c.id, c.first_case, c.case_count, "
              "(SELECT verdicts FROM progress WHERE id = p.id), "
              "(SELECT generations FROM progress WHERE id = p.id) FROM chunks c "
              "LEFT JOIN progress p INDEXED BY progress_present "
              "ON p.id = ?3 + (c.id & 4294967295) "
              "WHERE c.id >= ?1 AND c.id < ?2 AND coalesce(p.present, 1) & ?4 ORDER BY c.id"),
      graded_(connection,
              "SELECT c.id, c.first_case, c.case_count, "
              "(SELECT verdicts FROM progress WHERE id = p.id), "
              "(SELECT generations FROM progress WHERE id = p.id) "
              "FROM progress p INDEXED BY progress_present "
              "CROSS JOIN chunks c ON c.id = ?1 - (?1 & 4294967295) + (p.id & 4294967295) "
              "WHERE p.id >= ?3 + (?1 & 4294967295) AND p.id < ?3 + (?2 & 4294967295) "
              "AND p.present & ?4 ORDER BY p.id"),
      chunk_start_(connection, "SELECT first_case FROM chunks WHERE id = ?"),
      result_(connection,
              "SELECT verdict, time_us, memory_bytes, attempt, worker, solver_version, graded_ms, "
              "message, answer IS NOT NULL, CASE WHEN ?2 AND length(answer) <= ?3 THEN answer END, "
              "cached FROM results WHERE id = ?1"),
      generations_(connection,
                   "SELECT c.first_case, c.case_count, p.generations FROM chunks c "
                   "LEFT JOIN progress p ON p.id = ?2 WHERE c.id = ?1"),
      worker_(connection, "SELECT name FROM workers WHERE worker = ?"),
      version_(connection, "SELECT version FROM solver_versions WHERE id = ?"),
      files_(connection) {}

query::ResultsPage ResultsPager::page(const query::ListResults& query, const Job& job,
                                      const PageClock& clock) {
  choose_verdicts(query, job);
  const sqlite::ResetAtEnd reset(walk());
  glob_prefix_ = literal_prefix(query.label_glob);
  files_.start(query.job, job.file_count);
  walking_ = false;
  steps_ = 0;
  query::ResultsPage page;
  page.next_after = query.after_case;
  std::uint64_t bytes = 0;
  std::uint64_t next = query.after_case + 1;
  while (next != 0 && next <= job.case_count && !wanted_.empty()) {
    const bool is_further = next - 1 > query.after_case;
    if (steps_ + files_.lookups() >= kPageStepsMax || (is_further && clock.is_over())) {
      page.more = true;
      page.next_after = next - 1;
      break;
    }
    if (!next_match(query, job, next)) continue;
    if (page.rows.size() >= query.limit) {
      page.more = true;
      break;
    }
    std::vector<query::ResultRow> rows = rows_of(query, next);
    for (const query::ResultRow& row : rows) bytes += bytes_of(row);
    if (!page.rows.empty() && bytes > options_.page_bytes_max) {
      page.more = true;
      break;
    }
    std::ranges::move(rows, std::back_inserter(page.rows));
    page.next_after = next++;
  }
  return page;
}

void ResultsPager::choose_verdicts(const query::ListResults& query, const Job& job) {
  wanted_.clear();
  wanted_set_ = 0;
  all_generations_ = query.all_generations;
  const auto want = [&](Verdict verdict) {
    const auto byte = verdict == Verdict::kCancelled ? 0U : static_cast<unsigned>(verdict);
    if (byte == 0 && !job.cancelled) return;
    wanted_.push_back(static_cast<char>(byte));
    wanted_set_ |= 1U << byte;
  };
  if (query.verdicts.empty()) {
    for (std::size_t i = 1; i < kVerdictCount; ++i) want(static_cast<Verdict>(i));
  } else {
    std::ranges::for_each(query.verdicts, want);
  }
}

void ResultsPager::next_chunk() {
  const std::uint32_t before = chunk_.number;
  sqlite::Statement& chunks = walk();
  walking_ = chunks.step();
  // Chunks that SQLite passed over by themselves count as well.
  steps_ +=
      (walking_ ? static_cast<std::uint32_t>(keys::number(chunks.integer(0))) : walk_end_) - before;
  if (!walking_) return;
  chunk_.number = static_cast<std::uint32_t>(keys::number(chunks.integer(0)));
  chunk_.first_case = chunks.number(1);
  const std::uint32_t case_count = chunks.number32(2);
  if (chunks.null(3)) {
    chunk_.verdicts.assign(case_count, '\0');
  } else {
    chunk_.verdicts = chunks.bytes(3);
  }
  chunk_.generations = chunks.bytes(4);
  if (chunk_.verdicts.size() != case_count ||
      (!chunk_.generations.empty() && chunk_.generations.size() != case_count)) {
    throw another_size(chunks.integer(0));
  }
}

void ResultsPager::start_walk(const query::ListResults& query, const Job& job, std::uint64_t from) {
  const std::uint32_t chunk_no = chunk_of(query.job, job.chunk_count, from);
  const std::uint64_t left =
      std::min(kWalkChunksMax, kPageStepsMax - std::min(steps_, kPageStepsMax - 1));
  walk_end_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(job.chunk_count, chunk_no + left));
  walk().reset();
  walk().bind(keys::chunk(query.job, chunk_no), keys::chunk(query.job, walk_end_),
              keys::progress(query.job, 0), all_generations_ ? kAnyVerdict : wanted_set_);
  chunk_.number = chunk_no;
  next_chunk();
}

bool ResultsPager::seek_chunk(const query::ListResults& query, const Job& job,
                              std::uint64_t& from) {
  const auto behind = [&] { return walking_ && from >= chunk_.end(); };
  if (!walking_) start_walk(query, job, from);
  // Mostly it is this chunk or the next one that has a match; a jump over files may go far.
  for (int i = 0; i < 4 && behind(); ++i) next_chunk();
  if (behind()) start_walk(query, job, from);
  while (behind()) next_chunk();
  if (!walking_) {
    from = walk_end_ < job.chunk_count ? std::max(from, first_case(query.job, walk_end_))
                                       : job.case_count + 1;
    return false;
  }
  if (from >= chunk_.first_case) return true;
  from = chunk_.first_case;  // no chunk before this one has a match
  return false;
}

std::uint64_t ResultsPager::first_case(JobId job, std::uint32_t chunk_no) {
  ++steps_;
  const sqlite::ResetAtEnd reset(chunk_start_);
  chunk_start_.bind(keys::chunk(job, chunk_no));
  if (!chunk_start_.step()) throw sqlite::corrupt("a chunk is missing");
  return chunk_start_.number(0);
}

std::uint32_t ResultsPager::chunk_of(JobId job, std::uint32_t chunk_count, std::uint64_t case_no) {
  // The last chunk that starts at or before the case. Empty chunks start where the next one does.
  std::uint32_t low = 0;
  std::uint32_t high = chunk_count == 0 ? 0 : chunk_count - 1;
  while (low < high) {
    const std::uint32_t middle = low + (high - low + 1) / 2;
    if (first_case(job, middle) <= case_no) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

bool ResultsPager::next_match(const query::ListResults& query, const Job& job,
                              std::uint64_t& from) {
  if (!query.label_glob.empty()) {
    const FileEntry& file = files_.find(from);
    if (file.case_count != 0 && !may_match(file.path, glob_prefix_)) {
      from = file.first_case + file.case_count;
      return false;
    }
  }
  if (!seek_chunk(query, job, from)) return false;
  // memchr for each wanted verdict looks through a chunk faster than one loop over its bytes.
  const char* begin = chunk_.verdicts.data() + (from - chunk_.first_case);
  const char* end = chunk_.verdicts.data() + chunk_.verdicts.size();
  const char* found = end;
  for (const char verdict : wanted_) {
    const void* hit = std::memchr(begin, verdict, static_cast<std::size_t>(found - begin));
    if (hit != nullptr) found = static_cast<const char*>(hit);
    if (found == begin) break;
  }
  if (all_generations_ && !chunk_.generations.empty()) {
    const char* revised = std::find_if(
        chunk_.generations.data() + (from - chunk_.first_case),
        chunk_.generations.data() + (found - chunk_.verdicts.data()),
        [](char generation) { return generation != static_cast<char>(keys::kFirstGeneration); });
    found = chunk_.verdicts.data() + (revised - chunk_.generations.data());
  }
  if (found != begin) {  // perhaps in another file: look again from there
    from += static_cast<std::uint64_t>(found - begin);
    return false;
  }
  ++steps_;
  if (query.label_glob.empty() || glob_matches(query.label_glob, files_.label(from))) {
    return true;
  }
  ++from;
  return false;
}

std::vector<query::ResultRow> ResultsPager::rows_of(const query::ListResults& query,
                                                    std::uint64_t case_no) {
  std::vector<query::ResultRow> rows;
  const std::uint64_t position = case_no - chunk_.first_case;
  const std::uint64_t newest = keys::generation_at(chunk_.generations, position);
  const std::string label = files_.label(case_no);
  std::uint64_t bytes = 0;
  const auto add = [&](std::uint64_t generation, std::uint64_t answer_bytes_max) {
    query::ResultRow row;
    if (!read_result(query.job, case_no, generation, query.with_answers, answer_bytes_max, row)) {
      throw sqlite::corrupt(
          fmt::format("the result of case {} of job {} is missing", case_no, query.job.value));
    }
    if (!wants(static_cast<std::uint8_t>(row.verdict))) return;
    row.label = label;
    bytes += bytes_of(row);
    rows.push_back(std::move(row));
  };
  if (chunk_.verdicts[position] != 0) {
    add(newest, kAnyLength);
  } else if (wants(0)) {
    query::ResultRow& row = rows.emplace_back();
    row.case_no = {case_no};
    row.label = label;
    row.verdict = Verdict::kCancelled;
    row.generation = static_cast<std::uint32_t>(newest);
  }
  if (!all_generations_) return rows;
  // What of these has room depends on the case alone, not on where in the page it is.
  for (std::uint64_t g = newest; g-- > keys::kFirstGeneration;) {
    ++steps_;
    add(g, options_.page_bytes_max - std::min(bytes, options_.page_bytes_max));
  }
  std::ranges::reverse(rows);
  return rows;
}

std::vector<query::ResultRow> ResultsPager::results_of(JobId job, std::uint64_t case_no,
                                                       std::uint64_t newest) {
  std::vector<query::ResultRow> rows;
  for (std::uint64_t g = keys::kFirstGeneration; g <= newest; ++g) {
    if (!read_result(job, case_no, g, g == newest, kAnyLength, rows.emplace_back())) {
      rows.pop_back();
      break;  // the generations of a case have no gap
    }
  }
  return rows;
}

std::uint64_t ResultsPager::generation_of(JobId job, std::uint32_t chunk_count,
                                          std::uint64_t case_no) {
  const std::uint32_t chunk_no = chunk_of(job, chunk_count, case_no);
  const sqlite::ResetAtEnd reset(generations_);
  generations_.bind(keys::chunk(job, chunk_no), keys::progress(job, chunk_no));
  if (!generations_.step()) throw sqlite::corrupt("a chunk is missing");
  const std::uint64_t position = case_no - generations_.number(0);
  const std::uint64_t case_count = generations_.number(1);
  const std::string generations = generations_.string(2);
  if (position >= case_count || (!generations.empty() && generations.size() != case_count)) {
    throw another_size(keys::chunk(job, chunk_no));
  }
  return keys::generation_at(generations, position);
}

bool ResultsPager::read_result(JobId job, std::uint64_t case_no, std::uint64_t generation,
                               bool with_answer, std::uint64_t answer_bytes_max,
                               query::ResultRow& row) {
  const sqlite::ResetAtEnd reset(result_);
  result_.bind(keys::result(job, case_no, generation), with_answer, answer_bytes_max);
  if (!result_.step()) return false;
  const std::uint64_t verdict = result_.number(0);
  if (!is_verdict(verdict)) throw sqlite::corrupt("a result has no known verdict");
  row.case_no = {case_no};
  row.generation = static_cast<std::uint32_t>(generation);
  row.verdict = static_cast<Verdict>(verdict);
  row.time_us = result_.number(1);
  row.memory_bytes = result_.number(2);
  row.attempt = result_.number32(3);
  row.worker = worker_name(result_.integer(4));
  row.solver_version = solver_version(result_.integer(5));
  row.graded_ms = result_.integer(6);
  row.message = result_.bytes(7);
  row.has_answer = result_.integer(8) != 0;
  row.answer = result_.bytes(9);
  row.answer_left_out = with_answer && row.has_answer && result_.null(9);
  row.cached = result_.integer(10) != 0;
  return true;
}

std::string ResultsPager::worker_name(std::int64_t worker) {
  if (worker_names_.size() > kNamesMax) worker_names_.clear();
  const auto [at, inserted] = worker_names_.try_emplace(worker);
  if (!inserted) return at->second;
  const sqlite::ResetAtEnd reset(worker_);
  worker_.bind(worker);
  if (worker_.step()) {
    at->second = worker_.bytes(0);
    return at->second;
  }
  worker_names_.erase(at);  // not there yet in this snapshot
  return "";
}

const std::string& ResultsPager::solver_version(std::int64_t id) {
  if (versions_.size() > kNamesMax) versions_.clear();
  const auto [at, inserted] = versions_.try_emplace(id);
  if (!inserted) return at->second;
  const sqlite::ResetAtEnd reset(version_);
  version_.bind(id);
  if (!version_.step()) throw sqlite::corrupt("a result names an unknown solver version");
  at->second = version_.bytes(0);
  return at->second;
}

}  // namespace puzzled
