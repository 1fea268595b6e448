// What the store's tests share: a folder of their own and short ways to make records.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/broker/effect.h"
#include "daemon/store/sqlite.h"
#include "daemon/store/store.h"

namespace puzzled {

// A folder that exists as long as this object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// All that the check of a store finds, page by page.
std::vector<Finding> check(const std::string& path, std::uint32_t page_ms = 1'000);

Bytes16 bytes16(std::uint8_t fill);
// The serialised Case number `case_no` of the tests.
std::string case_bytes(std::uint64_t case_no);
ChunkCasesPtr chunk_cases(std::uint64_t first_case, std::uint32_t count);

record::InsertJob insert_job(std::uint64_t job, const std::string& name = "name");
record::InsertWorker insert_worker(std::uint64_t worker);
record::InsertChunk insert_chunk(std::uint64_t job, ChunkNo chunk_no, std::uint64_t first_case,
                                 std::uint32_t count, std::uint64_t first_file_no = 0,
                                 std::vector<FileEntry> files = {});

struct Graded {
  std::uint64_t case_no = 0;
  ChunkNo chunk_no = 0;
  Verdict verdict = Verdict::kSolved;
  std::string answer = {};  // empty: none
  std::string message = {};
};
// One set by worker 1; `cases` ascending.
record::InsertResults insert_results(std::uint64_t job, const std::vector<Graded>& cases);

// Applies the records in one transaction.
void write(Store& store, const std::vector<Record>& records);
// The first column of the first row, by a connection of its own.
std::int64_t look(const std::string& path, const std::string& sql);

// Options with which no page ends because of its time.
StoreOptions unhurried();

// From PUZZLED_SEED, else drawn; printed either way.
std::uint64_t test_seed();

}  // namespace puzzled
