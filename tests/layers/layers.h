// Reads the sources of a tree and finds what breaks the include rules or the checkable part of the
// house style.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/layers/rules.h"

namespace puzzled::layers {

// One `#include` line: `name` as written, without its quotes.
struct Include {
  std::string name;
  std::size_t line = 0;
};
std::vector<Include> read_includes(std::string_view source);

// "FILE:LINE: what is wrong", sorted by file. Paths are relative to `root`.
std::vector<std::string> include_violations(const std::filesystem::path& root,
                                            std::span<const Rule> rules);
std::vector<std::string> style_violations(const std::filesystem::path& root);

// Rows of `rules` that match no file of the tree: a table that says more than there is.
std::vector<std::string> idle_rules(const std::filesystem::path& root, std::span<const Rule> rules);

}  // namespace puzzled::layers
