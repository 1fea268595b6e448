// Pages of results: fixed examples, then random jobs against a model that looks at every case.
#include "daemon/store/results_page.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "daemon/store/reader.h"
#include "tests/store/support.h"

namespace puzzled {
namespace {

class ResultsPageTest : public ::testing::Test {
 protected:
  query::ResultsPage page(const query::ListResults& query) {
    return std::get<query::ResultsPage>(reader_.answer(query));
  }
  // All pages, joined; checks what holds for each of them.
  std::vector<query::ResultRow> all(query::ListResults query) {
    std::vector<query::ResultRow> rows;
    for (;;) {
      query::ResultsPage part = page(query);
      EXPECT_LE(part.rows.size(), query.limit);
      EXPECT_GE(part.next_after,
                part.rows.empty() ? query.after_case : part.rows.back().case_no.value);
      for (query::ResultRow& row : part.rows) rows.push_back(std::move(row));
      if (!part.more) return rows;
      EXPECT_GT(part.next_after, query.after_case);
      if (part.next_after <= query.after_case) return rows;
      query.after_case = part.next_after;
    }
  }
  static std::vector<std::string> labels(const std::vector<query::ResultRow>& rows) {
    std::vector<std::string> labels;
    for (const query::ResultRow& row : rows) labels.push_back(row.label);
    return labels;
  }
  static query::ListResults list(std::uint32_t limit, std::vector<Verdict> verdicts = {},
                                 std::string glob = "") {
    return {.job = {1},
            .after_case = 0,
            .limit = limit,
            .verdicts = std::move(verdicts),
            .label_glob = std::move(glob),
            .with_answers = false};
  }
  void make_small_job() {
    write(
        *store_,
        {insert_job(1), insert_worker(1),
         insert_chunk(1, 0, 1, 3, 1, {{"x/a", 1, 2}, {"x/b", 3, 3}}),
         insert_chunk(1, 1, 4, 3, 3, {{"y", 6, 1}}),
         insert_results(
             1,
             {{.case_no = 1, .answer = "one"},
              {.case_no = 2, .verdict = Verdict::kTimeLimit},
              {.case_no = 4, .chunk_no = 1, .answer = "four"},
              {.case_no = 6, .chunk_no = 1, .verdict = Verdict::kTimeLimit, .message = "slow"}})});
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("puzzled.db");
  std::unique_ptr<Store> store_ = Store::open(path_, {});
  Reader reader_{path_, unhurried()};
};

using Strings = std::vector<std::string>;

TEST_F(ResultsPageTest, AllInOrder) {
  make_small_job();
  const auto rows = all(list(100));
  EXPECT_EQ(labels(rows), (Strings{"x/a#1", "x/a#2", "x/b#2", "y#1"}));
  EXPECT_EQ(rows[3].message, "slow");
  EXPECT_EQ(rows[3].worker, "worker 1");
  EXPECT_EQ(rows[0].answer, "");
  EXPECT_TRUE(rows[0].has_answer);
  EXPECT_FALSE(rows[1].has_answer);
  query::ListResults query = list(100);
  query.with_answers = true;
  EXPECT_EQ(all(query)[2].answer, "four");
}

TEST_F(ResultsPageTest, MoreIsExact) {
  make_small_job();
  EXPECT_FALSE(page(list(4)).more);
  EXPECT_TRUE(page(list(3)).more);
  EXPECT_FALSE(page(list(2, {Verdict::kTimeLimit})).more);
  EXPECT_TRUE(page(list(1, {Verdict::kTimeLimit})).more);
  EXPECT_FALSE(page(list(1, {Verdict::kCrashed})).more);
  query::ListResults past = list(5);
  for (const std::uint64_t after : {std::uint64_t{6}, std::uint64_t{7}, UINT64_MAX}) {
    past.after_case = after;
    EXPECT_TRUE(page(past).rows.empty());
    EXPECT_FALSE(page(past).more);
  }
}

TEST_F(ResultsPageTest, ByVerdictAndLabel) {
  make_small_job();
  EXPECT_EQ(labels(all(list(1, {Verdict::kTimeLimit}))), (Strings{"x/a#2", "y#1"}));
  EXPECT_EQ(labels(all(list(1, {}, "x/*"))), (Strings{"x/a#1", "x/a#2", "x/b#2"}));
  EXPECT_EQ(labels(all(list(9, {}, "*#2"))), (Strings{"x/a#2", "x/b#2"}));
  EXPECT_EQ(labels(all(list(9, {}, "x/b#2"))), (Strings{"x/b#2"}));
  EXPECT_EQ(labels(all(list(9, {}, "x/b"))), Strings{});
  EXPECT_EQ(labels(all(list(9, {}, "[xy]*"))).size(), 4U);
  EXPECT_EQ(labels(all(list(9, {Verdict::kTimeLimit}, "y*"))), (Strings{"y#1"}));
  EXPECT_EQ(labels(all(list(9, {Verdict::kCancelled}))), Strings{});
}

TEST_F(ResultsPageTest, OpenCasesOfACancelledJobShowAsCancelled) {
  make_small_job();
  write(*store_, {record::CancelJob{.job = {1}, .reason = "r", .cancelled_ms = 1}});
  const auto rows = all(list(4));
  EXPECT_EQ(labels(rows), (Strings{"x/a#1", "x/a#2", "x/b#1", "x/b#2", "x/b#3", "y#1"}));
  EXPECT_EQ(rows[2].verdict, Verdict::kCancelled);
  EXPECT_FALSE(rows[2].has_answer);
  EXPECT_EQ(rows[2].attempt, 0U);
  EXPECT_EQ(rows[3].verdict, Verdict::kSolved);
  EXPECT_EQ(labels(all(list(1, {Verdict::kCancelled}))), (Strings{"x/b#1", "x/b#3"}));
  EXPECT_EQ(labels(all(list(9, {Verdict::kCancelled, Verdict::kTimeLimit}, "*[13]"))),
            (Strings{"x/b#1", "x/b#3", "y#1"}));
}

TEST_F(ResultsPageTest, APageEndsByBytes) {
  StoreOptions options;
  options.page_bytes_max = 1000;
  Reader small(path_, options);
  std::vector<Graded> graded;
  for (std::uint64_t i = 1; i <= 6; ++i) graded.push_back({.case_no = i, .answer = {}});
  graded[1].answer = std::string(5000, 'a');
  graded[4].answer = std::string(5000, 'b');
  write(*store_,
        {insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 6), insert_results(1, graded)});
  query::ListResults query = list(10);
  query.with_answers = true;
  std::vector<std::size_t> sizes;
  for (bool more = true; more;) {
    const auto part = std::get<query::ResultsPage>(small.answer(query));
    sizes.push_back(part.rows.size());
    query.after_case = part.next_after;
    more = part.more;
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 1, 2, 1, 1}));
}

// Not fewer cases.
TEST_F(ResultsPageTest, VerdictsOfAnotherSizeAreDamage) {
  write(*store_, {insert_job(1), insert_worker(1), insert_chunk(1, 0, 1, 3),
                  insert_results(1, {{1}, {2}, {3}})});
  EXPECT_EQ(page(list(100)).rows.size(), 3U);
  for (const char* verdicts : {"x'0101'", "x'01010101'"}) {
    sqlite::Connection(path_, sqlite::Connection::Mode::kReadWrite)
        .exec(fmt::format("UPDATE progress SET verdicts = {}", verdicts));
    EXPECT_THROW(page(list(100)), sqlite::Error) << verdicts;
  }
}

TEST_F(ResultsPageTest, ASearchInVainIsCutIntoPages) {
  // One file a case, none of which can match: each costs a lookup.
  constexpr std::uint32_t kFiles = 2 * kPageStepsMax + 1000;
  std::vector<Record> records = {insert_job(1), insert_worker(1)};
  for (std::uint32_t first = 1; first <= kFiles; first += 1000) {
    std::vector<FileEntry> files;
    for (std::uint32_t i = 0; i < 1000; ++i) files.push_back({"file", first + i, 1});
    records.emplace_back(insert_chunk(1, (first - 1) / 1000, first, 1000, first, files));
  }
  records.emplace_back(insert_results(1, {{.case_no = kFiles, .chunk_no = (kFiles - 1) / 1000}}));
  write(*store_, records);
  int pages = 0;
  query::ListResults query = list(10, {}, "other*");
  for (bool more = true; more; ++pages) {
    const auto part = page(query);
    EXPECT_TRUE(part.rows.empty());
    EXPECT_TRUE(!part.more || part.next_after > query.after_case);
    query.after_case = part.next_after;
    more = part.more;
  }
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(labels(all(list(10, {}, "file#*"))), (Strings{"file#1"}));
}

struct Model {
  std::vector<std::string> labels;  // by case number - 1
  std::vector<Verdict> verdicts;    // kCancelled: open
  bool cancelled = false;
};

// A job of random chunks, files (some empty, some over several chunks) and results in any order.
Model make_random_job(Store& store, std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto total = static_cast<std::uint32_t>(1 + below(300));
  Model model;
  model.verdicts.assign(total, Verdict::kCancelled);
  std::vector<FileEntry> files;
  for (std::uint64_t at = 1; at <= total;) {
    const std::uint64_t count =
        std::min<std::uint64_t>(below(4) == 0 ? 0 : below(40), total + 1 - at);
    const std::string path = fmt::format("{}/{}", "abc"[below(3)], files.size() % 7);
    files.push_back({path, count == 0 ? below(2) * at : at, count});
    for (std::uint64_t i = 1; i <= count; ++i)
      model.labels.push_back(fmt::format("{}#{}", path, i));
    at += count;
  }
  std::vector<Record> records = {insert_job(1), insert_worker(1)};
  std::vector<Graded> graded;
  std::size_t file = 0;
  ChunkNo chunk_no = 0;
  for (std::uint64_t at = 1; at <= total || file < files.size(); ++chunk_no) {
    const auto count =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(below(60), total + 1 - at));
    const std::size_t first_file = file;
    std::vector<FileEntry> here;
    const auto starts_before = [&](const FileEntry& entry) {
      return entry.case_count == 0 || entry.first_case < at + count;
    };
    while (file < files.size() && starts_before(files[file])) here.push_back(files[file++]);
    records.emplace_back(insert_chunk(1, chunk_no, at, count, first_file + 1, here));
    for (std::uint64_t i = at; i < at + count; ++i) {
      if (below(5) == 0) continue;
      const Verdict verdict =
          below(4) != 0 ? Verdict::kSolved : kCountedVerdicts[below(kCountedVerdicts.size())];
      model.verdicts[i - 1] = verdict;
      graded.push_back({.case_no = i, .chunk_no = chunk_no, .verdict = verdict});
    }
    at += count;
  }
  for (std::size_t at = 0; at < graded.size();) {
    const std::size_t end = std::min<std::size_t>(at + 1 + below(50), graded.size());
    records.emplace_back(insert_results(1, {graded.begin() + static_cast<std::ptrdiff_t>(at),
                                            graded.begin() + static_cast<std::ptrdiff_t>(end)}));
    at = end;
  }
  model.cancelled = below(2) == 0;
  if (model.cancelled)
    records.emplace_back(record::CancelJob{.job = {1}, .reason = "", .cancelled_ms = 1});
  write(store, records);
  return model;
}

Strings expected(const Model& model, const query::ListResults& query) {
  Strings labels;
  for (std::uint64_t i = query.after_case; i < model.labels.size(); ++i) {
    const Verdict verdict = model.verdicts[i];
    if (verdict == Verdict::kCancelled && !model.cancelled) continue;
    if (!query.verdicts.empty() &&
        std::ranges::find(query.verdicts, verdict) == query.verdicts.end()) {
      continue;
    }
    const std::string& label = model.labels[i];
    if (!query.label_glob.empty() && fnmatch(query.label_glob.c_str(), label.c_str(), 0) != 0) {
      continue;
    }
    labels.push_back(label + " " + std::string(verdict_name(verdict)));
  }
  return labels;
}

TEST(ResultsPageRandomTest, AgreesWithAModel) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 25; ++round) {
    const TemporaryFolder folder;
    const std::string path = folder.file("puzzled.db");
    const auto store = Store::open(path, {});
    const Model model = make_random_job(*store, random);
    StoreOptions options = unhurried();
    if (round % 2 == 0) options.snapshot_ms_max = 0;  // each page gets on, however little
    Reader reader(path, options);
    for (int i = 0; i < 60; ++i) {
      query::ListResults query{.job = {1},
                               .after_case = random() % 3 == 0 ? random() % 300 : 0,
                               .limit = static_cast<std::uint32_t>(1 + random() % 50),
                               .verdicts = {},
                               .label_glob = {},
                               .with_answers = false};
      for (std::uint64_t n = random() % 4; n > 0; --n) {
        query.verdicts.push_back(static_cast<Verdict>(1 + random() % (kVerdictCount - 1)));
      }
      constexpr const char* kGlobs[] = {"",    "",      "*",     "a/*", "?/3#*",
                                        "*#1", "b/1#2", "[ab]*", "a/1"};
      query.label_glob = kGlobs[random() % std::size(kGlobs)];
      const Strings want = expected(model, query);
      Strings got;
      for (bool more = true; more;) {
        const auto page = std::get<query::ResultsPage>(reader.answer(query));
        for (const query::ResultRow& row : page.rows) {
          got.push_back(row.label + " " + std::string(verdict_name(row.verdict)));
        }
        ASSERT_TRUE(!page.more || page.next_after > query.after_case);
        query.after_case = page.next_after;
        more = page.more;
      }
      ASSERT_EQ(got, want) << "round " << round << ", glob " << query.label_glob;
    }
  }
}

}  // namespace
}  // namespace puzzled
