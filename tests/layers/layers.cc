#include "tests/layers/layers.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

namespace puzzled::layers {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kFolders = {"client", "daemon", "deploy",
                                                      "proto",  "tests",  "workers"};
constexpr std::size_t kColumnsMax = 100;
constexpr std::size_t kFileLinesMax = 450;

struct Library {
  std::string_view word;     // in the table
  std::string_view headers;  // pattern
};
constexpr auto kLibraries = std::to_array<Library>({
    {"protobuf", "google/protobuf/*"},
    {"zmq", "zmq*"},
    {"sqlite", "sqlite3*"},
    {"spdlog", "spdlog/*"},
    {"fmt", "fmt/*"},
    {"cli11", "CLI/*"},
    {"toml", "toml++/*"},
    {"json", "nlohmann/*"},
    {"xxhash", "xxhash.h"},
    {"sodium", "sodium.h"},
    {"gmp", "gmp*"},
    {"microhttpd", "microhttpd*"},
});

bool matches(std::string_view pattern, std::string_view path, int flags = FNM_PATHNAME) {
  return fnmatch(std::string(pattern).c_str(), std::string(path).c_str(), flags) == 0;
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string folder_of(std::string_view path) {
  return std::string(path.substr(0, path.rfind('/') + 1));
}

// "workers/puzzles/duel/solver.cc" → "duel"
std::string folder_name_of(std::string_view path) {
  std::string folder = folder_of(path);
  folder.pop_back();
  return folder.substr(folder.rfind('/') + 1);
}

// The C++ standard library's headers have no suffix; those of C are <c...>.
bool is_standard(std::string_view header) {
  return header.find('/') == std::string_view::npos && header.find('.') == std::string_view::npos;
}

// The word of the table for a header that is not the project's, "" for one that is.
std::string_view library_of(std::string_view header) {
  for (const Library& library : kLibraries) {
    if (matches(library.headers, header, 0)) return library.word;
  }
  if (matches("proto/puzzles/*.pb.h", header)) return "puzzle-messages";
  if (matches("proto/*.pb.h", header)) return "messages";
  for (std::string_view folder : kFolders) {
    if (header.starts_with(std::string(folder) + "/")) return "";
  }
  return is_standard(header) ? "standard" : "posix";
}

// Does one word of the table name this header, included from `path`?
bool word_names(std::string_view word, std::string_view header, std::string_view path) {
  const std::string_view library = library_of(header);
  if (!library.empty()) {
    if (word == "puzzle-messages") {
      return header == "proto/puzzles/" + folder_name_of(path) + ".pb.h";
    }
    return word == library;
  }
  if (word == "structs") return header == folder_of(path) + folder_name_of(path) + ".h";
  std::string pattern(word);
  if (pattern.starts_with("./")) pattern = folder_of(path) + pattern.substr(2);
  if (pattern.ends_with('/')) pattern += '*';
  return matches(pattern, header);
}

bool allowed(const Rule& rule, std::string_view header, std::string_view path) {
  if (library_of(header) == "standard") return true;
  std::istringstream words{std::string(rule.may)};
  for (std::string word; words >> word;) {
    if (word_names(word, header, path)) return true;
  }
  return false;
}

const Rule* rule_of(std::span<const Rule> rules, std::string_view path) {
  const auto found =
      std::ranges::find_if(rules, [&](const Rule& r) { return matches(r.who, path); });
  return found == rules.end() ? nullptr : &*found;
}

bool has_suffix(const fs::path& path, std::initializer_list<std::string_view> suffixes) {
  return std::ranges::any_of(suffixes, [&](auto s) { return path.extension() == s; });
}

// Relative paths of the files below the project's folders, sorted.
std::vector<std::string> files_of(const fs::path& root) {
  std::vector<std::string> files;
  for (std::string_view folder : kFolders) {
    if (!fs::is_directory(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), root).string());
    }
  }
  std::ranges::sort(files);
  return files;
}

// Tests may look at everything; nothing but tests may look at them (no rule names tests/).
std::vector<std::string> ruled_files(const fs::path& root) {
  std::vector<std::string> files = files_of(root);
  std::erase_if(files, [](const std::string& file) {
    return file.starts_with("tests/") || !has_suffix(file, {".h", ".cc"});
  });
  return files;
}

std::size_t columns_of(std::string_view line) {  // code points of UTF-8
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

void check_line(std::string_view line, bool is_code, std::vector<std::string>& problems) {
  static const std::regex kUnfinished(std::string("\\b(TO") + "DO|FIX" + "ME|XX" + "X)\\b");
  static const std::regex kForeignWord(
      R"(\b(struct|class) \w*(Task|Item|Batch|Server|Node|Submission|Callback)\b)");
  if (columns_of(line) > kColumnsMax) problems.emplace_back("longer than 100 columns");
  if (line.ends_with(' ') || line.ends_with('\t')) problems.emplace_back("blanks at its end");
  if (line.find('\t') != std::string_view::npos) problems.emplace_back("a tab");
  const std::string text(line);
  if (std::regex_search(text, kUnfinished)) problems.emplace_back("unfinished by its own word");
  if (is_code && std::regex_search(text, kForeignWord)) {
    problems.emplace_back("a type named with a word that is not ours (see ARCHITECTURE.md, Words)");
  }
}

std::string at(const std::string& file, std::size_t line, std::string_view what) {
  return file + ":" + std::to_string(line) + ": " + std::string(what);
}

}  // namespace

std::vector<Include> read_includes(std::string_view source) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"].*)");
  std::vector<Include> includes;
  std::istringstream lines{std::string(source)};
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::smatch match;
    if (std::regex_match(line, match, kInclude)) includes.push_back({match[1].str(), number});
  }
  return includes;
}

std::vector<std::string> include_violations(const fs::path& root, std::span<const Rule> rules) {
  std::vector<std::string> violations;
  for (const std::string& file : ruled_files(root)) {
    const Rule* rule = rule_of(rules, file);
    if (rule == nullptr) {
      violations.push_back(at(file, 1, "no rule says what it may include (tests/layers/rules.h)"));
      continue;
    }
    for (const Include& include : read_includes(read(root / file))) {
      if (allowed(*rule, include.name, file)) continue;
      violations.push_back(at(file, include.line,
                              "may not include " + include.name + " (" + std::string(rule->who) +
                                  " may include: " + std::string(rule->may) + ")"));
    }
  }
  return violations;
}

std::vector<std::string> style_violations(const fs::path& root) {
  std::vector<std::string> violations;
  for (const std::string& file : files_of(root)) {
    const bool is_code = has_suffix(file, {".h", ".cc"});
    const bool is_script = has_suffix(file, {".proto", ".sh", ".cmake", ".sql"}) ||
                           fs::path(file).filename() == "CMakeLists.txt";
    if (!is_code && !is_script) continue;
    const std::string text = read(root / file);
    std::istringstream lines(text);
    std::size_t number = 0;
    std::vector<std::string> problems;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      problems.clear();
      check_line(line, is_code, problems);
      for (const std::string& problem : problems) violations.push_back(at(file, number, problem));
    }
    if (is_code && number > kFileLinesMax) {
      violations.push_back(at(file, number, "more than 450 lines: split it"));
    }
    if (file.ends_with(".h") && text.find("#pragma once\n") == std::string::npos) {
      violations.push_back(at(file, 1, "a header without #pragma once"));
    }
  }
  return violations;
}

std::vector<std::string> idle_rules(const fs::path& root, std::span<const Rule> rules) {
  std::set<const Rule*> used;
  for (const std::string& file : ruled_files(root)) used.insert(rule_of(rules, file));
  std::vector<std::string> idle;
  for (const Rule& rule : rules) {
    if (!used.contains(&rule)) idle.emplace_back(rule.who);
  }
  return idle;
}

}  // namespace puzzled::layers
