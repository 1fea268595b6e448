// From the paths a user names to the list of test files: which, in what order, under what labels,
// with which answers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/file_text.h"

namespace puzzled::client {

struct TestFile {
  std::string path;     // "<stdin>" for standard input; also its name in messages
  std::string label;    // relative to the given folder, or the base name; without ".in"
  std::string answers;  // path of the file of claimed answers; empty: none
  std::shared_ptr<const Spool> spool;  // of what can be read only once; else nullptr
};
// Opens its text. Throws Failure(2).
std::unique_ptr<FileText> open_text(const TestFile& file);

struct TestSetOptions {
  std::vector<std::string> paths = {};  // files, folders, "-" for standard input
  std::string files_from = {};  // file with one path a line, "-" for standard input; empty: none
  bool recursive = false;
  std::string answers_folder = {};  // empty: beside the test files
  bool no_answers = false;
  bool for_job = true;  // labels name its cases: equal ones, or unprintable ones, are an error
};

// Files in the order of the paths; those of one folder in natural order of their labels. Throws
// Failure(2): a path that does not exist, a folder without test files, two equal labels…
std::vector<TestFile> collect_test_files(const TestSetOptions& options);

}  // namespace puzzled::client
