#include "client/complete_words.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <utility>

namespace puzzled::client {
namespace {

const CLI::Option* option_of(const CLI::App& app, const CLI::App* command,
                             const std::string& word) {
  const CLI::Option* option = command == nullptr ? nullptr : command->get_option_no_throw(word);
  return option != nullptr ? option : app.get_option_no_throw(word);
}

std::vector<std::string> option_names(const CLI::App& app, const CLI::App* command) {
  std::vector<std::string> names;
  for (const CLI::App* owner : {command, &app}) {
    if (owner == nullptr) continue;
    for (const CLI::Option* option : owner->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// The last positional of a command takes all that follow, if it takes more than one.
const CLI::Option* positional(const CLI::App& command, std::size_t position) {
  const CLI::Option* last = nullptr;
  for (const CLI::Option* option :
       command.get_options([](const CLI::Option* o) { return o->get_positional(); })) {
    if (position-- == 0) return option;
    last = option;
  }
  return last != nullptr && last->get_items_expected_max() > 1 ? last : nullptr;
}

const CLI::App* command_of(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

// What the value of `option` is, by its name and the name of its type.
void set_kind(const CLI::Option& option, CompleteOptions& result) {
  using Kind = CompleteOptions::Kind;
  const std::string& name = option.get_single_name();
  const std::string type = option.get_type_name();
  if (const std::size_t set = type.find('{'); set != std::string::npos) {
    result.kind = Kind::kWords;  // CLI11 writes the members of a set as TYPE:{a,b}
    result.words = CLI::detail::split(type.substr(set + 1, type.size() - set - 2), ',');
  } else if (name == "PUZZLE") {
    result.kind = Kind::kPuzzles;
  } else if (type == "SOLVER") {
    result.kind = Kind::kSolvers;
  } else if (type == "VERDICTS") {
    result.kind = Kind::kVerdicts;
  } else if (name == "JOB" || type == "JOB") {
    result.kind = Kind::kJobs;
  } else if (type == "WORKER") {
    result.kind = Kind::kWorkers;
  }
}

}  // namespace

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    names.push_back(command->get_name());
  }
  return names;
}

std::string given_value(const CLI::App& app, std::span<const std::string> words,
                        const std::string& option) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(option + "=")) return words[i].substr(option.size() + 1);
    if (words[i] == option && i + 2 < words.size()) return words[i + 1];
  }
  const std::string variable = app.get_option(option)->get_envname();
  const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
  return value == nullptr ? "" : value;
}

CompleteOptions complete_words(const CLI::App& app, std::span<const std::string> words) {
  using Kind = CompleteOptions::Kind;
  CompleteOptions result;
  result.prefix = words.empty() ? "" : words.back();
  const CLI::App* command = nullptr;
  const CLI::Option* pending = nullptr;  // an option whose value is the next word
  std::size_t position = 0;              // of the next positional word of the command
  for (const std::string& word : words.empty() ? words : words.first(words.size() - 1)) {
    if (std::exchange(pending, nullptr) != nullptr) continue;
    if (word.starts_with("-") && word != "-") {
      pending = option_of(app, command, word);
      if (pending != nullptr && pending->get_items_expected_max() == 0) pending = nullptr;
    } else if (command == nullptr) {
      command = command_of(app, word);
      if (command == nullptr) return result;
    } else if (position++ == 0) {
      result.puzzle = word;
    }
  }
  if (pending == nullptr && result.prefix.starts_with("-")) {
    result.kind = Kind::kWords;
    result.words = option_names(app, command);
    return result;
  }
  if (pending == nullptr && command == nullptr) {
    result.kind = Kind::kWords;
    result.words = command_names(app);
    return result;
  }
  if (pending == nullptr) pending = positional(*command, position);
  if (pending == nullptr) return result;
  set_kind(*pending, result);
  return result;
}

}  // namespace puzzled::client
