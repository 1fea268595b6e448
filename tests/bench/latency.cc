// One case at a time: from its submission until its result has been read, through the client
// library, with the daemon idle. Beside bare commits to the same disk, in turn with them.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "client/calls.h"
#include "client/upload.h"
#include "proto/wire.h"
#include "tests/bench/bare_sqlite.h"
#include "tests/bench/daemon.h"
#include "tests/bench/support.h"
#include "workers/puzzles/bishops/bishops.h"

namespace puzzled::bench {
namespace {

constexpr auto kLower = Report::Better::kLower;

class OneCase : public client::ChunkSource {
 public:
  bool next(client::Chunk& chunk, bool) override {
    if (std::exchange(given_, true)) return false;
    proto::Case content;
    std::string instance;
    bishops::encode_instance({8, 6}, instance);
    content.set_instance(instance);
    proto::File file;
    file.set_path("one");
    file.set_first_case(1);
    file.set_case_count(1);
    chunk = {};
    chunk.files.push_back(std::move(file));
    chunk.case_count = 1;
    wire::append_case(content.SerializeAsString(), chunk.cases);
    return true;
  }

 private:
  bool given_ = false;
};

class Silent : public client::UploadObserver {
  void opened(std::uint64_t, std::uint32_t) override {}
  void advanced(std::uint64_t) override {}
  void paused(std::string_view reason) override { give_up(std::string(reason)); }
};

// Seconds from the start of the submission until the row of its result is here.
double one_case(Daemon& daemon) {
  OneCase source;
  Silent observer;
  client::UploadRequest request{client::new_request_id(), {}, false};
  request.spec.set_puzzle("bishops");
  request.spec.set_solver(std::string(bishops::puzzle().solvers.front().name));
  request.spec.mutable_limits()->set_time_limit_us(10'000'000);
  request.spec.mutable_limits()->set_memory_limit_bytes(256U << 20U);
  request.spec.mutable_limits()->set_answer_bytes_max(16U << 20U);
  const double start = wall_s();
  const std::uint64_t job = client::upload(daemon.connection(), request, source, observer);
  proto::ClientRequest wait;
  wait.mutable_wait_job()->set_job(job);
  daemon.call(wait);
  proto::ListResults list;
  list.set_job(job);
  client::ResultsCursor rows(daemon.connection(), list);
  const proto::ResultRow* row = rows.next();
  if (row == nullptr || row->verdict() != proto::SOLVED) give_up("the result is missing");
  return wall_s() - start;
}

int run(const Options& options) {
  const Folder folder;
  Daemon daemon(folder, 2);
  BareSqlite bare(folder.path("bare.db"));
  for (int i = 0; i < 50; ++i) one_case(daemon);
  std::vector<double> cases;
  std::vector<double> commits;
  for (std::uint64_t i = 0; i < options.scaled(2'000); ++i) {
    std::ranges::copy(bare.commits(2), std::back_inserter(commits));
    cases.push_back(one_case(daemon) * 1e3);
  }
  const double commit_p50 = quantile(commits, 0.5) * 1e3;
  const double commit_p99 = quantile(commits, 0.99) * 1e3;
  Report report(options, fmt::format("Latency of one case, daemon idle ({} cases)", cases.size()));
  report.add("", "bare SQLite commit of one row, p50", commit_p50, "ms");
  report.add("", "the same, p99", commit_p99, "ms");
  report.add("latency_p50_ms", "submit to result, p50", quantile(cases, 0.5), "ms",
             Report::Target{kLower, 2 * commit_p50 + 1}, "two commits + 1 ms");
  report.add("latency_p99_ms", "submit to result, p99", quantile(cases, 0.99), "ms",
             Report::Target{kLower, 2 * commit_p99 + 3}, "two p99 commits + 3 ms");
  report.add("", "start of the daemon on an empty store", daemon.start_s() * 1e3, "ms",
             Report::Target{kLower, 50});
  report.add("", "until both of its workers were ready", daemon.workers_s() * 1e3, "ms",
             Report::Target{kLower, 100}, "50 for the daemon, 50 for the worker");
  return 0;
}

}  // namespace
}  // namespace puzzled::bench

int main(int argc, char** argv) {
  return puzzled::bench::run(
      puzzled::bench::parse_options(argc, argv, "Submission to result of one case"));
}
