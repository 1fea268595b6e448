#include "daemon/store/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "daemon/store/check_chunk.h"
#include "daemon/store/check_rows.h"
#include "daemon/store/keys.h"
#include "daemon/store/migrate.h"
#include "daemon/store/progress.h"
#include "proto/base/digest.h"

namespace puzzled {
namespace {

using Clock = std::chrono::steady_clock;
using Numbers = std::vector<std::uint64_t>;
using Counts = std::array<std::uint64_t, kVerdictCount>;

constexpr int kIntegrityLinesMax = 20;
constexpr std::uint64_t kStraysCounted = 1'000;

enum Part : std::uint64_t { kPartFile, kPartJobs, kPartAttempts, kPartProofs, kPartEnd };

struct Cursor {
  std::uint64_t part = kPartFile;
  std::uint64_t in_job = 0;  // 1: `at` is somewhere inside a job; 0: that job is checked
  JobCheck at;
  Counts before{};                   // the job's totals when its check began
  std::uint64_t revised_before = 0;  // likewise
  std::uint64_t cached_before = 0;   // likewise
  std::uint64_t chunks_done = 0;
  std::uint64_t attempt = 0;  // row of the last one checked
  std::uint64_t stretch = 0;  // likewise
  std::uint64_t answer = 0;   // likewise

  // All of it as numbers, in this order.
  template <class Visit>
  void each(const Visit& visit) {
    for (std::uint64_t* number :
         {&part, &in_job, &at.job.value, &at.chunk_no, &at.next_case, &at.next_file, &at.file_cases,
          &at.digest, &at.revised, &at.cached, &revised_before, &cached_before, &chunks_done,
          &attempt, &stretch, &answer}) {
      visit(*number);
    }
    for (std::uint64_t& number : at.verdicts) visit(number);
    for (std::uint64_t& number : before) visit(number);
  }
};

Numbers numbers_of(Cursor cursor) {
  Numbers numbers;
  cursor.each([&](std::uint64_t& number) { numbers.push_back(number); });
  return numbers;
}

Cursor cursor_of(const Numbers& numbers) {
  Cursor cursor;
  if (numbers.size() != numbers_of(cursor).size()) return cursor;
  std::size_t i = 0;
  cursor.each([&](std::uint64_t& number) { number = numbers[i++]; });
  // What becomes a key stays inside its bits.
  cursor.at.job.value = std::min(cursor.at.job.value, keys::kJobMax);
  for (std::uint64_t* number : {&cursor.at.chunk_no, &cursor.at.next_case, &cursor.at.next_file}) {
    *number = std::min<std::uint64_t>(*number, keys::kCaseMax);
  }
  return cursor;
}

// What is stored of a job, as the page's snapshot sees it.
struct JobFacts {
  JobId job;
  std::uint64_t chunk_count = 0;
  std::uint64_t case_count = 0;
  std::uint64_t file_count = 0;
  std::uint64_t digest = 0;
  bool sealed = false;
  bool cancelled = false;
  bool finished = false;
  bool id_fits = false;
  std::uint64_t revised = 0;
  std::uint64_t done = 0;
  Counts verdicts{};
  std::uint64_t versions_done = 0;
  std::uint64_t cached = 0;
};

std::string jobs_sql(const char* condition) {
  return fmt::format(
      "SELECT j.job, j.chunk_count, j.case_count, j.file_count, j.digest, j.sealed_ms IS NOT NULL, "
      "j.cancelled_ms IS NOT NULL, j.finished_ms IS NOT NULL, length(j.request_id) = 16, "
      "j.revised, coalesce(t.done, 0), {0}, (SELECT coalesce(sum(v.cases), 0) FROM job_versions v "
      "WHERE v.job = j.job), coalesce(t.cached, 0) FROM jobs j LEFT JOIN totals t ON t.id = j.job "
      "<< 7 | {1} {2}",
      kCountedColumns, keys::kFirstGeneration, condition);
}

// A table whose keys begin with the job, and so the places where it must have no rows.
struct KeyedTable {
  const char* name;
  unsigned job_shift;
};
constexpr auto kKeyedTables = std::to_array<KeyedTable>({{"chunks", 32},
                                                         {"chunk_cases", 32},
                                                         {"chunk_keys", 32},
                                                         {"files", 32},
                                                         {"progress", 39},
                                                         {"totals", 7},
                                                         {"results", 39}});

}  // namespace

struct Checker::Impl {
  Impl(sqlite::Connection& c, const CheckOptions& with)
      : connection(c), options(with), begin(c, "BEGIN"), end(c, "COMMIT") {}

  // They need the schema to be the one of this program.
  struct Statements {
    explicit Statements(sqlite::Connection& c)
        : next_job(c, jobs_sql("WHERE j.job > ? ORDER BY j.job LIMIT 1")),
          job(c, jobs_sql("WHERE j.job = ?")),
          row_checker(c),
          chunk_checker(c) {
      for (const KeyedTable& table : kKeyedTables) {
        strays.push_back(std::make_unique<sqlite::Statement>(
            c, fmt::format("SELECT min(id), count(*) FROM (SELECT id FROM {} WHERE id >= ? AND "
                           "id <= ? ORDER BY id LIMIT {})",
                           table.name, kStraysCounted)));
      }
    }
    sqlite::Statement next_job, job;
    RowChecker row_checker;
    ChunkChecker chunk_checker;
    std::vector<std::unique_ptr<sqlite::Statement>> strays;  // as kKeyedTables
  };

  void report(Rule rule, std::string text, JobId job = {}, std::uint64_t case_no = 0) {
    page.findings.push_back(
        {.rule = rule, .job = job, .chunk = {}, .case_no = {case_no}, .text = std::move(text)});
  }
  bool check_file();
  // One small piece of work; false: there is no more.
  bool advance(Cursor& cursor);
  void advance_jobs(Cursor& cursor);
  void start_job(Cursor& cursor, const JobFacts& job);
  void end_job(const Cursor& cursor, const JobFacts& job);
  void check_facts(const JobFacts& job);
  void check_counts(const Cursor& cursor, const JobFacts& job);
  std::optional<JobFacts> read(sqlite::Statement& by_id, JobId id);
  // No table may have rows between these: `first` and `last` give the keys for each table.
  void check_strays(std::size_t table, std::uint64_t first, std::uint64_t last, JobId job);
  void check_strays_before(JobId previous, JobId job);
  void check_strays_after(const JobFacts& job);

  sqlite::Connection& connection;
  const CheckOptions options;
  sqlite::Statement begin, end;
  std::unique_ptr<Statements> statements;
  query::CheckPage page;
};

Checker::Checker(sqlite::Connection& connection, const CheckOptions& options)
    : impl_(std::make_unique<Impl>(connection, options)) {}
Checker::~Checker() = default;

query::CheckPage Checker::page(const std::vector<std::uint64_t>& numbers) {
  Impl& impl = *impl_;
  Cursor cursor = cursor_of(numbers);
  impl.page = {};
  const auto until = Clock::now() + std::chrono::milliseconds(impl.options.page_ms);
  impl.begin.run();
  try {
    bool more = true;
    do {
      more = impl.advance(cursor);
    } while (more && Clock::now() < until && impl.page.findings.size() < impl.options.findings_max);
    if (more) impl.page.cursor = numbers_of(cursor);
    impl.page.chunks_done = cursor.chunks_done;
    if (impl.statements) {
      impl.page.chunk_count =
          static_cast<std::uint64_t>(impl.connection.integer("SELECT sum(chunk_count) FROM jobs"));
    }
    impl.end.run();
  } catch (...) {
    if (impl.connection.in_transaction()) impl.connection.exec("ROLLBACK");
    throw;
  }
  return std::move(impl.page);
}

bool Checker::Impl::advance(Cursor& cursor) {
  if (cursor.part == kPartFile) {
    if (!check_file()) return false;
    cursor.part = kPartJobs;
    return true;
  }
  if (!statements) statements = std::make_unique<Statements>(connection);
  if (cursor.part == kPartJobs) {
    advance_jobs(cursor);
  } else if (cursor.part == kPartAttempts) {
    if (!statements->row_checker.check_attempts(cursor.attempt, page.findings)) {
      cursor.part = kPartProofs;
    }
  } else if (cursor.part == kPartProofs) {
    RowChecker& rows = statements->row_checker;
    if (!rows.check_unproven(cursor.stretch, page.findings) &&
        !rows.check_answers(cursor.answer, page.findings)) {
      cursor.part = kPartEnd;
    }
  }
  return cursor.part < kPartEnd;
}

// ---- The file. False: the rest cannot be checked.

bool Checker::Impl::check_file() {
  const std::int64_t version = connection.integer("PRAGMA user_version");
  if (connection.integer("PRAGMA application_id") != kApplicationId) {
    report(Rule::kSchema, "the file is no database of puzzled");
    return false;
  }
  if (version != schema_version()) {
    report(Rule::kSchema, fmt::format("the database has schema {}, this program knows {}", version,
                                      schema_version()));
    return false;
  }
  const auto bytes = static_cast<std::uint64_t>(connection.integer("PRAGMA page_count") *
                                                connection.integer("PRAGMA page_size"));
  page.integrity_skipped = bytes > options.integrity_bytes_max;
  if (!page.integrity_skipped) {
    sqlite::Statement rows(connection,
                           fmt::format("PRAGMA integrity_check({})", kIntegrityLinesMax));
    while (rows.step()) {
      if (rows.bytes(0) != "ok") report(Rule::kFile, rows.string(0));
    }
    if (!page.findings.empty()) return false;
  }
  statements = std::make_unique<Statements>(connection);
  if (connection.integer("SELECT count(*) FROM meta") != 1 ||
      connection.integer("SELECT boot FROM meta") < 0) {
    report(Rule::kSchema, "there is no boot number, or more than one");
  }
  return true;
}

// ---- Jobs.

std::optional<JobFacts> Checker::Impl::read(sqlite::Statement& row, JobId id) {
  const sqlite::ResetAtEnd reset(row);
  row.bind(id.value);
  if (!row.step()) return std::nullopt;
  JobFacts job{.job = {row.number(0)},
               .chunk_count = row.number(1),
               .case_count = row.number(2),
               .file_count = row.number(3),
               .digest = row.number(4),
               .sealed = row.integer(5) != 0,
               .cancelled = row.integer(6) != 0,
               .finished = row.integer(7) != 0,
               .id_fits = row.integer(8) != 0,
               .revised = row.number(9),
               .done = row.number(10)};
  int column = 11;
  for (const Verdict verdict : kCountedVerdicts) {
    job.verdicts[static_cast<std::size_t>(verdict)] = row.number(column++);
  }
  job.versions_done = row.number(column++);
  job.cached = row.number(column);
  return job;
}

void Checker::Impl::advance_jobs(Cursor& cursor) {
  if (cursor.in_job == 0) {
    const auto job = read(statements->next_job, cursor.at.job);
    check_strays_before(cursor.at.job, job ? job->job : JobId{keys::kJobMax + 1});
    if (!job) {
      cursor.part = kPartAttempts;
      return;
    }
    return start_job(cursor, *job);
  }
  const auto job = read(statements->job, cursor.at.job);
  if (job && cursor.at.chunk_no < job->chunk_count) {
    statements->chunk_checker.check(cursor.at, job->file_count, job->revised > 0, page.findings);
    ++cursor.chunks_done;
    return;
  }
  if (job) end_job(cursor, *job);
  cursor.in_job = 0;
}

void Checker::Impl::start_job(Cursor& cursor, const JobFacts& job) {
  cursor.at = {};
  cursor.at.job = job.job;
  cursor.at.digest = wire::kEmptyDigest;
  cursor.before = job.verdicts;
  cursor.revised_before = job.revised;
  cursor.cached_before = job.cached;
  cursor.in_job = 1;
}

void Checker::Impl::end_job(const Cursor& cursor, const JobFacts& job) {
  check_facts(job);
  check_counts(cursor, job);
  check_strays_after(job);
}

void Checker::Impl::check_facts(const JobFacts& job) {
  if (job.job.value == 0 || job.job.value > keys::kJobMax || !job.id_fits) {
    report(Rule::kFacts, "the job's number or request id cannot be one", job.job);
  }
  if (job.finished && (!job.sealed || job.cancelled)) {
    report(Rule::kFacts,
           fmt::format("the job is noted as finished, and as {}",
                       job.cancelled ? "cancelled" : "still being uploaded"),
           job.job);
  }
  const bool all_done = job.sealed && !job.cancelled && job.done == job.case_count;
  if (all_done != job.finished && !job.cancelled) {
    report(Rule::kFacts,
           fmt::format("{} of {} cases are done, but the job is {} as finished", job.done,
                       job.case_count, job.finished ? "noted" : "not noted"),
           job.job);
  }
}

// Chunks are only ever added and cases only ever done, so what was counted over several pages lies
// between the totals before and now, and is equal to both of them if nothing was graded meanwhile.
// Unless results were taken back in between: then their verdicts are compared the next time.
void Checker::Impl::check_counts(const Cursor& cursor, const JobFacts& job) {
  const JobCheck& at = cursor.at;
  const auto differs = [&](Rule rule, std::string_view what, std::uint64_t noted,
                           std::uint64_t found) {
    if (noted == found) return;
    report(rule, fmt::format("the job is noted with {} {}, its chunks have {}", noted, what, found),
           job.job);
  };
  differs(Rule::kLedger, "cases", job.case_count, at.next_case - 1);
  if (at.digest != job.digest) {
    report(Rule::kCases, "the digest of the job's chunks is not the one that was noted", job.job);
  }
  differs(Rule::kFiles, "files", job.file_count, at.next_file - 1);
  if (job.sealed && job.file_count > 0 && at.file_cases != job.case_count) {
    report(
        Rule::kFiles,
        fmt::format("the job's files have {} cases, the job has {}", at.file_cases, job.case_count),
        job.job);
  }
  if (at.revised < cursor.revised_before || at.revised > job.revised) {
    report(Rule::kLedger,
           fmt::format("the job is noted with {} results that were taken back, its chunks have {}",
                       job.revised, at.revised),
           job.job);
  }
  const bool was_revised = job.revised != cursor.revised_before;
  std::uint64_t sum = 0;
  for (std::size_t verdict = 0; verdict < kVerdictCount; ++verdict) {
    sum += job.verdicts[verdict];
    const std::uint64_t found = at.verdicts[verdict];
    if (was_revised || (found >= cursor.before[verdict] && found <= job.verdicts[verdict])) {
      continue;
    }
    report(Rule::kLedger,
           fmt::format("the job is noted with {} {}, its chunks have {}", job.verdicts[verdict],
                       kVerdictNames[verdict], found),
           job.job);
  }
  if (!was_revised && (at.cached < cursor.cached_before || at.cached > job.cached)) {
    report(Rule::kLedger,
           fmt::format("the job is noted with {} answers that were known, its chunks have {}",
                       job.cached, at.cached),
           job.job);
  }
  if (sum != job.done) {
    report(Rule::kLedger,
           fmt::format("{} cases are noted as done, their verdicts sum to {}", job.done, sum),
           job.job);
  }
  if (job.versions_done != job.done) {
    report(Rule::kLedger,
           fmt::format("{} cases are noted as done, their solver versions sum to {}", job.done,
                       job.versions_done),
           job.job);
  }
}

// ---- Rows that belong to nothing.

void Checker::Impl::check_strays(std::size_t table, std::uint64_t first, std::uint64_t last,
                                 JobId job) {
  if (first > last) return;
  sqlite::Statement& rows = *statements->strays[table];
  const sqlite::ResetAtEnd reset(rows);
  rows.bind(first, last);
  if (!rows.step() || rows.integer(1) == 0) return;
  const std::uint64_t count = rows.number(1);
  report(Rule::kStray,
         fmt::format("{}{} {} in table {} {} to no {}, the first has id {}",
                     count == kStraysCounted ? "at least " : "", count, count == 1 ? "row" : "rows",
                     kKeyedTables[table].name, count == 1 ? "belongs" : "belong",
                     job.value == 0 ? "job" : "case or file of the job", rows.integer(0)),
         job);
}

void Checker::Impl::check_strays_before(JobId previous, JobId job) {
  for (std::size_t i = 0; i < kKeyedTables.size(); ++i) {
    const unsigned shift = kKeyedTables[i].job_shift;
    const std::uint64_t last = job.value > keys::kJobMax ? std::numeric_limits<std::int64_t>::max()
                                                         : (job.value << shift) - 1;
    check_strays(i, (previous.value + 1) << shift, last, {});
  }
}

void Checker::Impl::check_strays_after(const JobFacts& job) {
  const std::array<std::int64_t, kKeyedTables.size()> first = {
      keys::chunk(job.job, 0), keys::chunk(job.job, 0),    keys::chunk(job.job, 0),
      keys::file(job.job, 1),  keys::progress(job.job, 0), keys::totals(job.job),
      keys::result(job.job, 1)};
  const std::array<std::uint64_t, kKeyedTables.size()> count = {
      job.chunk_count, job.chunk_count, job.chunk_count, job.file_count, job.chunk_count, 1,
      job.case_count};
  for (std::size_t i = 0; i < kKeyedTables.size(); ++i) {
    const unsigned shift = kKeyedTables[i].job_shift;
    const auto start = static_cast<std::uint64_t>(first[i]);
    check_strays(i, job.job.value << shift, start - 1, job.job);
    if (i + 1 < kKeyedTables.size() || job.revised == 0) {
      check_strays(i, start + count[i], ((job.job.value + 1) << shift) - 1, job.job);
      continue;
    }
    // Results: between the last case of a generation and the first, 1, of the next.
    for (std::uint64_t g = keys::kFirstGeneration; g <= keys::kGenerationMax; ++g) {
      const auto first_of = static_cast<std::uint64_t>(keys::result(job.job, 1, g));
      check_strays(i, first_of + job.case_count,
                   std::min(first_of + keys::kCaseMax, ((job.job.value + 1) << shift) - 1),
                   job.job);
    }
  }
}

}  // namespace puzzled
