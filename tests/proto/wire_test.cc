#include "proto/wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>

#include "proto/client.pb.h"
#include "proto/common.pb.h"
#include "proto/worker.pb.h"

namespace puzzled::wire {
namespace {

using namespace std::string_literals;

proto::ClientRequest request() {
  proto::ClientRequest request;
  request.set_id(7);
  request.mutable_wait_job()->set_job(42);
  return request;
}

DecodeError decode_request(std::string_view frame, std::size_t bytes_max = kMessageBytesMax) {
  proto::ClientRequest decoded;
  return decode(frame, Role::kClient, bytes_max, decoded);
}

TEST(Frame, SurvivesEncodingAndDecoding) {
  proto::ClientRequest decoded;
  const std::string frame = encode(Role::kClient, request());
  ASSERT_EQ(decode(frame, Role::kClient, kMessageBytesMax, decoded), DecodeError::kNone);
  EXPECT_EQ(decoded.id(), 7U);
  EXPECT_EQ(decoded.wait_job().job(), 42U);
}

// The header is a promise to other versions.
TEST(Frame, HasTheDocumentedHeader) {
  const std::string frame = encode(Role::kWorker, request());
  const std::string body = request().SerializeAsString();
  ASSERT_LT(body.size(), 256U);
  EXPECT_EQ(frame, "PZLDw\x01\x01\x00"s + static_cast<char>(body.size()) + "\0\0\0"s + body);
  EXPECT_EQ(encode(Role::kBroker, proto::ClientReply()), "PZLDb\x01\x01\0\0\0\0\0"s);
}

TEST(Frame, EveryFaultHasItsOwnError) {
  const std::string good = encode(Role::kClient, request());
  const auto with = [&](std::size_t at, char byte) {
    std::string frame = good;
    frame[at] = byte;
    return frame;
  };
  EXPECT_EQ(decode_request(""), DecodeError::kTooShort);
  EXPECT_EQ(decode_request(good.substr(0, kHeaderBytes - 1)), DecodeError::kTooShort);
  for (std::size_t at = 0; at < 4; ++at) {
    EXPECT_EQ(decode_request(with(at, 'x')), DecodeError::kNotOurs);
  }
  EXPECT_EQ(decode_request(encode(Role::kWorker, request())), DecodeError::kWrongRole);
  EXPECT_EQ(decode_request(with(5, kMajor + 1)), DecodeError::kOtherVersion);
  EXPECT_EQ(decode_request(with(6, kMinor + 1)), DecodeError::kNone) << "minor versions mix";
  EXPECT_EQ(decode_request(with(6, kMinor - 1)), DecodeError::kNone);
  EXPECT_EQ(decode_request(with(6, kMinor + 2)), DecodeError::kOtherVersion) << "if they are near";
  EXPECT_EQ(decode_request(with(6, '\xff')), DecodeError::kOtherVersion);
  EXPECT_EQ(decode_request(good + "x"), DecodeError::kWrongLength);
  EXPECT_EQ(decode_request(good.substr(0, good.size() - 1)), DecodeError::kWrongLength);
  EXPECT_EQ(decode_request(with(11, '\x7f')), DecodeError::kWrongLength);
  EXPECT_EQ(decode_request(good, good.size()), DecodeError::kNone);
  EXPECT_EQ(decode_request(good, good.size() - 1), DecodeError::kTooLarge);
  EXPECT_EQ(decode_request(with(kHeaderBytes, '\xff')), DecodeError::kMalformed);
}

TEST(Frame, ARefusedVersionIsNamedWithWhatToDo) {
  std::string frame = encode(Role::kClient, request());
  frame[6] = kMinor + 2;
  EXPECT_EQ(
      describe_skew(frame, "the client", "this daemon"),
      "the client speaks protocol version 1.3 and this daemon version 1.1; minor versions may "
      "be 1 apart: upgrade this daemon");
  frame[5] = kMajor - 1;
  EXPECT_EQ(describe_skew(frame, "the client", "this daemon"),
            "the client speaks protocol version 0.3 and this daemon version 1.1; different major "
            "versions do not work together: upgrade the client");
  EXPECT_EQ(version_of(frame), (Version{kMajor - 1, kMinor + 2}));
  EXPECT_EQ(version_of("XXXX" + frame.substr(4)), std::nullopt);
  EXPECT_EQ(version_of(frame.substr(0, 5)), std::nullopt);
}

// Two bytes of a frame become an object each.
TEST(Frame, AFieldOfTwoBytesIsNotRepeatedForEver) {
  const auto ready_with = [](std::size_t offers) {
    proto::FromWorker message;
    for (std::size_t i = 0; i < offers; ++i) message.mutable_ready()->add_offers();
    return encode(Role::kWorker, message);
  };
  const auto decode_ready = [](const std::string& frame) {
    proto::FromWorker decoded;
    return decode(frame, Role::kWorker, kMessageBytesMax, decoded);
  };
  EXPECT_EQ(decode_ready(ready_with(kFieldsMax - 1)), DecodeError::kNone);
  EXPECT_EQ(decode_ready(ready_with(kFieldsMax)), DecodeError::kTooManyFields);
  // Unknown fields cost as much, and a message may come in pieces.
  std::string pieces;
  for (std::size_t i = 0; i < kFieldsMax / 2; ++i) pieces += "\x0a\x02\x2a\x00"s;
  const auto length = static_cast<std::uint32_t>(pieces.size());
  std::string frame = "PZLDw\x01\x00\x00"s;
  for (unsigned i = 0; i < 4; ++i) frame.push_back(static_cast<char>(length >> (8 * i)));
  EXPECT_EQ(decode_ready(frame + pieces), DecodeError::kNone);
  frame[8] = static_cast<char>(length + 2);
  pieces += "\x0a\x00"s;
  EXPECT_EQ(decode_ready(frame + pieces), DecodeError::kTooManyFields);
}

TEST(Frame, WhatIsInAGroupIsCountedToo) {
  std::string body = "\x7b"s;  // field 15
  for (std::size_t i = 0; i < kFieldsMax; ++i) body += "\x08\x01"s;
  body += "\x7c"s;
  std::string frame = "PZLDw\x01\x00\x00"s;
  for (unsigned i = 0; i < 4; ++i) frame.push_back(static_cast<char>(body.size() >> (8 * i)));
  proto::FromWorker decoded;
  EXPECT_EQ(decode(frame + body, Role::kWorker, kMessageBytesMax, decoded),
            DecodeError::kTooManyFields);
}

TEST(Frame, EveryErrorIsDescribedInItsOwnWords) {
  std::set<std::string_view> texts;
  for (int error = 0; error <= static_cast<int>(DecodeError::kMalformed); ++error) {
    texts.insert(describe(static_cast<DecodeError>(error)));
  }
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(DecodeError::kMalformed) + 1);
}

// `count` cases of different sizes, some empty.
proto::CaseList case_list(int count) {
  proto::CaseList list;
  for (int i = 0; i < count; ++i) {
    auto* one = list.add_cases();
    if (i % 3 != 0) one->set_instance(std::string(static_cast<std::size_t>(i * i), 'i'));
    if (i % 2 != 0) one->set_expected("e");
  }
  return list;
}

TEST(SplitCases, FindsEveryCaseAndSlicesAreLists) {
  const proto::CaseList list = case_list(30);
  const std::string bytes = list.SerializeAsString();
  const auto offsets = split_cases(bytes);
  ASSERT_TRUE(offsets.has_value());
  ASSERT_EQ(offsets->size(), 31U);
  EXPECT_EQ(offsets->front(), 0U);
  EXPECT_EQ(offsets->back(), bytes.size());
  for (int i = 0; i < 30; ++i) {
    const std::size_t begin = (*offsets)[static_cast<std::size_t>(i)];
    const std::size_t end = (*offsets)[static_cast<std::size_t>(i) + 1];
    proto::CaseList slice;
    ASSERT_TRUE(slice.ParseFromString(bytes.substr(begin, end - begin)));
    ASSERT_EQ(slice.cases_size(), 1);
    EXPECT_EQ(slice.cases(0).SerializeAsString(), list.cases(i).SerializeAsString());
  }
}

TEST(SplitCases, AnEmptyListHasNoCases) {
  EXPECT_EQ(split_cases(""), std::vector<std::uint32_t>{0});
}

TEST(SplitCases, AppendedCasesAreTheSerialisedList) {
  for (const int count : {0, 1, 2, 30}) {
    const proto::CaseList list = case_list(count);
    std::string bytes;
    for (const auto& one : list.cases()) append_case(one.SerializeAsString(), bytes);
    EXPECT_EQ(bytes, list.SerializeAsString());
  }
  std::string large;
  append_case(std::string(70'000, 'x'), large);
  EXPECT_EQ(split_cases(large), (std::vector<std::uint32_t>{0, 70'004}));
}

TEST(SplitCases, RefusesCutOffLists) {
  const std::string bytes = case_list(12).SerializeAsString();
  const auto offsets = split_cases(bytes);
  ASSERT_TRUE(offsets.has_value());
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const bool at_border = std::ranges::find(*offsets, length) != offsets->end();
    EXPECT_EQ(split_cases(bytes.substr(0, length)).has_value(), at_border) << length;
  }
}

TEST(SplitCases, RefusesHostileBytes) {
  for (const std::string& bytes : {
           "\x12\x00"s,                                      // another field
           "\x08\x01"s,                                      // another wire type
           "\x00"s,                                          // no field number
           "\x0a"s,                                          // no length
           "\x0a\x80"s,                                      // half a length
           "\x0a\x05x"s,                                     // more than there is
           "\x0a\xff\xff\xff\xff\x0f"s,                      // 4 GiB
           "\x0a\xff\xff\xff\xff\x07"s,                      // 2 GiB
           "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,  // 2^64 - 1
           "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s,  // no end of the length
           "\x0a\xff\xff\xff\xff\x10x"s,                     // a length with more than 32 bits
           "\x0a\x81\x80\x80\x80\x80\x00x"s,                 // a length of six bytes
           "\x8a\x80\x80\x80\x80\x00\x01x"s,                 // a tag of six bytes
           "\x0a\x00\x0b"s,                                  // a group
       }) {
    EXPECT_EQ(split_cases(bytes), std::nullopt);
  }
}

// Whatever the bytes: no crash; and what is split covers the bytes in order.
TEST(SplitCases, RandomBytesAreSplitOrRefused) {
  std::uint64_t seed = std::random_device{}();
  if (const char* given = std::getenv("PUZZLED_SEED")) seed = std::stoull(given);
  std::cout << "PUZZLED_SEED=" << seed << std::endl;
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100'000; ++round) {
    std::string bytes(random() % 24, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 3 == 0 ? 0x0a : random() % 256);
    const auto offsets = split_cases(bytes);
    if (!offsets) continue;
    ASSERT_EQ(offsets->front(), 0U);
    ASSERT_EQ(offsets->back(), bytes.size());
    for (std::size_t i = 1; i < offsets->size(); ++i) {
      ASSERT_GE((*offsets)[i], (*offsets)[i - 1] + 2);
    }
  }
}

TEST(ChunkHash, DependsOnCasesAndFilesAndTheirOrder) {
  const std::set<std::uint64_t> hashes = {
      chunk_hash("", {}),           chunk_hash("ab", {}),    chunk_hash("ba", {}),
      chunk_hash("ab", {"f"}),      chunk_hash("ab", {"g"}), chunk_hash("ab", {"f", "g"}),
      chunk_hash("ab", {"g", "f"}), chunk_hash("ab", {""}),  chunk_hash("ab", {"fg"})};
  EXPECT_EQ(hashes.size(), 9U);
  EXPECT_EQ(chunk_hash("ab", {"f", "g"}), chunk_hash("ab", {"f", "g"}));
  // Stored and sent: the value must not change between releases.
  EXPECT_EQ(chunk_hash("", {}), 0x2d06800538d394c2U);
}

TEST(Digest, FoldsInOrder) {
  EXPECT_NE(fold_digest(fold_digest(kEmptyDigest, 1), 2),
            fold_digest(fold_digest(kEmptyDigest, 2), 1));
  EXPECT_NE(fold_digest(kEmptyDigest, 0), kEmptyDigest);
}

}  // namespace
}  // namespace puzzled::wire
