// How requirements of a job are stored: KEY=VALUE, one a line.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "daemon/broker/types.h"

namespace puzzled {

// REQUIRES: no '=' in a key, no line break in a value (the codec sees to it).
inline std::string stored_labels(const Labels& labels) {
  std::string text;
  for (const Label& label : labels) {
    text += (text.empty() ? "" : "\n") + label.key + "=" + label.value;
  }
  return text;
}

inline Labels read_labels(std::string_view text) {
  Labels labels;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t equals = std::min(line.find('='), line.size());
    labels.push_back({std::string(line.substr(0, equals)),
                      std::string(line.substr(std::min(equals + 1, line.size())))});
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return labels;
}

}  // namespace puzzled
