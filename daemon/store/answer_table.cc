#include "daemon/store/answer_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "daemon/store/keys.h"
#include "proto/base/assert.h"
#include "proto/case_view.h"

namespace puzzled {
namespace {

constexpr std::int64_t kUnwatched = 0;  // values of `proof`
constexpr std::int64_t kProven = -1;
// Beside as many as were added: so fast the table becomes smaller when its limit was lowered. Each
// is a page of the index in the write-ahead log.
constexpr std::int64_t kEvictedAtOnce = 100;
// Answers that one look-up finds: they are copied in one transaction.
constexpr std::uint64_t kKnownBytesMax = 4ULL << 20U;
constexpr std::string_view kNoKey{"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", kAnswerKeyBytes};

}  // namespace

AnswerTable::AnswerTable(sqlite::Connection& c, std::uint64_t bytes_max)
    : answers_max_(bytes_max / kAnswerRowBytes),
      // length() reads no answer, which may take thousands of pages.
      find_(c,
            "SELECT a.id, a.proof, a.result, r.time_us, r.memory_bytes, length(r.answer), "
            "CASE WHEN ?3 THEN r.answer END FROM answers a JOIN results r ON r.id = a.result "
            "WHERE a.key = ?1 AND a.solver_version = ?2"),
      present_(c, "SELECT id, proof FROM answers WHERE key = ? AND solver_version = ?"),
      insert_(
          c, "INSERT INTO answers (id, key, solver_version, result, proof) VALUES (?, ?, ?, ?, ?)"),
      remove_(c, "DELETE FROM answers WHERE id = ?"),
      prove_(c, "UPDATE answers SET proof = -1 WHERE proof = ? AND proof > 0"),
      forget_stretch_(c, "DELETE FROM answers WHERE proof = ? AND proof > 0"),
      forget_unproven_(c, "UPDATE meta SET answers_forgotten = ?"),
      evict_(c, "DELETE FROM answers WHERE id < ?"),
      ends_(c,
            "SELECT (SELECT min(id) FROM answers), (SELECT max(id) FROM answers), "
            "answers_forgotten FROM meta"),
      insert_keys_(c, "INSERT INTO chunk_keys (id, keys) VALUES (?, ?)"),
      keys_(c, "SELECT keys FROM chunk_keys WHERE id = ?"),
      copy_(c,
            "INSERT INTO results (id, verdict, time_us, memory_bytes, attempt, worker, "
            "solver_version, graded_ms, answer, cached) SELECT ?1, ?2, time_us, memory_bytes, 1, "
            "worker, solver_version, ?3, answer, 1 FROM results "
            "WHERE id = ?4 AND solver_version = ?5 RETURNING 1") {
  read_ends();
}

void AnswerTable::read_ends() {
  if (is_read_) return;
  const sqlite::ResetAtEnd reset(ends_);
  added_ = 0;
  forgotten_ = first_ = last_ = 0;
  if (ends_.step()) {
    forgotten_ = ends_.integer(2);
    last_ = std::max(ends_.integer(1), forgotten_);
    first_ = ends_.null(0) ? last_ + 1 : ends_.integer(0);
  } else {
    first_ = 1;
  }
  is_read_ = true;
}

void AnswerTable::keep(std::string_view key, std::int64_t version, std::int64_t result,
                       std::uint64_t stretch) {
  if (answers_max_ == 0) return;
  ASSERT(key.size() == kAnswerKeyBytes);
  read_ends();
  std::int64_t before = 0;
  {
    const sqlite::ResetAtEnd reset(present_);
    present_.bind(sqlite::Blob{key}, version);
    if (present_.step()) {
      before = present_.integer(0);
      const std::int64_t proof = present_.integer(1);
      // One that nobody would use makes room for one that can be proven, or is younger.
      const bool is_of_use = proof != kUnwatched || (stretch == 0 && before > forgotten_);
      if (is_of_use) return;
    }
  }
  if (before != 0) remove_.run(before);
  insert_.run(++last_, sqlite::Blob{key}, version, result, stretch);
  ++added_;
}

void AnswerTable::settle(const record::ForgetStretch& record) {
  (record.proven ? prove_ : forget_stretch_).run(record.stretch);
}

void AnswerTable::forget_unproven() {
  read_ends();
  forgotten_ = last_;
  forget_unproven_.run(forgotten_);
}

// All runs of a stretch are taken back together.
void AnswerTable::forget(const record::ReviseResults& record) {
  forget_stretch_.run(record.stretch);
}

void AnswerTable::insert_keys(const record::InsertChunk& record) {
  insert_keys_.run(keys::chunk(record.job, record.chunk_no), sqlite::Blob{record.keys});
}

void AnswerTable::insert(const record::InsertCached& record, std::int64_t version,
                         Progress& progress) {
  Progress::Chunk& chunk = progress.chunk(record.job, record.chunk_no);
  for (const KnownAnswer& known : record.answers) {
    const CaseNo case_no{record.first_case.value + known.index};
    progress.add(record.job, chunk, case_no, known.verdict, true);
    const sqlite::ResetAtEnd reset(copy_);
    copy_.bind(keys::result(record.job, case_no.value, chunk.generation(case_no)),
               static_cast<int>(known.verdict), record.graded_ms, known.source, version);
    if (!copy_.step()) {
      throw sqlite::corrupt(
          fmt::format("the result that the answer of case {} of job {} was found in is missing",
                      case_no.value, record.job.value));
    }
  }
}

void AnswerTable::trim() {
  read_ends();
  const auto most = kEvictedAtOnce + static_cast<std::int64_t>(added_);
  added_ = 0;
  const std::int64_t over = last_ - first_ + 1 - static_cast<std::int64_t>(answers_max_);
  if (over <= 0) return;
  first_ += std::min(over, most);
  evict_.run(first_);
}

AnswerTable::Claim AnswerTable::claim_of(std::string_view entry) {
  const auto view = wire::parse_case(wire::CaseWalker(entry).at(0));
  if (!view || !view->invalid.empty() || view->expected_error) return {};
  return {.is_plain = true, .expected = view->expected};
}

void AnswerTable::look_up(const LoadChunk& load, std::int64_t version, event::ChunkLoaded& loaded) {
  if (answers_max_ == 0) return;
  const ChunkCases& cases = *loaded.cases;
  read_ends();
  const sqlite::ResetAtEnd reset(keys_);
  keys_.bind(keys::chunk(load.job, load.chunk_no));
  if (!keys_.step()) throw sqlite::corrupt("the keys of a chunk are missing");
  const std::string_view keys = keys_.bytes(0);
  if (keys.size() != kAnswerKeyBytes * cases.count()) {
    throw sqlite::corrupt("the keys of a chunk are not as many as its cases");
  }
  std::uint64_t bytes = 0;
  auto next_done = loaded.done.begin();
  for (std::uint32_t i = 0; i < cases.count(); ++i) {
    if (next_done != loaded.done.end() && *next_done == i) {
      ++next_done;
      continue;
    }
    const std::string_view key = keys.substr(i * kAnswerKeyBytes, kAnswerKeyBytes);
    if (key == kNoKey) continue;
    const Claim claim =
        claim_of(std::string_view(cases.bytes)
                     .substr(cases.offsets[i], cases.offsets[i + 1] - cases.offsets[i]));
    if (!claim.is_plain) continue;
    const sqlite::ResetAtEnd reset_find(find_);
    find_.bind(sqlite::Blob{key}, version, claim.expected.has_value());
    KnownAnswer known{.index = i};
    if (!find_.step() || !fits(*load.look_up, claim, known)) continue;
    loaded.known.push_back(known);
    bytes += known.answer_bytes;
    if (bytes < kKnownBytesMax) continue;
    loaded.more_known = true;
    return;
  }
}

bool AnswerTable::fits(const LookUp& look_up, const Claim& claim, KnownAnswer& known) {
  const std::int64_t id = find_.integer(0);
  const std::int64_t proof = find_.integer(1);
  const bool is_trusted =
      proof == kProven || (proof == kUnwatched && !look_up.proven_only && id > forgotten_);
  // What broke a limit of this job would be no answer in it.
  if (!is_trusted || find_.null(5) || find_.number(3) > look_up.limits.time_limit_us ||
      find_.number(4) > look_up.limits.memory_limit_bytes ||
      find_.number(5) > look_up.limits.answer_bytes_max) {
    return false;
  }
  // Another claim is wrong, or cannot be read: that a worker has to say.
  if (claim.expected && *claim.expected != find_.bytes(6)) return false;
  known.verdict = claim.expected ? Verdict::kAccepted : Verdict::kSolved;
  known.source = find_.integer(2);
  known.answer_bytes = find_.number(5);
  return true;
}

}  // namespace puzzled
