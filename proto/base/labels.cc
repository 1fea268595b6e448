#include "proto/base/labels.h"

#include <fmt/format.h>

#include <algorithm>

#include "proto/base/printable.h"

namespace puzzled {
namespace {

bool is_key(std::string_view text) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= kLabelKeyBytesMax && is_plain(text.front()) &&
         std::ranges::all_of(
             text, [&](char c) { return is_plain(c) || c == '-' || c == '_' || c == '.'; });
}

}  // namespace

std::variant<Label, std::string> parse_label(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return fmt::format("'{}': expected KEY=VALUE, such as gpu=a100", printable_line(text));
  }
  return Label{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::optional<std::string> add_label(Labels& labels, Label label, std::size_t count_max) {
  if (!is_key(label.key)) {
    return fmt::format(
        "'{}': expected a key of a-z 0-9 - _ . that begins with a letter or digit, "
        "at most {} bytes",
        printable_line(label.key.substr(0, kLabelKeyBytesMax + 1)), kLabelKeyBytesMax);
  }
  if (label.value.empty() || label.value.size() > kLabelValueBytesMax ||
      !is_printable(label.value)) {
    return fmt::format("'{}': expected a value of 1 to {} bytes of printable UTF-8", label.key,
                       kLabelValueBytesMax);
  }
  const auto at = std::ranges::lower_bound(labels, label.key, {}, &Label::key);
  if (at != labels.end() && at->key == label.key) {
    return fmt::format("'{}' is given twice; a key has one value", label.key);
  }
  if (labels.size() >= count_max) return fmt::format("there are more than {}", count_max);
  labels.insert(at, std::move(label));
  return std::nullopt;
}

std::variant<Labels, std::string> parse_labels(std::span<const std::string> texts,
                                               std::size_t count_max) {
  Labels labels;
  for (const std::string& text : texts) {
    auto label = parse_label(text);
    if (auto* wrong = std::get_if<std::string>(&label)) return std::move(*wrong);
    auto wrong = add_label(labels, std::get<Label>(std::move(label)), count_max);
    if (wrong) return *std::move(wrong);
  }
  return labels;
}

std::string describe(const Labels& labels) {
  std::string text;
  for (const Label& label : labels) {
    text += (text.empty() ? "" : ", ") + label.key + "=" + label.value;
  }
  return text;
}

}  // namespace puzzled
