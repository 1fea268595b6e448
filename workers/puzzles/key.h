// By what an answer is found again: 16 bytes that stand for a puzzle, a solver and an instance.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proto/base/answer_key.h"

namespace puzzled {

struct Puzzle;

// Never all zeros.
using AnswerKey = std::array<char, kAnswerKeyBytes>;

// BLAKE2b of what is added, cut to 16 bytes: nobody can make an instance with another one's key.
class KeyHash {
 public:
  KeyHash();
  // Numbers take one form each, and none is the beginning of another's.
  void add(std::uint64_t number);
  // With its length before it.
  void add(std::string_view bytes);
  [[nodiscard]] AnswerKey finish();

 private:
  void put(const void* bytes, std::size_t count);

  alignas(64) std::array<unsigned char, 384> state_;  // the library's
  std::array<unsigned char, 512> buffer_;             // small numbers are hashed together
  std::size_t used_ = 0;
};

// By the fields of the instance, whatever form they were written in. Throws InvalidWire. The same
// in worker and client.
AnswerKey answer_key(const Puzzle& puzzle, std::string_view solver, std::string_view instance);

}  // namespace puzzled
