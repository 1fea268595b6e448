// Google Benchmark: result rows that the store takes in a second, by the rows of a transaction, and
// bare SQLite inserts of the same rows beside it.
#include <benchmark/benchmark.h>

#include "daemon/store/store.h"
#include "proto/wire.h"
#include "tests/bench/bare_sqlite.h"
#include "tests/bench/daemon.h"

namespace puzzled::bench {
namespace {

constexpr std::uint32_t kChunk = wire::kChunkCasesMax;

// A store with one open job, and results for it without end.
class Grader {
 public:
  explicit Grader(const Folder& folder) : store_(Store::open(folder.path("p.db"), {})) {
    store_->recover();
    store_->begin();
    store_->apply(record::InsertJob{{1}, {}, std::make_shared<const JobSpec>(), 1});
    store_->apply(record::InsertWorker{{1}, {}, "w", "h", 1, "1", 1});
    store_->commit();
    proto_.results.body = std::make_shared<const std::string>("\x0a\x02\x15\x72");
    proto_.job = {1};
    proto_.worker = {1};
    proto_.solver_version = "1";
    proto_.graded_ms = 1'700'000'000'000;
  }

  // Chunks for so many cases, not measured with the results.
  void add_chunks(std::uint64_t cases) {
    store_->begin();
    for (std::uint64_t done = 0; done < cases; done += kChunk) {
      record::InsertChunk chunk;
      chunk.job = {1};
      chunk.chunk_no = chunks_;
      chunk.first_case = {std::uint64_t{chunks_} * kChunk + 1};
      chunk.cases = cases_;
      store_->apply(chunk);
      ++chunks_;
    }
    store_->commit();
  }
  void grade(std::uint64_t rows) {
    proto_.rows.clear();
    proto_.results.results.assign(rows, result_);
    for (std::uint32_t i = 0; i < rows; ++i) {
      proto_.rows.push_back({{next_}, static_cast<ChunkNo>((next_ - 1) / kChunk), i});
      ++next_;
    }
    store_->begin();
    store_->apply(proto_);
    store_->commit();
    store_->log().checkpoint_if_due();
  }
  [[nodiscard]] std::uint64_t room() const { return std::uint64_t{chunks_} * kChunk - (next_ - 1); }

 private:
  static ChunkCasesPtr make_cases() {
    auto cases = std::make_shared<ChunkCases>();
    for (std::uint32_t i = 0; i < kChunk; ++i) wire::append_case("\x0a\x02xy", cases->bytes);
    cases->offsets = wire::split_cases(cases->bytes).value();
    return cases;
  }

  std::unique_ptr<Store> store_;
  const ChunkCasesPtr cases_ = make_cases();
  record::InsertResults proto_;
  CaseResult result_{0, Verdict::kSolved, 1, 4'096, true, "\x0a\x02\x15\x72", {}};
  ChunkNo chunks_ = 0;
  std::uint64_t next_ = 1;
};

void store_rows(benchmark::State& state) {
  const Folder folder;
  Grader grader(folder);
  const auto rows = static_cast<std::uint64_t>(state.range(0));
  for (auto step : state) {
    static_cast<void>(step);
    if (grader.room() < rows) {
      state.PauseTiming();
      grader.add_chunks(200 * kChunk);
      state.ResumeTiming();
    }
    grader.grade(rows);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void bare_sqlite_rows(benchmark::State& state) {
  const Folder folder;
  BareSqlite bare(folder.path("bare.db"));
  const auto rows = static_cast<std::uint64_t>(state.range(0));
  for (auto step : state) {
    static_cast<void>(step);
    bare.insert(rows, rows);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void by_transaction(benchmark::internal::Benchmark* bench) {
  for (const int rows : {1, 100, 1'000, 10'000}) bench->Arg(rows);
  bench->UseRealTime();
}
BENCHMARK(store_rows)->Apply(by_transaction);
BENCHMARK(bare_sqlite_rows)->Apply(by_transaction);

}  // namespace
}  // namespace puzzled::bench
