// Pages of 1,000 results out of a job of ten million.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "tests/bench/daemon.h"
#include "tests/bench/filler.h"
#include "tests/bench/support.h"

namespace puzzled::bench {
namespace {

constexpr auto kLower = Report::Better::kLower;

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
      {fmt::format("one case in {} by verdict", kRareEvery), 0, proto::CRASHED},
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
  Report report(options, "Pages of 1,000 results out of ten million");
  bench_pages(options, report);
  return 0;
}

}  // namespace
}  // namespace puzzled::bench

int main(int argc, char** argv) {
  return puzzled::bench::run(puzzled::bench::parse_options(argc, argv, "Pages of results"));
}
