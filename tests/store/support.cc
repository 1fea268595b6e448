#include "tests/store/support.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>

#include "daemon/store/check.h"
#include "proto/wire.h"

namespace puzzled {

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "puzzled-store-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<Finding> check(const std::string& path, std::uint32_t page_ms) {
  sqlite::Connection connection(path, sqlite::Connection::Mode::kReadOnly);
  Checker checker(connection, {.page_ms = page_ms});
  std::vector<Finding> findings;
  std::vector<std::uint64_t> cursor;
  do {
    query::CheckPage page = checker.page(cursor);
    std::ranges::move(page.findings, std::back_inserter(findings));
    cursor = page.cursor;
  } while (!cursor.empty());
  return findings;
}

Bytes16 bytes16(std::uint8_t fill) {
  Bytes16 bytes{};
  bytes.fill(fill);
  return bytes;
}

std::string case_bytes(std::uint64_t case_no) {
  // Every third case is long enough for a length of two bytes.
  return fmt::format("case {}{}", case_no, std::string(case_no % 3 == 0 ? 200 : 0, '.'));
}

ChunkCasesPtr chunk_cases(std::uint64_t first_case, std::uint32_t count) {
  auto cases = std::make_shared<ChunkCases>();
  for (std::uint32_t i = 0; i < count; ++i) {
    wire::append_case(case_bytes(first_case + i), cases->bytes);
  }
  cases->offsets = wire::split_cases(cases->bytes).value();
  return cases;
}

record::InsertJob insert_job(std::uint64_t job, const std::string& name) {
  auto spec = std::make_shared<JobSpec>();
  spec->name = name;
  spec->puzzle = "bishops";
  spec->solver = "staircase";
  spec->priority = -7;
  spec->limits = {.time_limit_us = 1, .memory_limit_bytes = 2, .answer_bytes_max = 3};
  spec->require = {{"gpu", "a100 = big"}, {"os", "línux"}};
  spec->solver_version = "7";
  return {.job = {job},
          .request_id = bytes16(static_cast<std::uint8_t>(job)),
          .spec = std::move(spec),
          .created_ms = 1000 + static_cast<std::int64_t>(job)};
}

record::InsertWorker insert_worker(std::uint64_t worker) {
  return {.worker = {worker},
          .start_id = bytes16(static_cast<std::uint8_t>(worker)),
          .name = fmt::format("worker {}", worker),
          .host = "host",
          .pid = 4711,
          .version = "1",
          .connected_ms = 5};
}

record::InsertChunk insert_chunk(std::uint64_t job, ChunkNo chunk_no, std::uint64_t first_case,
                                 std::uint32_t count, std::uint64_t first_file_no,
                                 std::vector<FileEntry> files) {
  ChunkCasesPtr cases = chunk_cases(first_case, count);
  // What a client sends; with files it would cover them, too.
  const std::uint64_t hash =
      files.empty() ? wire::chunk_hash(cases->bytes, {}) : 0xf000000000000000ULL + chunk_no;
  return {.job = {job},
          .chunk_no = chunk_no,
          .first_case = {first_case},
          .cases = std::move(cases),
          .first_file_no = first_file_no,
          .files = std::move(files),
          .hash = hash};
}

record::InsertResults insert_results(std::uint64_t job, const std::vector<Graded>& cases) {
  record::InsertResults record{.job = {job},
                               .worker = {1},
                               .solver_version = "solver 1",
                               .attempt = 1,
                               .graded_ms = 77,
                               .results = {},
                               .rows = {}};
  auto body = std::make_shared<std::string>();
  for (const Graded& graded : cases) *body += graded.answer + graded.message;
  std::string_view rest = *body;
  const auto cut = [&rest](std::size_t length) {
    const std::string_view part = rest.substr(0, length);
    rest.remove_prefix(length);
    return part;
  };
  for (const Graded& graded : cases) {
    const auto index = static_cast<std::uint32_t>(record.rows.size());
    record.results.results.push_back({.position = index,
                                      .verdict = graded.verdict,
                                      .time_us = graded.case_no * 10,
                                      .memory_bytes = graded.case_no * 100,
                                      .has_answer = !graded.answer.empty(),
                                      .answer = cut(graded.answer.size()),
                                      .message = cut(graded.message.size())});
    record.rows.push_back(
        {.case_no = {graded.case_no}, .chunk_no = graded.chunk_no, .index = index});
  }
  record.results.body = std::move(body);
  return record;
}

void write(Store& store, const std::vector<Record>& records) {
  store.begin();
  for (const Record& record : records) store.apply(record);
  store.commit();
}

std::int64_t look(const std::string& path, const std::string& sql) {
  sqlite::Connection connection(path, sqlite::Connection::Mode::kReadOnly);
  return connection.integer(sql);
}

StoreOptions unhurried() {
  StoreOptions options;
  options.snapshot_ms_max = 3'600'000;
  return options;
}

std::uint64_t test_seed() {
  const char* given = std::getenv("PUZZLED_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("PUZZLED_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace puzzled
