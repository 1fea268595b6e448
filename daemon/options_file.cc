// The configuration file: reading and writing TOML.
#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <fstream>
#include <numeric>

#include "daemon/options.h"
#include "proto/base/fatal.h"

namespace puzzled {
namespace {

using Kind = OptionRow::Kind;

std::string key_of(const OptionRow& row) {
  std::string key(row.name);
  std::ranges::replace(key, '-', '_');
  return key;
}

// Levenshtein distance, to name the key that was meant.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, substituted});
    }
  }
  return row.back();
}

// "[section] key" of the known option nearest to what was found.
std::string nearest(std::string_view key) {
  const auto& rows = option_rows();
  const auto best = std::ranges::min_element(
      rows, {}, [&](const OptionRow& row) { return distance(key_of(row), key); });
  return fmt::format("{} in [{}]", key_of(*best), best->section);
}

[[noreturn]] void fail(const std::string& path, const toml::source_region& at,
                       const std::string& text) {
  throw Fatal(kExitConfiguration,
              fmt::format("{}:{}:{}: {}", path, at.begin.line, at.begin.column, text));
}

// What a value says as an option's text; a number with a unit must be a string.
std::optional<std::string> text_of(const OptionRow& row, const toml::node& value) {
  if (row.kind == Kind::kSwitch) {
    if (const auto flag = value.value_exact<bool>()) return *flag ? "true" : "false";
    return std::nullopt;
  }
  if (row.kind == Kind::kCount) {
    if (const auto number = value.value_exact<std::int64_t>()) return std::to_string(*number);
    return std::nullopt;
  }
  return value.value_exact<std::string>();
}

void read_value(const std::string& path, const OptionRow& row, const toml::node& value,
                DaemonOptions& options) {
  const auto text = text_of(row, value);
  if (!text) {
    const std::string_view type = row.kind == Kind::kSwitch  ? "true or false"
                                  : row.kind == Kind::kCount ? "a whole number"
                                                             : "a string in quotes";
    fail(path, value.source(), fmt::format("{}: expected {}", key_of(row), type));
  }
  if (const auto error = set_option(row, *text, options)) {
    fail(path, value.source(), fmt::format("{}: {}", key_of(row), *error));
  }
}

void read_section(const std::string& path, std::string_view section, const toml::table& table,
                  DaemonOptions& options) {
  for (const auto& [key, value] : table) {
    const auto& rows = option_rows();
    const auto row = std::ranges::find_if(rows, [&, name = key.str()](const OptionRow& r) {
      return r.section == section && key_of(r) == name;
    });
    if (row == rows.end()) {
      fail(path, key.source(),
           fmt::format("unknown key {} in [{}]; did you mean {}?", key.str(), section,
                       nearest(key.str())));
    }
    read_value(path, *row, value, options);
  }
}

}  // namespace

void read_options_file(const std::string& path, DaemonOptions& options) {
  std::ifstream in(path);
  if (!in) throw Fatal(kExitConfiguration, fmt::format("{}: cannot be read", path));
  toml::table root;
  try {
    root = toml::parse(in, path);
  } catch (const toml::parse_error& error) {
    fail(path, error.source(), std::string(error.description()));
  }
  for (const auto& [name, value] : root) {
    const bool known = std::ranges::any_of(
        option_rows(), [text = name.str()](const OptionRow& row) { return row.section == text; });
    const toml::table* section = value.as_table();
    if (known && section != nullptr) {
      read_section(path, name.str(), *section, options);
      continue;
    }
    fail(path, name.source(),
         section != nullptr
             ? fmt::format("unknown section [{}]; see puzzled --print-config", name.str())
             : fmt::format("unknown key {} outside of a section; did you mean {}?", name.str(),
                           nearest(name.str())));
  }
}

std::string to_toml(const DaemonOptions& options) {
  std::string out;
  std::string_view section;
  for (const OptionRow& row : option_rows()) {
    if (row.section != section) {
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", row.section);
      section = row.section;
    }
    out += fmt::format("# {}{}\n", row.help,
                       row.choices.empty() ? "" : fmt::format(" One of {}.", row.choices));
    const std::string text = option_text(row, options);
    if (row.kind == Kind::kSwitch || row.kind == Kind::kCount) {
      out += fmt::format("{} = {}\n", key_of(row), text);
      continue;
    }
    std::string quoted;
    for (const char c : text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    out += fmt::format("{} = \"{}\"\n", key_of(row), quoted);
  }
  return out;
}

}  // namespace puzzled
