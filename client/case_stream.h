// From test files to cases and chunks. Two passes: the first validates everything and remembers
// what it saw, the second yields the chunks and notices if a file is not what it was. Neither
// holds more than one file's text and one chunk, but for cases that the first keeps for the second
// within a bound.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/file_text.h"
#include "client/test_set.h"
#include "client/upload.h"
#include "workers/puzzles/puzzle.h"

namespace puzzled::client {

// The cases of one test file with their claimed answers.
class FileCases {
 public:
  // Throws Failure(2) if a file cannot be read. `file` must outlive this.
  FileCases(const Puzzle& puzzle, const TestFile& file);

  // The next case as a serialised Case message; false at the end, or at a syntax error. Throws
  // Failure(2) if it is over the protocol's size limit.
  bool next(std::string& serialised_case);
  // After the end: what is wrong with the test file and with its answers.
  [[nodiscard]] const std::vector<Defect>& defects() const { return reader_->defects(); }
  [[nodiscard]] std::optional<Defect> claims_defect();

  [[nodiscard]] std::uint64_t case_count() const { return count_; }
  [[nodiscard]] const FileStamp& stamp() const { return text_->stamp(); }
  [[nodiscard]] FileStamp answers_stamp() const {
    return answers_ ? answers_->stamp() : FileStamp{};
  }
  // Whether the files are still as they were when they were opened.
  [[nodiscard]] bool unchanged() const {
    return text_->unchanged() && (!answers_ || answers_->unchanged());
  }

 private:
  const TestFile& file_;
  std::unique_ptr<FileText> text_;
  std::unique_ptr<FileText> answers_;  // nullptr: none
  std::unique_ptr<InstanceReader> reader_;
  std::unique_ptr<ClaimReader> claims_;  // nullptr: none
  ParsedCase parsed_;
  ParsedClaim claim_;
  std::uint64_t count_ = 0;
};

// What the first pass learns about one file.
struct FileFacts {
  FileStamp stamp;
  FileStamp answers_stamp;
  std::uint64_t case_count = 0;
  std::optional<std::string> cases;  // serialised as a CaseList, if there was room to keep them
};
// The defects of a test file, and that of its answers.
struct FileDefects {
  std::vector<Defect> test;
  std::optional<Defect> answers;
};
// Reads a file to its end. `defects` gets what is wrong with it. Its cases are kept if they take at
// most `room` bytes, and are taken off that.
FileFacts examine(const Puzzle& puzzle, const TestFile& file, FileDefects& defects,
                  std::size_t& room);

// The second pass. What the first one has kept is not read again.
class CaseStream : public ChunkSource {
 public:
  // `facts[i]` belongs to `files[i]`; all must outlive this. `solver`: by which the job is solved.
  CaseStream(const Puzzle& puzzle, std::string solver, const std::vector<TestFile>& files,
             const std::vector<FileFacts>& facts)
      : puzzle_(puzzle), solver_(std::move(solver)), files_(files), facts_(facts) {}
  bool next(Chunk& chunk, bool with_keys) override;

 private:
  bool open_next(Chunk& chunk);
  void reopen(const FileFacts& facts);
  // Appends the next case of the open file; false at its end.
  bool take_case(std::string& cases);
  void add_key(std::string_view entry, std::string& keys) const;
  void close_file();
  [[noreturn]] void throw_changed() const;

  const Puzzle& puzzle_;
  const std::string solver_;
  const std::vector<TestFile>& files_;
  const std::vector<FileFacts>& facts_;
  std::size_t file_ = 0;  // the one that is open, or is opened next
  bool is_open_ = false;
  std::unique_ptr<FileCases> open_;  // nullptr: its cases were kept
  std::string_view kept_;            // of those, what is left
  std::uint64_t next_case_ = 1;      // number in the job
  std::string serialised_;
};

}  // namespace puzzled::client
