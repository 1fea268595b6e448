#include "daemon/store/store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "daemon/store/failure.h"
#include "daemon/store/keys.h"
#include "daemon/store/labels.h"
#include "daemon/store/migrate.h"
#include "daemon/store/new_database.h"
#include "proto/base/assert.h"
#include "proto/wire.h"

namespace puzzled {
namespace {

std::string prepared_path(const std::string& path) {
  prepare_database_file(path);
  refuse_cut_off_database(path);
  return path;
}

// The file, whose lock the caller holds, with a database in it.
const std::string& filled(const std::string& path) {
  create_if_empty(path);
  return path;
}

}  // namespace

struct Store::Statements {
  explicit Statements(sqlite::Connection& c)
      : begin(c, "BEGIN IMMEDIATE"),
        commit(c, "COMMIT"),
        insert_job(c,
                   "INSERT INTO jobs (job, request_id, name, puzzle, solver, priority, "
                   "time_limit_us, memory_limit_bytes, answer_bytes_max, created_ms, digest, "
                   "require, solver_version, no_cache) "
                   "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
        insert_chunk(c,
                     "INSERT INTO chunks (id, first_case, case_count, hash, keyed) "
                     "VALUES (?, ?, ?, ?, ?)"),
        insert_cases(c, "INSERT INTO chunk_cases (id, payload) VALUES (?, ?)"),
        insert_file(c, "INSERT INTO files (id, path, first_case, case_count) VALUES (?, ?, ?, ?)"),
        file_end(c, "SELECT first_case + case_count FROM files WHERE id = ?"),
        grown(c, "SELECT digest, chunk_count FROM jobs WHERE job = ?"),
        grow_job(c,
                 "UPDATE jobs SET chunk_count = ?2, case_count = case_count + ?3, "
                 "file_count = file_count + ?4, digest = ?5 WHERE job = ?1"),
        seal_job(c, "UPDATE jobs SET sealed_ms = ?2, digest = ?3 WHERE job = ?1"),
        cancel_job(c, "UPDATE jobs SET cancelled_ms = ?2, cancel_reason = ?3 WHERE job = ?1"),
        finish_job(c, "UPDATE jobs SET finished_ms = ?2 WHERE job = ?1"),
        insert_worker(c,
                      "INSERT INTO workers (worker, start_id, name, host, pid, version, "
                      "connected_ms) VALUES (?, ?, ?, ?, ?, ?, ?)"),
        find_version(c, "SELECT id FROM solver_versions WHERE version = ?"),
        insert_version(c, "INSERT INTO solver_versions (version) VALUES (?)"),
        count_version(c,
                      "INSERT INTO job_versions (job, solver_version, cases) "
                      "VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET "
                      "cases = cases + excluded.cases"),
        insert_attempt(c,
                       "INSERT INTO attempts (job, generation, case_no, attempt, worker, start_id, "
                       "ended_ms, message) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"),
        delete_attempt(c,
                       "DELETE FROM attempts WHERE job = ? AND generation BETWEEN ? AND ? "
                       "AND case_no = ? AND start_id = ?"),
        load_cases(c, "SELECT payload FROM chunk_cases WHERE id = ?"),
        hash(c,
             "SELECT c.hash, j.file_count FROM chunks c JOIN jobs j ON j.job = ?2 WHERE c.id = ?1"),
        chunk_hash(c, "SELECT hash FROM chunks WHERE id = ?") {}

  sqlite::Statement begin, commit, insert_job, insert_chunk, insert_cases, insert_file, file_end,
      grown, grow_job, seal_job, cancel_job, finish_job, insert_worker, find_version,
      insert_version, count_version, insert_attempt, delete_attempt, load_cases, hash, chunk_hash;
};

std::unique_ptr<Store> Store::open(const std::string& path, const StoreOptions& options) {
  try {
    return std::unique_ptr<Store>(new Store(path, options));
  } catch (const sqlite::Error& error) {
    throw store_failure(path, error);
  }
}

Store::Store(const std::string& path, const StoreOptions& options)
    : path_(prepared_path(path)),
      options_(options),
      lock_(path_),
      connection_(filled(path_), sqlite::Connection::Mode::kReadWrite) {
  sqlite3_busy_timeout(connection_.handle(), static_cast<int>(options_.lock_wait_ms));
  refuse_unsuitable(connection_, path_);  // before anything in the file changes
  connection_.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = 2; "
      "PRAGMA cell_size_check = 1");
  connection_.exec(fmt::format("PRAGMA cache_size = -{}; PRAGMA journal_size_limit = {}",
                               options_.cache_bytes / 1024, options_.checkpoint_wal_bytes));
  log_.emplace(connection_, options_);
  migrate(connection_, path_);
  statements_ = std::make_unique<Statements>(connection_);
  rows_ = std::make_unique<ResultRows>(connection_);
  progress_ = std::make_unique<Progress>(connection_);
  files_ = std::make_unique<FileTable>(connection_);
  canaries_ = std::make_unique<CanaryTable>(connection_);
  answers_ = std::make_unique<AnswerTable>(connection_, options_.answer_cache_bytes_max);
}

Store::~Store() {
  rollback();
  statements_.reset();
  rows_.reset();
  progress_.reset();
  files_.reset();
  canaries_.reset();
  answers_.reset();
  // If it fails, the write-ahead log stays behind and is read at the next start: nothing is lost.
  log_->truncate();
}

Fatal Store::failure(const sqlite::Error& error) const { return store_failure(path_, error); }

void Store::begin() { statements_->begin.run(); }

void Store::apply(const Record& record) {
  std::visit([this](const auto& it) { insert(it); }, record);
}

void Store::commit() {
  progress_->flush();
  answers_->trim();
  for (const auto& [of, cases] : version_counts_) {
    statements_->count_version.run(of.first, of.second, cases);
  }
  version_counts_.clear();
  statements_->commit.run();
  progress_->forget();
}

void Store::insert(const record::ReviseResults& record) {
  answers_->forget(record);
  for (const std::int64_t version : canaries_->insert(record, *progress_)) {
    --version_counts_[{record.job.value, version}];
  }
}

void Store::rollback() noexcept {
  if (progress_) progress_->forget();
  if (answers_) answers_->rolled_back();
  solver_versions_.clear();
  version_counts_.clear();
  if (!connection_.in_transaction()) return;  // some errors roll back by themselves
  sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Store::insert(const record::InsertJob& record) {
  const JobSpec& spec = *record.spec;
  ASSERT(record.job.value >= 1 && record.job.value <= keys::kJobMax);
  statements_->insert_job.run(record.job.value,
                              sqlite::Blob{{reinterpret_cast<const char*>(record.request_id.data()),
                                            record.request_id.size()}},
                              std::string_view(spec.name), std::string_view(spec.puzzle),
                              std::string_view(spec.solver), spec.priority,
                              spec.limits.time_limit_us, spec.limits.memory_limit_bytes,
                              spec.limits.answer_bytes_max, record.created_ms, wire::kEmptyDigest,
                              std::string_view(stored_labels(spec.require)),
                              std::string_view(spec.solver_version), spec.no_cache);
}

void Store::insert(const record::InsertChunk& record) {
  const std::uint32_t count = record.cases ? record.cases->count() : 0;
  ASSERT(record.first_case.value + count <= keys::kCaseMax + 1);
  const std::int64_t id = keys::chunk(record.job, record.chunk_no);
  statements_->insert_chunk.run(id, record.first_case.value, count, record.hash,
                                !record.keys.empty());
  if (!record.keys.empty()) answers_->insert_keys(record);
  statements_->insert_cases.run(
      id, sqlite::Blob{record.cases ? std::string_view(record.cases->bytes) : std::string_view()});
  insert_files(record);
  std::uint64_t digest = 0;
  {
    sqlite::Statement& read = statements_->grown;
    const sqlite::ResetAtEnd reset(read);
    read.bind(record.job.value);
    if (!read.step()) {
      throw sqlite::corrupt(fmt::format("job {} is missing", record.job.value));
    }
    digest = read.number(0);
  }
  statements_->grow_job.run(record.job.value, record.chunk_no + std::uint64_t{1}, count,
                            record.files.size(), wire::fold_digest(digest, record.hash));
}

void Store::insert_files(const record::InsertChunk& record) {
  std::uint64_t next_case = 0;  // where the previous file ended; 0: not known yet
  for (std::size_t i = 0; i < record.files.size(); ++i) {
    const FileEntry& file = record.files[i];
    const std::uint64_t file_no = record.first_file_no + i;
    std::uint64_t first_case = file.first_case;
    if (file.case_count == 0) {
      // Ascending first cases are what readers search by: an empty file takes its place too.
      if (next_case == 0) {
        sqlite::Statement& read = statements_->file_end;
        const sqlite::ResetAtEnd reset(read);
        read.bind(keys::file(record.job, file_no - 1));
        next_case = read.step() ? read.number(0) : 1;
      }
      first_case = next_case;
    }
    statements_->insert_file.run(keys::file(record.job, file_no), std::string_view(file.path),
                                 first_case, file.case_count);
    next_case = first_case + file.case_count;
  }
}

void Store::insert(const record::SealJob& record) {
  statements_->seal_job.run(record.job.value, record.sealed_ms, record.digest);
}

void Store::insert(const record::CancelJob& record) {
  statements_->cancel_job.run(record.job.value, record.cancelled_ms,
                              std::string_view(record.reason));
}

void Store::insert(const record::FinishJob& record) {
  statements_->finish_job.run(record.job.value, record.finished_ms);
}

void Store::insert(const record::InsertWorker& record) {
  statements_->insert_worker.run(
      record.worker.value,
      sqlite::Blob{{reinterpret_cast<const char*>(record.start_id.data()), record.start_id.size()}},
      std::string_view(record.name), std::string_view(record.host), record.pid,
      std::string_view(record.version), record.connected_ms);
}

void Store::insert(const record::InsertAttempt& record) {
  const std::uint64_t generation =
      progress_->chunk(record.job, record.chunk_no).generation(record.case_no);
  statements_->insert_attempt.run(
      record.job.value, generation, record.case_no.value, record.attempt, record.worker.value,
      sqlite::Blob{{reinterpret_cast<const char*>(record.start_id.data()), record.start_id.size()}},
      record.ended_ms, std::string_view(record.message));
}

void Store::insert(const record::RetractAttempt& record) {
  statements_->delete_attempt.run(
      record.job.value, keys::kFirstGeneration, keys::kGenerationMax, record.case_no.value,
      sqlite::Blob{
          {reinterpret_cast<const char*>(record.start_id.data()), record.start_id.size()}});
}

// The hot path: nothing allocated, nothing copied a row.
void Store::insert(const record::InsertResults& record) {
  const std::int64_t version = solver_version(record.solver_version);
  version_counts_[{record.job.value, version}] += record.rows.size();
  rows_->start({.attempt = record.attempt,
                .worker = record.worker.value,
                .solver_version = version,
                .graded_ms = record.graded_ms});
  Progress::Chunk* chunk = nullptr;
  ChunkNo chunk_no = 0;
  for (const record::ResultRow& at : record.rows) {
    ASSERT(at.index < record.results.results.size());
    const CaseResult& result = record.results.results[at.index];
    if (chunk == nullptr || chunk_no != at.chunk_no) {
      chunk = &progress_->chunk(record.job, at.chunk_no);
      chunk_no = at.chunk_no;
    }
    progress_->add(record.job, *chunk, at.case_no, result.verdict, result.cached);
    const std::int64_t id =
        keys::result(record.job, at.case_no.value, chunk->generation(at.case_no));
    rows_->add(id, result);
    if (record.keeps_answers && !result.key.empty() && result.has_answer && !result.cached) {
      answers_->keep(result.key, version, id, record.stretch);
    }
  }
  rows_->insert();
  if (record.stretch > 0) canaries_->note(record);
}

void Store::insert(const record::InsertCached& record) {
  const std::int64_t version = solver_version(record.solver_version);
  answers_->insert(record, version, *progress_);
  version_counts_[{record.job.value, version}] += static_cast<std::int64_t>(record.answers.size());
}

void Store::insert(const record::ForgetStretch& record) {
  canaries_->insert(record);
  answers_->settle(record);
}

void Store::insert(const record::BarWorker& record) {
  canaries_->insert(record);
  answers_->forget_unproven();
}

std::int64_t Store::known_version(const std::string& version) {
  if (const auto at = solver_versions_.find(version); at != solver_versions_.end()) {
    return at->second;
  }
  sqlite::Statement& find = statements_->find_version;
  const sqlite::ResetAtEnd reset(find);
  find.bind(std::string_view(version));
  return find.step() ? find.integer(0) : 0;
}

std::int64_t Store::solver_version(const std::string& version) {
  std::int64_t number = known_version(version);
  if (number == 0) {
    statements_->insert_version.run(std::string_view(version));
    number = sqlite3_last_insert_rowid(connection_.handle());
  }
  return solver_versions_[version] = number;
}

event::ChunkLoaded Store::load_chunk(const LoadChunk& load) {
  event::ChunkLoaded loaded{
      .job = load.job, .chunk_no = load.chunk_no, .cases = {}, .done = {}, .ask = load.ask};
  loaded.cases = read_cases({.job = load.job,
                             .chunk_no = load.chunk_no,
                             .first_case = load.first_case,
                             .case_count = load.case_count});
  if (load.with_done) {
    const std::string& verdicts = progress_->chunk(load.job, load.chunk_no).verdicts;
    for (std::uint32_t i = 0; i < verdicts.size(); ++i) {
      if (verdicts[i] != 0) loaded.done.push_back(i);
    }
    if (!connection_.in_transaction()) progress_->forget();
  }
  if (load.look_up) {
    loaded.look_up = load.look_up;
    const std::int64_t version = known_version(load.look_up->solver_version);
    if (version != 0) {
      answers_->look_up(load, version, loaded);
    }
  }
  return loaded;
}

ChunkCasesPtr Store::read_cases(const Place& place) {
  auto cases = std::make_shared<ChunkCases>();
  {
    sqlite::Statement& read = statements_->load_cases;
    const sqlite::ResetAtEnd reset(read);
    read.bind(keys::chunk(place.job, place.chunk_no));
    if (!read.step()) {
      throw sqlite::corrupt(fmt::format("the cases of chunk {} of job {} are missing",
                                        place.chunk_no, place.job.value));
    }
    cases->bytes = read.string(0);
  }
  auto offsets = wire::split_cases(cases->bytes);
  if (!offsets || offsets->size() != place.case_count + std::size_t{1}) {
    throw sqlite::corrupt(
        fmt::format("chunk {} of job {} cannot be read back", place.chunk_no, place.job.value));
  }
  check_hash(place, cases->bytes);
  cases->offsets = std::move(*offsets);
  return cases;
}

// The hash covers the file entries that came with the chunk as well, and those are not kept as they
// came. But where one file reaches from before the chunk to behind it, there were none.
void Store::check_hash(const Place& place, std::string_view cases) {
  sqlite::Statement& read = statements_->hash;
  const sqlite::ResetAtEnd reset(read);
  read.bind(keys::chunk(place.job, place.chunk_no), place.job.value);
  if (!read.step()) throw sqlite::corrupt("a chunk is missing");
  const std::uint64_t file_count = read.number(1);
  if (file_count > 0) {
    files_->start(place.job, file_count);
    const FileEntry& file = files_->find(place.first_case.value + place.case_count);
    if (file.case_count == 0 || file.first_case >= place.first_case.value) return;
  }
  if (wire::chunk_hash(cases, {}) != read.number(0)) {
    throw sqlite::corrupt(
        fmt::format("the cases of chunk {} of job {} are not those that were stored",
                    place.chunk_no, place.job.value));
  }
}

event::CanariesLoaded Store::load_canaries(const LoadCanaries& load) {
  event::CanariesLoaded loaded;
  loaded.job = load.job;
  loaded.chunk_no = load.chunk_no;
  loaded.epoch = load.epoch;
  {
    sqlite::Statement& read = statements_->grown;
    const sqlite::ResetAtEnd reset(read);
    read.bind(load.job.value);
    if (!read.step()) throw sqlite::corrupt(fmt::format("job {} is missing", load.job.value));
    if (load.chunk_no >= read.number(1)) return loaded;  // a job without any
  }
  const Progress::Chunk& chunk = progress_->chunk(load.job, load.chunk_no);
  loaded.first_case = {chunk.first_case};
  loaded.cases = read_cases({.job = load.job,
                             .chunk_no = load.chunk_no,
                             .first_case = loaded.first_case,
                             .case_count = static_cast<std::uint32_t>(chunk.verdicts.size())});
  loaded.known = canaries_->known_of(load.job, chunk);
  if (!connection_.in_transaction()) progress_->forget();
  return loaded;
}

event::ChunkCompared Store::compare_chunk(const CompareChunk& compare) {
  sqlite::Statement& read = statements_->chunk_hash;
  const sqlite::ResetAtEnd reset(read);
  read.bind(keys::chunk(compare.job, compare.chunk_no));
  if (!read.step()) {
    throw sqlite::corrupt(
        fmt::format("chunk {} of job {} is lost", compare.chunk_no, compare.job.value));
  }
  return {.peer = compare.peer,
          .request = compare.request,
          .chunk_no = compare.chunk_no,
          .same = static_cast<std::uint64_t>(read.integer(0)) == compare.hash};
}

}  // namespace puzzled
