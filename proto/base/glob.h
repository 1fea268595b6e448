// Patterns of names: * ? and [..] as in fnmatch without flags.
#pragma once

#include <string>
#include <string_view>

namespace puzzled {

// Whether it is more than a plain name.
bool is_glob(std::string_view pattern);
bool glob_matches(const std::string& pattern, const std::string& text);

}  // namespace puzzled
