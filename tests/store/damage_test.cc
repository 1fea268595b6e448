// A database that somebody else has changed: what SQLite can see ends in an error, and what is read
// without one is what was written.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <set>

#include "daemon/store/reader.h"
#include "daemon/store/store.h"
#include "tests/store/support.h"

namespace puzzled {
namespace {

constexpr ChunkNo kChunks = 12;
constexpr std::uint32_t kCases = 50;

class DamageTest : public ::testing::Test {
 protected:
  // Each chunk with its results in a transaction of its own.
  void make(const std::string& path) {
    const auto store = Store::open(path, {});
    write(*store, {insert_job(1), insert_worker(1)});
    for (ChunkNo i = 0; i < kChunks; ++i) {
      const std::uint64_t first = 1 + i * std::uint64_t{kCases};
      std::vector<Graded> graded;
      for (std::uint32_t k = 1; k < kCases; ++k) {  // the first case stays open
        graded.push_back({.case_no = first + k, .chunk_no = i, .answer = answer(first + k)});
      }
      write(*store, {insert_chunk(1, i, first, kCases), insert_results(1, graded)});
      if (i + 1 == kChunks) copy(path, path_);  // with its log, as a killed process leaves it
    }
  }
  static std::string answer(std::uint64_t case_no) {
    return fmt::format("answer {}{}", case_no, std::string(200, 'a'));
  }
  static void copy(const std::string& from, const std::string& to) {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(to + suffix);
    for (const char* suffix : {"", "-wal"}) {
      if (!std::filesystem::exists(from + suffix)) continue;
      std::filesystem::copy_file(from + suffix, to + suffix,
                                 std::filesystem::copy_options::overwrite_existing);
    }
  }
  static void flip(const std::string& path, std::uint64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }
  // Opens and reads all there is. Returns the chunks that are there; nullopt: it was refused.
  static std::optional<ChunkNo> read_all(const std::string& path) {
    try {
      const auto store = Store::open(path, {});
      const Recovery recovery = store->recover();
      const ChunkNo chunks = recovery.jobs.empty() ? 0 : recovery.jobs[0].chunk_count;
      for (ChunkNo i = 0; i < chunks; ++i) {
        const std::uint64_t first = 1 + i * std::uint64_t{kCases};
        const auto loaded = store->load_chunk({.job = {1},
                                               .chunk_no = i,
                                               .first_case = {first},
                                               .case_count = kCases,
                                               .with_done = true});
        EXPECT_EQ(loaded.cases->bytes, chunk_cases(first, kCases)->bytes);
        EXPECT_EQ(loaded.done.size(), kCases - 1);
      }
      if (recovery.jobs.empty()) return 0;
      Reader reader(path, unhurried());
      const auto page = std::get<query::ResultsPage>(reader.answer(query::ListResults{
          .job = {1}, .limit = 10'000, .verdicts = {}, .label_glob = {}, .with_answers = true}));
      EXPECT_EQ(page.rows.size(), chunks * (kCases - 1));
      return chunks;
    } catch (const Fatal& error) {
      EXPECT_TRUE(error.exit_code() == kExitIo || error.exit_code() == kExitRefused)
          << error.what();
    } catch (const sqlite::Error& error) {
      EXPECT_FALSE(error.passes()) << error.what();
    }
    return std::nullopt;
  }
  // The same in one file without a log.
  void checkpoint() {
    ASSERT_EQ(Store::open(path_, {})->recover().jobs.size(), 1U);
    ASSERT_FALSE(std::filesystem::exists(path_ + "-wal"));
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("puzzled.db");
  std::string damaged_ = folder_.file("damaged.db");
};

TEST_F(DamageTest, CutOffAnywhere) {
  make(folder_.file("first.db"));
  checkpoint();
  const std::uint64_t bytes = std::filesystem::file_size(path_);
  for (std::uint64_t left = 1; left < bytes; left += bytes / 40) {
    copy(path_, damaged_);
    std::filesystem::resize_file(damaged_, left);
    EXPECT_FALSE(read_all(damaged_).has_value()) << left << " of " << bytes << " bytes";
  }
}

TEST_F(DamageTest, ALogThatIsDamagedLosesItsEndButNothingElse) {
  make(folder_.file("first.db"));
  ASSERT_TRUE(std::filesystem::exists(path_ + "-wal"));
  const std::uint64_t bytes = std::filesystem::file_size(path_ + "-wal");
  std::mt19937_64 random(test_seed());
  std::set<ChunkNo> seen;
  for (int i = 0; i < 40; ++i) {
    copy(path_, damaged_);
    const std::uint64_t at = random() % bytes;
    if (i % 2 == 0) {
      flip(damaged_ + "-wal", at);
    } else {
      std::filesystem::resize_file(damaged_ + "-wal", at);
    }
    const auto chunks = read_all(damaged_);
    if (chunks) seen.insert(*chunks);
  }
  EXPECT_GT(seen.size(), 2U);
}

TEST_F(DamageTest, ChunksThatChangedAreNotGivenOut) {
  make(folder_.file("first.db"));
  checkpoint();
  const std::string whole = [&] {
    std::ifstream in(path_, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  }();
  int found = 0;
  for (std::uint64_t case_no = 1; case_no <= kCases * std::uint64_t{kChunks}; case_no += 37) {
    const std::size_t at = whole.find(fmt::format("case {}", case_no));
    if (at == std::string::npos) continue;
    ++found;
    copy(path_, damaged_);
    flip(damaged_, at + 1);
    EXPECT_FALSE(read_all(damaged_).has_value()) << "case " << case_no;
  }
  EXPECT_GT(found, 5);
}

}  // namespace
}  // namespace puzzled
