// Labels: what a worker says of its machine, and what a job requires of its workers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace puzzled {

struct Label {
  std::string key;
  std::string value;
  friend auto operator<=>(const Label&, const Label&) = default;
};
using Labels = std::vector<Label>;  // ascending; each key once

inline constexpr std::size_t kLabelKeyBytesMax = 64;
inline constexpr std::size_t kLabelValueBytesMax = 200;
inline constexpr std::size_t kWorkerLabelsMax = 64;  // of one worker
inline constexpr std::size_t kRequirementsMax = 16;  // of one job

// Of "KEY=VALUE", or one sentence that says what was expected.
std::variant<Label, std::string> parse_label(std::string_view text);

// Puts it in its place. What is wrong, if it cannot be: key or value, a key that is there already,
// more than `count_max`.
std::optional<std::string> add_label(Labels& labels, Label label, std::size_t count_max);

// All of them, or what is wrong with the first that is wrong.
std::variant<Labels, std::string> parse_labels(std::span<const std::string> texts,
                                               std::size_t count_max);

// "gpu=a100, os=linux"
std::string describe(const Labels& labels);

}  // namespace puzzled
