#include "daemon/store/progress.h"

#include <fmt/format.h>

#include <numeric>

#include "daemon/store/keys.h"
#include "proto/base/assert.h"

namespace puzzled {
namespace {

std::string totals_sql() {
  std::string columns = kCountedColumns;
  std::string sums;
  for (std::size_t start = 0; start < columns.size();) {
    const std::size_t end = std::min(columns.find(", ", start), columns.size());
    const std::string name = columns.substr(start, end - start);
    sums += fmt::format(", {0} = {0} + excluded.{0}", name);
    start = end + 2;
  }
  return fmt::format(
      "INSERT INTO totals (id, done, cached, {}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT (id) DO UPDATE SET done = done + excluded.done, "
      "cached = cached + excluded.cached{}",
      columns, sums);
}

}  // namespace

Progress::Progress(sqlite::Connection& connection)
    : read_(connection,
            "SELECT c.first_case, c.case_count, p.done, p.present, p.verdicts, p.generations FROM "
            "chunks c "
            "LEFT JOIN progress p ON p.id = ?2 WHERE c.id = ?1"),
      write_(connection,
             "INSERT OR REPLACE INTO progress (id, done, present, verdicts, generations) "
             "VALUES (?, ?, ?, ?, ?)"),
      write_totals_(connection, totals_sql()) {}

Progress::Chunk& Progress::chunk(JobId job, ChunkNo chunk_no) {
  const auto [at, inserted] = chunks_.try_emplace({job, chunk_no});
  Chunk& chunk = at->second;
  if (!inserted) return chunk;
  const sqlite::ResetAtEnd reset(read_);
  read_.bind(keys::chunk(job, chunk_no), keys::progress(job, chunk_no));
  if (!read_.step()) {
    throw sqlite::corrupt(fmt::format("chunk {} of job {} is missing", chunk_no, job.value));
  }
  chunk.first_case = read_.number(0);
  const std::uint32_t case_count = read_.number32(1);
  chunk.done = read_.number32(2);
  chunk.present = read_.number32(3);
  chunk.verdicts = read_.null(4) ? std::string(case_count, '\0') : read_.string(4);
  chunk.generations = read_.string(5);
  if (chunk.verdicts.size() != case_count ||
      (!chunk.generations.empty() && chunk.generations.size() != case_count)) {
    throw sqlite::corrupt(
        fmt::format("chunk {} of job {} has a progress row of another size", chunk_no, job.value));
  }
  return chunk;
}

void Progress::add(JobId job, Chunk& chunk, CaseNo case_no, Verdict verdict, bool cached) {
  ASSERT(case_no.value >= chunk.first_case);
  const std::uint64_t position = case_no.value - chunk.first_case;
  ASSERT(position < chunk.verdicts.size());
  ASSERT(chunk.verdicts[position] == 0);  // one result per case and generation
  chunk.verdicts[position] = static_cast<char>(verdict);
  ++chunk.done;
  chunk.present |= 1U << static_cast<unsigned>(verdict);
  chunk.changed = true;
  Counts& counted = counts(job);
  ++counted.verdicts[static_cast<std::size_t>(verdict)];
  counted.cached += cached ? 1 : 0;
}

Progress::Counts& Progress::counts(JobId job) {
  if (last_counts_ == nullptr || last_job_ != job) {
    last_counts_ = &added_[job];
    last_job_ = job;
  }
  return *last_counts_;
}

std::uint64_t Progress::Chunk::generation(CaseNo case_no) const {
  return keys::generation_at(generations, case_no.value - first_case);
}

void Progress::reopen(JobId job, Chunk& chunk, CaseNo case_no, bool cached) {
  ASSERT(case_no.value >= chunk.first_case);
  const std::uint64_t position = case_no.value - chunk.first_case;
  ASSERT(position < chunk.verdicts.size());
  const auto verdict = static_cast<std::uint8_t>(chunk.verdicts[position]);
  ASSERT(is_verdict(verdict));
  chunk.verdicts[position] = 0;
  --chunk.done;
  chunk.changed = true;
  if (chunk.verdicts.find(static_cast<char>(verdict)) == std::string::npos) {
    chunk.present &= ~(1U << verdict);
  }
  if (chunk.generations.empty()) {
    chunk.generations.assign(chunk.verdicts.size(), static_cast<char>(keys::kFirstGeneration));
  }
  char& generation = chunk.generations[position];
  if (static_cast<std::uint8_t>(generation) < keys::kGenerationMax) ++generation;
  Counts& counted = counts(job);
  --counted.verdicts[verdict];
  counted.cached -= cached ? 1 : 0;
}

void Progress::flush() {
  if (added_.empty()) return;
  for (const auto& [key, chunk] : chunks_) {
    if (!chunk.changed) continue;
    const std::uint32_t open = chunk.done < chunk.verdicts.size() ? 1 : 0;
    write_.bind(keys::progress(key.first, key.second), chunk.done, (chunk.present & ~1U) | open,
                sqlite::Blob{chunk.verdicts});
    if (chunk.generations.empty()) {
      write_.bind_at(5, nullptr);
    } else {
      write_.bind_at(5, sqlite::Blob{chunk.generations});
    }
    write_.step();
    write_.reset();
  }
  for (const auto& [job, counts] : added_) {
    const auto& verdicts = counts.verdicts;
    const std::int64_t done = std::accumulate(verdicts.begin(), verdicts.end(), std::int64_t{0});
    write_totals_.bind(keys::totals(job), done, counts.cached);
    int index = 3;
    for (const Verdict verdict : kCountedVerdicts) {
      write_totals_.bind_at(++index, verdicts[static_cast<std::size_t>(verdict)]);
    }
    write_totals_.step();
    write_totals_.reset();
  }
}

void Progress::forget() {
  chunks_.clear();
  added_.clear();
  last_counts_ = nullptr;
}

}  // namespace puzzled
