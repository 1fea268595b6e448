#include "tests/bench/filler.h"

#include <fmt/format.h>

#include "proto/wire.h"
#include "workers/puzzles/bishops/bishops.h"

namespace puzzled::bench {
namespace {

constexpr std::uint32_t kChunk = wire::kChunkCasesMax;

// A chunk of kChunk bishops queries that each take about a microsecond.
ChunkCasesPtr make_cases() {
  auto cases = std::make_shared<ChunkCases>();
  for (std::uint32_t i = 0; i < kChunk; ++i) {
    std::string instance;
    bishops::encode_instance({1 + i % 8, i % 3}, instance);
    // A Case with nothing but its instance.
    const std::string content =
        fmt::format("\x0a{}{}", static_cast<char>(instance.size()), instance);
    wire::append_case(content, cases->bytes);
  }
  cases->offsets = wire::split_cases(cases->bytes).value();
  return cases;
}

record::InsertJob make_job(JobId job) {
  JobSpec spec;
  spec.name = "backlog";
  spec.puzzle = "bishops";
  spec.solver = bishops::puzzle().solvers.front().name;
  Bytes16 request_id{};
  request_id[0] = static_cast<std::uint8_t>(job.value);
  return {job, request_id, std::make_shared<const JobSpec>(spec), 1'700'000'000'000};
}

Verdict verdict_of(std::uint64_t case_no) {
  if (case_no % kRareEvery == 0) return Verdict::kCrashed;
  return case_no % kSparseEvery == 0 ? Verdict::kWrongAnswer : Verdict::kAccepted;
}

}  // namespace

Filler::Filler(const Folder& folder)
    : store_(Store::open(folder.path("p.db"), {})), cases_(make_cases()) {
  store_->recover();
}

void Filler::add_job(JobId job, std::uint64_t cases, bool graded) {
  // The daemon compares it when it loads a chunk in which no file begins.
  const std::uint64_t hash = wire::chunk_hash(cases_->bytes, {});
  store_->begin();
  store_->apply(make_job(job));
  if (graded && job.value == 1) store_->apply(record::InsertWorker{{1}, {}, "w", "h", 1, "1", 1});
  for (ChunkNo chunk_no = 0; chunk_no < cases / kChunk; ++chunk_no) {
    if (chunk_no % 16 == 15) {
      store_->commit();
      store_->log().checkpoint_if_due();
      store_->begin();
    }
    record::InsertChunk chunk;
    chunk.job = job;
    chunk.chunk_no = chunk_no;
    chunk.cases = cases_;
    chunk.first_case = {std::uint64_t{chunk_no} * kChunk + 1};
    chunk.hash = hash;
    if (chunk_no == 0) {
      chunk.first_file_no = 1;
      chunk.files.push_back({"all", 1, cases});
    }
    store_->apply(chunk);
    if (graded) store_->apply(grade(chunk));
  }
  store_->apply(record::SealJob{job, 0, 1'700'000'000'000});
  if (graded) store_->apply(record::FinishJob{job, 1'700'000'000'000});
  store_->commit();
}

record::InsertResults Filler::grade(const record::InsertChunk& chunk) {
  record::InsertResults results;
  results.job = chunk.job;
  results.worker = {1};
  results.solver_version = "1";
  results.graded_ms = 1'700'000'000'000;
  results.results.body = std::make_shared<const std::string>("\x0a\x01\x07");
  for (std::uint32_t i = 0; i < kChunk; ++i) {
    const CaseNo case_no{chunk.first_case.value + i};
    CaseResult result;
    result.position = i;
    result.verdict = verdict_of(case_no.value);
    result.memory_bytes = 4'096;
    result.has_answer = true;
    result.answer = *results.results.body;
    results.results.results.push_back(result);
    results.rows.push_back({case_no, chunk.chunk_no, i});
  }
  return results;
}

}  // namespace puzzled::bench
