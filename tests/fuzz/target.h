// What the fuzz targets share. A target is one source file that defines LLVMFuzzerTestOneInput:
// built by clang with libFuzzer (preset `fuzz`), or by any compiler with replay_main.cc, which runs
// files. A finding is an abort: a sanitizer's, an ASSERT of the code or an ASSERT of the target.
#pragma once

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/base/assert.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace puzzled::fuzz {

// The input as text. Keeps protobuf from writing about it to standard error.
inline std::string_view input(const std::uint8_t* data, std::size_t size) {
  static const bool silent = (google::protobuf::SetLogHandler(nullptr), true);
  static_cast<void>(silent);
  return {reinterpret_cast<const char*>(data), size};
}

// Inputs of several parts: each part is two bytes of length, little-endian, and its bytes. What is
// longer than the rest is cut, so that every input has a meaning.
inline std::string_view take_part(std::string_view& in) {
  if (in.size() < 2) in = {};
  if (in.empty()) return {};
  const auto byte = [&](std::size_t i) {
    return std::size_t{static_cast<std::uint8_t>(in[i])} << (8 * i);
  };
  const std::size_t length = std::min(byte(0) | byte(1), in.size() - 2);
  const std::string_view part = in.substr(2, length);
  in.remove_prefix(2 + length);
  return part;
}
// REQUIRES: part.size() < 65536.
inline void append_part(std::string_view part, std::string& out) {
  ASSERT(part.size() < (1U << 16U));
  out.push_back(static_cast<char>(part.size() & 0xffU));
  out.push_back(static_cast<char>(part.size() >> 8U));
  out.append(part);
}

// One line of printable ASCII that says something.
inline bool is_plain_line(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; });
}
// Whole lines of printable ASCII.
inline bool is_plain_text(std::string_view text) {
  return text.ends_with('\n') &&
         std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c < 0x7f); });
}

}  // namespace puzzled::fuzz
