// What can follow a command line that is still being typed, read from the declared options, so that
// completion cannot drift from them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "client/options.h"

namespace CLI {
class App;
}

namespace puzzled::client {

// Names of the commands of `app`.
std::vector<std::string> command_names(const CLI::App& app);

// What `words` give for an option of `app` like "--endpoint", else what its environment variable
// does; empty: neither. The last word counts only after "=", since it is not complete.
std::string given_value(const CLI::App& app, std::span<const std::string> words,
                        const std::string& option);

// What can stand in the place of the last of `words`, which may be empty; the words are those after
// the program's name.
CompleteOptions complete_words(const CLI::App& app, std::span<const std::string> words);

}  // namespace puzzled::client
