#include "daemon/net/metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/base/verdict.h"

namespace puzzled {
namespace {

class Text {
 public:
  void begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                   type);
  }
  template <class Number>
  void sample(Number value) {
    fmt::format_to(std::back_inserter(text_), "{} {}\n", name_, value);
  }
  template <class Number>
  void sample(std::string_view labels, Number value, std::string_view suffix = "") {
    fmt::format_to(std::back_inserter(text_), "{}{}{{{}}} {}\n", name_, suffix, labels, value);
  }
  template <class Number>
  void gauge(std::string_view name, std::string_view help, Number value) {
    begin(name, "gauge", help);
    sample(value);
  }
  template <class Number>
  void counter(std::string_view name, std::string_view help, Number value) {
    begin(name, "counter", help);
    sample(value);
  }
  // A sample without labels, of a histogram.
  template <class Number>
  void total(std::string_view suffix, Number value) {
    fmt::format_to(std::back_inserter(text_), "{}{} {}\n", name_, suffix, value);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string_view name_;
  std::string text_;
};

// A label's value in quotes: '\', '"' and line ends would end it.
std::string in_quotes(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return out + '"';
}

double seconds(std::uint64_t ms) { return static_cast<double>(ms) / 1e3; }
double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

void add_cases(Text& text, const Metrics& metrics) {
  const CommitCounts& commits = metrics.commits;
  text.counter("puzzled_accepted_jobs_total", "Jobs opened.", commits.jobs);
  text.counter("puzzled_accepted_cases_total", "Cases accepted: they are on disk.", commits.cases);
  text.begin("puzzled_results_total", "counter", "Results on disk, by verdict.");
  for (std::size_t verdict = 1; verdict < kVerdictCount; ++verdict) {
    // Nobody grades a cancelled case: that is what its job is.
    if (static_cast<Verdict>(verdict) == Verdict::kCancelled) continue;
    text.sample(fmt::format("verdict={}", in_quotes(kVerdictNames[verdict])),
                commits.results[verdict]);
  }
  text.counter("puzzled_cached_results_total", "Of them, answers that were known.", commits.cached);
  text.counter("puzzled_answer_cache_hits_total", "Cases whose answer was looked up and found.",
               commits.known_answers);
  text.counter("puzzled_answer_cache_misses_total",
               "Cases of chunks that were looked up whose answer was not found.",
               commits.unknown_answers);
  text.gauge("puzzled_answer_cache_bytes", "Room of the answers that can be found.",
             metrics.answer_bytes);
  text.counter("puzzled_charged_attempts_total",
               "Attempts that ended with their worker and were charged to a case.",
               commits.attempts);
}

// A row for each puzzle and solver: what is required of workers would be a label without bounds.
std::vector<LaneDemand> folded(const std::vector<LaneDemand>& lanes) {
  std::vector<LaneDemand> rows;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
  for (const LaneDemand& lane : lanes) {
    const auto [place, is_new] = places.try_emplace({lane.puzzle, lane.solver}, rows.size());
    if (is_new) {
      rows.push_back(lane);
      continue;
    }
    LaneDemand& row = rows[place->second];
    row.open_cases += lane.open_cases;
    row.leased_cases += lane.leased_cases;
    row.slots_wanted += lane.slots_wanted;
    // Who meets requirements is among those who offer the solver.
    row.slots = std::max(row.slots, lane.slots);
    const bool is_plain = lane.require.empty() && lane.solver_version.empty();
    if (row.case_us == 0 || (is_plain && lane.case_us > 0)) row.case_us = lane.case_us;
  }
  return rows;
}

void add_demand(Text& text, const Metrics& metrics) {
  const Demand& demand = metrics.demand;
  text.gauge("puzzled_open_jobs", "Jobs that are neither done nor cancelled.",
             metrics.load.open_jobs);
  text.gauge("puzzled_open_cases", "Cases of open jobs without a result.", demand.open_cases);
  text.gauge("puzzled_wanted_slots", "Slots that the open cases could keep busy.",
             demand.slots_wanted);
  text.gauge("puzzled_slots", "Slots of connected workers that take cases.", demand.slots);
  text.gauge("puzzled_workers", "Connected workers.", metrics.load.workers);
  text.gauge("puzzled_leases", "Dispatches that workers hold.", metrics.load.leases);

  const std::vector<LaneDemand> rows = folded(demand.lanes);
  const auto by_lane = [&](std::string_view name, std::string_view help, auto value) {
    text.begin(name, "gauge", help);
    for (const LaneDemand& lane : rows) {
      text.sample(
          fmt::format("puzzle={},solver={}", in_quotes(lane.puzzle), in_quotes(lane.solver)),
          value(lane));
    }
  };
  by_lane("puzzled_lane_open_cases", "Cases without a result, by puzzle and solver.",
          [](const LaneDemand& lane) { return lane.open_cases; });
  by_lane("puzzled_lane_leased_cases", "Of them, cases that a worker has.",
          [](const LaneDemand& lane) { return lane.leased_cases; });
  by_lane("puzzled_lane_wanted_slots", "Slots that they could keep busy.",
          [](const LaneDemand& lane) { return lane.slots_wanted; });
  by_lane("puzzled_lane_slots", "Slots of connected workers that offer this solver.",
          [](const LaneDemand& lane) { return lane.slots; });
  by_lane("puzzled_lane_case_seconds", "Learned time of a case; 0: not known yet.",
          [](const LaneDemand& lane) { return lane.case_us / 1e6; });
}

void add_store(Text& text, const Metrics& metrics) {
  const CommitCounts& commits = metrics.commits;
  text.gauge("puzzled_store_queue_bytes", "Cases and results on their way to the disk.",
             metrics.load.store_queue_bytes);
  text.gauge("puzzled_wal_bytes", "Size of the write-ahead log.", metrics.load.log_bytes);
  text.gauge("puzzled_wal_reader_age_seconds",
             "How long a reader has kept the write-ahead log from starting again.",
             seconds(metrics.load.reader_age_ms));
  text.gauge("puzzled_writes_slowed", "1: every transaction waits, since that log is nearly full.",
             metrics.load.is_slow ? 1 : 0);
  text.begin("puzzled_commit_duration_seconds", "histogram",
             "Time of a transaction, from its begin until it is on disk.");
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < commits.commits.size(); ++i) {
    sum += commits.commits[i];
    const bool is_last = i == kCommitBounds.size();
    const std::string bound =
        is_last ? "+Inf"
                : fmt::format("{}", std::chrono::duration<double>(kCommitBounds[i]).count());
    text.sample(fmt::format("le=\"{}\"", bound), sum, "_bucket");
  }
  text.total("_sum", std::chrono::duration<double>(commits.commit_time).count());
  text.total("_count", sum);
}

void add_peers(Text& text, const Metrics& metrics) {
  text.gauge("puzzled_client_connections", "Connections of clients.", metrics.load.clients);
  text.gauge("puzzled_waiting_queries", "Queries that wait for the database.",
             metrics.load.waiting_queries);
  text.gauge("puzzled_unsent_bytes", "Bytes for peers that read too slowly.",
             metrics.load.unsent_bytes);
  text.gauge("puzzled_barred_workers", "Workers that failed a canary and are kept out.",
             metrics.load.barred_workers);
  text.counter("puzzled_refused_handshakes_total",
               "Encrypted connections refused: unknown key, or no encryption.",
               metrics.facts.refused_handshakes);
  text.counter("puzzled_refused_connections_total",
               "Connections refused: too many, or no file descriptor left.",
               metrics.refused_connections);
  text.begin("puzzled_refused_messages_total", "counter", "Messages refused, by reason.");
  text.sample("reason=\"key\"", metrics.facts.refused_messages);
  text.sample("reason=\"client\"", metrics.refused_client_messages);
  text.sample("reason=\"worker\"", metrics.refused_worker_messages);
}

void add_process(Text& text, const Metrics& metrics, const ProcessFigures& process) {
  text.begin("puzzled_build_info", "gauge", "Always 1; the version is its label.");
  text.sample(fmt::format("version={}", in_quotes(PUZZLED_VERSION)), 1);
  text.gauge("puzzled_intake_paused", "1: submissions are refused; puzzlectl status says why.",
             metrics.load.intake_paused.empty() ? 0 : 1);
  text.gauge("puzzled_draining", "1: the daemon is about to end.", metrics.is_draining ? 1 : 0);
  text.gauge("process_start_time_seconds", "When the daemon started, Unix time.",
             seconds(static_cast<std::uint64_t>(metrics.facts.started_ms)));
  text.counter("process_cpu_seconds_total", "CPU time of the daemon, without its workers.",
               process.cpu_seconds);
  text.gauge("process_resident_memory_bytes", "Memory of the daemon.", process.resident_bytes);
  text.gauge("process_open_fds", "Open file descriptors.", process.open_files);
  text.gauge("process_max_fds", "File descriptors that may be open.", process.open_files_max);
}

}  // namespace

ProcessFigures process_figures() {
  ProcessFigures figures;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    figures.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) figures.open_files_max = limit.rlim_cur;
  std::uint64_t pages = 0;
  if (std::ifstream in("/proc/self/statm"); in >> pages >> pages) {
    figures.resident_bytes = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; !error && it != end;
       it.increment(error)) {
    ++figures.open_files;
  }
  return figures;
}

std::string metrics_text(const Metrics& metrics, const ProcessFigures& process) {
  Text text;
  add_cases(text, metrics);
  add_demand(text, metrics);
  add_store(text, metrics);
  add_peers(text, metrics);
  add_process(text, metrics, process);
  return text.take();
}

}  // namespace puzzled
