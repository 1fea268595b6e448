#include "proto/case_view.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "proto/common.pb.h"
#include "proto/wire.h"

namespace puzzled::wire {
namespace {

std::string random_bytes(std::mt19937_64& random) {
  std::string bytes(random() % 4 == 0 ? random() % 300 : random() % 6, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

proto::Case random_case(std::mt19937_64& random) {
  proto::Case c;
  if (random() % 4 != 0) c.set_instance(random_bytes(random));
  if (random() % 3 == 0) c.set_invalid(random_bytes(random));
  if (random() % 3 == 0) c.set_expected(random_bytes(random));
  if (random() % 5 == 0) c.set_expected_error(random_bytes(random));
  return c;
}

void expect_same(const CaseView& view, const proto::Case& c) {
  EXPECT_EQ(view.instance, c.instance());
  EXPECT_EQ(view.invalid, c.invalid());
  EXPECT_EQ(view.expected.has_value(), c.has_expected());
  EXPECT_EQ(view.expected_error.has_value(), c.has_expected_error());
  EXPECT_EQ(view.expected.value_or(""), c.expected());
  EXPECT_EQ(view.expected_error.value_or(""), c.expected_error());
}

std::uint64_t seed() {
  const char* chosen = std::getenv("PUZZLED_SEED");
  const std::uint64_t value = chosen != nullptr ? std::stoull(chosen) : std::random_device{}();
  testing::Test::RecordProperty("seed", std::to_string(value));
  std::printf("PUZZLED_SEED=%llu\n", static_cast<unsigned long long>(value));
  return value;
}

TEST(CaseView, ReadsWhatProtobufWrites) {
  std::mt19937_64 random(seed());
  for (int i = 0; i < 5000; ++i) {
    const proto::Case c = random_case(random);
    const std::string bytes = c.SerializeAsString();
    const auto view = parse_case(bytes);
    ASSERT_TRUE(view);
    expect_same(*view, c);
  }
}

TEST(CaseView, WritesWhatProtobufWrites) {
  std::mt19937_64 random(seed());
  std::string written = "what was there before";
  for (int i = 0; i < 5000; ++i) {
    proto::Case c = random_case(random);
    if (i % 100 == 0) c.set_instance(std::string(i * 40, 'x'));  // lengths of one to three bytes
    const std::string bytes = c.SerializeAsString();
    write_case(*parse_case(bytes), written);
    ASSERT_EQ(written, bytes);
  }
}

TEST(CaseView, AgreesWithProtobufOnDamagedBytes) {
  std::mt19937_64 random(seed());
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes =
        random_case(random).SerializeAsString() + random_case(random).SerializeAsString();
    for (std::uint64_t n = random() % 3; n > 0 && !bytes.empty(); --n) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 2 == 0) bytes.resize(bytes.size() - random() % (bytes.size() + 1));
    proto::Case c;
    const bool parses = c.ParseFromString(bytes);
    const auto view = parse_case(bytes);
    EXPECT_TRUE(parses || !view) << "taken, though protobuf refuses it";
    if (view && parses) expect_same(*view, c);
    // Groups are where the two may differ; nobody writes any.
    if (parses && !view) ++refused;
  }
  EXPECT_LT(refused, 200);
}

TEST(CaseWalker, FindsEveryCaseFromAnyStart) {
  std::string list;
  for (int i = 0; i < 300; ++i)
    wire::append_case(std::string(static_cast<std::size_t>(i), 'x'), list);
  CaseWalker all(list);
  for (std::uint32_t i = 0; i < 300; ++i) EXPECT_EQ(all.at(i).size(), i);
  CaseWalker some(list);
  for (const std::uint32_t i : {0U, 7U, 8U, 200U, 299U}) EXPECT_EQ(some.at(i).size(), i);
  EXPECT_EQ(some.at(300).size(), 0U);
}

TEST(CaseWalker, CutOffListsEndWithEmptyCases) {
  std::string list;
  for (int i = 0; i < 3; ++i) wire::append_case("abcdef", list);
  list.resize(list.size() - 2);
  CaseWalker walker(list);
  EXPECT_EQ(walker.at(1), "abcdef");
  EXPECT_EQ(walker.at(2), "");
  EXPECT_EQ(walker.at(3), "");
}

}  // namespace
}  // namespace puzzled::wire
