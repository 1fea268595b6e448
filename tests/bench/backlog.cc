// Ten million cases: open ones as a backlog, graded ones to page through.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <thread>

#include "daemon/store/store.h"
#include "proto/wire.h"
#include "tests/bench/daemon.h"
#include "tests/bench/support.h"
#include "workers/puzzles/bishops/bishops.h"

namespace puzzled::bench {
namespace {

constexpr auto kLower = Report::Better::kLower;
constexpr auto kHigher = Report::Better::kHigher;
constexpr std::uint32_t kChunk = wire::kChunkCasesMax;
constexpr std::uint64_t kSparseEvery = 10'007;  // cases from one wrong answer to the next

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

// Writes jobs straight into a store, as the daemon would have.
class Filler {
 public:
  explicit Filler(const Folder& folder)
      : store_(Store::open(folder.path("p.db"), {})), cases_(make_cases()) {
    store_->recover();
  }

  void add_job(JobId job, std::uint64_t cases, bool graded) {
    store_->begin();
    store_->apply(make_job(job));
    if (graded && job.value == 1) store_->apply(record::InsertWorker{{1}, {}, "w", "h", 1, "1", 1});
    for (ChunkNo chunk_no = 0; chunk_no < cases / kChunk; ++chunk_no) {
      if (chunk_no % 16 == 15) {
        store_->commit();
        store_->checkpoint_if_due();
        store_->begin();
      }
      record::InsertChunk chunk;
      chunk.job = job;
      chunk.chunk_no = chunk_no;
      chunk.cases = cases_;
      chunk.first_case = {std::uint64_t{chunk_no} * kChunk + 1};
      chunk.hash = chunk_no;
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

 private:
  static record::InsertResults grade(const record::InsertChunk& chunk) {
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
      result.verdict =
          case_no.value % kSparseEvery == 0 ? Verdict::kWrongAnswer : Verdict::kAccepted;
      result.memory_bytes = 4'096;
      result.has_answer = true;
      result.answer = *results.results.body;
      results.results.results.push_back(result);
      results.rows.push_back({case_no, chunk.chunk_no, i});
    }
    return results;
  }

  std::unique_ptr<Store> store_;
  ChunkCasesPtr cases_;
};

// ---- A backlog of open cases.

struct Backlog {
  double first_dispatch_s = 0;
  double cases_per_s = 0;
  double rss_mib = 0;
};

// Starts a daemon on a store with open cases and watches it for `watch_s` or until all is done.
Backlog run_backlog(std::uint64_t jobs, std::uint64_t cases, double watch_s) {
  const Folder folder;
  {
    Filler filler(folder);
    for (std::uint64_t job = 1; job <= jobs; ++job) filler.add_job({job}, cases, false);
  }
  Backlog backlog;
  const double start = wall_s();
  Daemon daemon(folder, 2);
  const auto done = [&] {
    std::uint64_t sum = 0;
    for (std::uint64_t job = 1; job <= jobs; ++job) {
      const proto::JobStatus status = daemon.status(job);
      sum += status.done_count() + status.leased_count();
    }
    return sum;
  };
  while (done() == 0) {
    if (wall_s() - start > 60) give_up("nothing is dispatched");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  backlog.first_dispatch_s = wall_s() - start;
  std::uint64_t at = done();
  double time = wall_s();
  const std::uint64_t first = at;
  const double first_time = time;
  while (time - first_time < watch_s && at < jobs * cases) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    at = done();
    time = wall_s();
  }
  backlog.cases_per_s = static_cast<double>(at - first) / (time - first_time);
  backlog.rss_mib = static_cast<double>(daemon.peak_rss_bytes()) / (1U << 20U);
  return backlog;
}

void bench_backlog(const Options& options, Report& report) {
  const std::uint64_t cases = options.scaled(10'000'000);
  const Backlog large = run_backlog(1, cases, options.quick ? 1 : 8);
  const std::string what = fmt::format("backlog of {} cases: ", cases);
  report.add("restart_s", what + "start of the daemon until the first dispatch",
             large.first_dispatch_s, "s", Report::Target{kLower, 2});
  report.add("backlog_rss_mib", what + "peak memory of the daemon", large.rss_mib, "MiB",
             Report::Target{kLower, 300});
  // One job of 10,000 would be over before it can be watched: its rate is that of a store which
  // has little beside it.
  const Backlog small = run_backlog(1, options.scaled(1'000'000), options.quick ? 1 : 8);
  report.add("", what + "cases graded", large.cases_per_s, "cases/s");
  report.add("", what + "rate against that of a tenth as many",
             large.cases_per_s / small.cases_per_s, "×", Report::Target{kHigher, 0.8});
}

// ---- Pages of results.

// Forgets what the system has cached of the file.
void drop_cached(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || ::fdatasync(fd) != 0 || ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0) {
    give_up("the cached pages of the database cannot be dropped");
  }
  ::close(fd);
}

double page_ms(Daemon& daemon, std::uint64_t after, std::optional<proto::Verdict> verdict) {
  proto::ClientRequest request;
  proto::ListResults& list = *request.mutable_list_results();
  list.set_job(1);
  list.set_after_case(after);
  list.set_limit(1'000);
  if (verdict) list.add_verdicts(*verdict);
  const double start = wall_s();
  const proto::ClientReply reply = daemon.call(request);
  const double ms = (wall_s() - start) * 1e3;
  if (reply.results_page().rows_size() == 0) give_up("a page of results is empty");
  return ms;
}

struct Place {
  std::string name;
  std::uint64_t after = 0;
  std::optional<proto::Verdict> verdict;
};

void bench_pages(const Options& options, Report& report) {
  const std::uint64_t cases = options.scaled(10'000'000);
  const Folder folder;
  Filler(folder).add_job({1}, cases, true);
  const std::vector<Place> places = {
      {"the first", 0, {}},
      {"in the middle", cases / 2, {}},
      {"the last", cases - 1'000, {}},
      {"all but a few by verdict, in the middle", cases / 2, proto::ACCEPTED},
      {fmt::format("one case in {} by verdict", kSparseEvery), 0, proto::WRONG_ANSWER},
  };
  double worst_warm = 0;
  std::vector<double> cold;
  for (const Place& place : places) {
    drop_cached(folder.path("p.db"));
    Daemon daemon(folder, 0);
    cold.push_back(page_ms(daemon, place.after, place.verdict));
    std::vector<double> warm;
    for (int i = 0; i < 21; ++i) warm.push_back(page_ms(daemon, place.after, place.verdict));
    worst_warm = std::max(worst_warm, median(warm));
    report.add("", fmt::format("page of 1,000 rows of {}: {}", cases, place.name), median(warm),
               "ms", Report::Target{kLower, 20},
               fmt::format("the first time from the disk: {:.1f} ms", cold.back()));
  }
  report.add("page_ms", "the slowest of these", worst_warm, "ms", Report::Target{kLower, 20});
}

int run(const Options& options) {
  Report report(options, "Ten million cases");
  bench_backlog(options, report);
  bench_pages(options, report);
  return 0;
}

}  // namespace
}  // namespace puzzled::bench

int main(int argc, char** argv) {
  return puzzled::bench::run(
      puzzled::bench::parse_options(argc, argv, "Large backlogs and pages of large jobs"));
}
