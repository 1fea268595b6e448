// Bytes that are no messages: every one ends in a coded reply, none in a crash.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "daemon/net/codec.h"
#include "daemon/net/fields.h"
#include "tests/net/frames.h"

namespace puzzled {
namespace {

using message::ErrorCode;

std::uint64_t seed() {
  codec::silence_protobuf();
  const char* given = std::getenv("PUZZLED_SEED");
  const std::uint64_t value =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cout << "PUZZLED_SEED=" << value << '\n';
  return value;
}

// Decodes as both; what is refused must carry a line to show.
void decode_both(const std::string& frame) {
  const auto client = codec::decode_client({1}, frame, {});
  if (const auto* error = std::get_if<message::Error>(&client)) {
    EXPECT_TRUE(!error->text.empty() && codec::is_printable(error->text)) << error->text;
  }
  const auto worker = codec::decode_worker({1}, frame, {});
  if (const auto* refused = std::get_if<message::Refused>(&worker)) {
    EXPECT_TRUE(!refused->text.empty() && codec::is_printable(refused->text)) << refused->text;
  }
}

std::vector<std::string> good_frames() {
  proto::CaseResultList list;
  list.add_results()->set_verdict(proto::SOLVED);
  list.mutable_results(0)->set_message("m");
  proto::FromWorker heartbeat;
  heartbeat.mutable_heartbeat()->add_leases(3);
  heartbeat.mutable_heartbeat()->add_slots()->set_lease(3);
  proto::ClientRequest query;
  query.mutable_list_results()->set_job(1);
  query.mutable_list_results()->add_verdicts(proto::SOLVED);
  return {test::frame(test::open_job(1)),
          test::frame(test::add_chunk(2, {"one", "two"})),
          test::frame(query),
          test::frame(test::ready()),
          test::frame(test::results(list, 1, 2, 3)),
          test::frame(heartbeat)};
}

ErrorCode code_of(const std::string& frame) {
  const auto input = codec::decode_client({1}, frame, {});
  const auto* error = std::get_if<message::Error>(&input);
  return error == nullptr ? static_cast<ErrorCode>(0) : error->code;
}

TEST(HostileFrames, BadHeadersHaveTheirCodes) {
  const std::string good = test::frame(test::open_job(1));
  EXPECT_EQ(code_of(good), static_cast<ErrorCode>(0));
  EXPECT_EQ(code_of(""), ErrorCode::kMalformed);
  EXPECT_EQ(code_of("PZLD"), ErrorCode::kMalformed);
  EXPECT_EQ(code_of("GET / HTTP/1.1\r\n\r\n"), ErrorCode::kMalformed);
  std::string other = good;
  other[5] = 2;
  EXPECT_EQ(code_of(other), ErrorCode::kUnsupportedVersion);
  EXPECT_EQ(code_of(test::frame(test::ready())), ErrorCode::kMalformed);
  EXPECT_EQ(code_of(good + "x"), ErrorCode::kMalformed);
  CodecOptions small;
  small.message_bytes_max = 20;
  const auto input = codec::decode_client({1}, good, small);
  EXPECT_EQ(std::get<message::Error>(input).code, ErrorCode::kTooLarge);
}

TEST(HostileFrames, EveryTruncationIsRefused) {
  for (const std::string& good : good_frames()) {
    for (std::size_t size = 0; size < good.size(); ++size) {
      decode_both(good.substr(0, size));
      EXPECT_EQ(code_of(good.substr(0, size)), ErrorCode::kMalformed);
    }
  }
}

TEST(HostileFrames, SpoiltBytesNeverCrash) {
  std::mt19937_64 random(seed());
  const std::vector<std::string> frames = good_frames();
  for (int round = 0; round < 60'000; ++round) {
    std::string frame = frames[random() % frames.size()];
    for (std::uint64_t spoils = 1 + random() % 4; spoils > 0; --spoils) {
      frame[random() % frame.size()] = static_cast<char>(random());
    }
    decode_both(frame);
  }
}

TEST(HostileFrames, RandomBodiesNeverCrash) {
  std::mt19937_64 random(seed());
  for (int round = 0; round < 60'000; ++round) {
    std::string frame("PZLD", 4);
    frame += random() % 2 == 0 ? 'c' : 'w';
    frame += std::string("\x01\x00\x00", 3);
    std::string body(random() % 80, '\0');
    for (char& c : body) c = static_cast<char>(random() % (random() % 2 == 0 ? 32 : 256));
    frame += static_cast<char>(body.size());
    frame += std::string(3, '\0') + body;
    decode_both(frame);
  }
}

TEST(Fields, PrintableIsUtf8WithoutControls) {
  EXPECT_TRUE(codec::is_printable(""));
  EXPECT_TRUE(codec::is_printable("Grüße, 棋盘 ♟ 😀"));
  for (const char* bad :
       {"\x01", "\x7f", "\xc2\x85", "\xe2\x80\xae", "\xe2\x80\xa8", "\xc0\xaf", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xe2\x82", "\x80", "\xff"}) {
    EXPECT_FALSE(codec::is_printable(bad)) << testing::PrintToString(std::string(bad));
  }
  EXPECT_FALSE(codec::is_printable(std::string_view("\0", 1)));
}

}  // namespace
}  // namespace puzzled
