#include "proto/base/natural_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace puzzled {
namespace {

using Names = std::vector<std::string>;

TEST(NaturalLess, NumbersCountByValue) {
  Names names = {"file10", "file2", "b", "file1x", "file01", "a/2", "a10", "a/10", "a", "file1"};
  std::ranges::sort(names, natural_less);
  EXPECT_EQ(names, (Names{"a", "a/2", "a/10", "a10", "b", "file01", "file1", "file1x", "file2",
                          "file10"}));
}

TEST(NaturalLess, VersionsComeInTheirOrder) {
  Names versions = {"v10", "10", "1.10", "2", "", "v9", "1.2-rc", "1", "1.2"};
  std::ranges::sort(versions, natural_less);
  EXPECT_EQ(versions, (Names{"", "1", "1.2", "1.2-rc", "1.10", "2", "10", "v9", "v10"}));
}

TEST(NaturalLess, NumbersOfAnyLength) {
  EXPECT_TRUE(natural_less("9" + std::string(40, '0'), "1" + std::string(41, '0')));
  EXPECT_FALSE(natural_less("1" + std::string(41, '0'), "9" + std::string(40, '0')));
}

TEST(NaturalLess, IsAStrictTotalOrder) {
  const char* given = std::getenv("PUZZLED_SEED");
  const std::uint64_t seed = given == nullptr ? 20'240'117 : std::strtoull(given, nullptr, 10);
  SCOPED_TRACE(testing::Message() << "PUZZLED_SEED=" << seed);
  std::mt19937_64 random(seed);
  const auto word = [&random] {
    std::string text;
    for (std::uint64_t left = random() % 7; left > 0; --left) text += "0019a/-\xc3"[random() % 8];
    return text;
  };
  for (int round = 0; round < 20'000; ++round) {
    const std::string a = word();
    const std::string b = word();
    const std::string c = word();
    EXPECT_EQ(natural_less(a, b) + natural_less(b, a), a == b ? 0 : 1) << a << " " << b;
    if (natural_less(a, b) && natural_less(b, c)) {
      EXPECT_TRUE(natural_less(a, c)) << a << " " << b << " " << c;
    }
  }
}

}  // namespace
}  // namespace puzzled
