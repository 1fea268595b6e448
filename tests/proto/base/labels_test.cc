#include "proto/base/labels.h"

#include <gtest/gtest.h>

namespace puzzled {
namespace {

// What is wrong with "KEY=VALUE" as the next label; empty: nothing.
std::string wrong(const std::string& text, Labels labels = {}, std::size_t count_max = 3) {
  auto label = parse_label(text);
  if (const auto* error = std::get_if<std::string>(&label)) return *error;
  return add_label(labels, std::get<Label>(label), count_max).value_or("");
}

TEST(Labels, AreKeptInOrderOfTheirKeys) {
  Labels labels;
  for (const char* text : {"os=linux", "gpu=a100", "zone=eu = west"}) {
    EXPECT_EQ(add_label(labels, std::get<Label>(parse_label(text)), 3), std::nullopt);
  }
  EXPECT_EQ(describe(labels), "gpu=a100, os=linux, zone=eu = west");
  EXPECT_EQ(describe({}), "");
}

TEST(Labels, SayWhatTheyShouldHaveBeen) {
  EXPECT_EQ(wrong("gpu"), "'gpu': expected KEY=VALUE, such as gpu=a100");
  EXPECT_NE(wrong("=a").find("''"), std::string::npos);
  for (const char* key : {"GPU", "-a", ".a", "a b", "ü"}) {
    EXPECT_NE(wrong(std::string(key) + "=1").find("expected a key"), std::string::npos) << key;
  }
  EXPECT_EQ(wrong(std::string(64, 'a') + "=1"), "");
  EXPECT_NE(wrong(std::string(65, 'a') + "=1").find("at most 64 bytes"), std::string::npos);
  EXPECT_NE(wrong("a=").find("1 to 200 bytes"), std::string::npos);
  EXPECT_EQ(wrong("a=" + std::string(200, 'v')), "");
  EXPECT_NE(wrong("a=" + std::string(201, 'v')).find("1 to 200 bytes"), std::string::npos);
  EXPECT_NE(wrong("a=b\nc").find("printable"), std::string::npos);
  EXPECT_EQ(wrong("a=2", {{"a", "1"}}), "'a' is given twice; a key has one value");
  EXPECT_EQ(wrong("d=1", {{"a", "1"}, {"b", "1"}, {"c", "1"}}), "there are more than 3");
}

TEST(Labels, ManyAreReadAtOnce) {
  const auto read = [](const std::vector<std::string>& texts) { return parse_labels(texts, 2); };
  EXPECT_EQ(read({}), (std::variant<Labels, std::string>(Labels())));
  EXPECT_EQ(std::get<Labels>(read({"os=linux", "gpu=a100"})),
            (Labels{{"gpu", "a100"}, {"os", "linux"}}));
  EXPECT_EQ(std::get<std::string>(read({"os=linux", "gpu", "x"})),
            "'gpu': expected KEY=VALUE, such as gpu=a100");
  EXPECT_EQ(std::get<std::string>(read({"a=1", "a=2"})), "'a' is given twice; a key has one value");
  EXPECT_EQ(std::get<std::string>(read({"a=1", "b=1", "c=1"})), "there are more than 2");
}

}  // namespace
}  // namespace puzzled
