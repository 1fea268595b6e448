#include "workers/puzzles/key.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "proto/base/assert.h"
#include "workers/puzzles/puzzle.h"

namespace puzzled {
namespace {

using State = crypto_generichash_state;

State* state_of(std::array<unsigned char, 384>& bytes) {
  return reinterpret_cast<State*>(bytes.data());
}

}  // namespace

KeyHash::KeyHash() {
  static_assert(sizeof(State) <= sizeof(state_) && alignof(State) <= 64);
  static const bool ready = ::sodium_init() >= 0;  // chooses the code for this processor
  ASSERT(ready);
  ::crypto_generichash_init(state_of(state_), nullptr, 0, kAnswerKeyBytes);
}

void KeyHash::put(const void* bytes, std::size_t count) {
  if (count > buffer_.size() - used_) {
    ::crypto_generichash_update(state_of(state_), buffer_.data(), used_);
    used_ = 0;
  }
  if (count > buffer_.size()) {
    ::crypto_generichash_update(state_of(state_), static_cast<const unsigned char*>(bytes), count);
    return;
  }
  std::memcpy(buffer_.data() + used_, bytes, count);
  used_ += count;
}

void KeyHash::add(std::uint64_t number) {
  std::array<unsigned char, 10> bytes;  // seven bits each, the last one without the eighth
  std::size_t count = 0;
  for (; number >= 0x80; number >>= 7U) bytes[count++] = static_cast<unsigned char>(number | 0x80U);
  bytes[count++] = static_cast<unsigned char>(number);
  put(bytes.data(), count);
}

void KeyHash::add(std::string_view bytes) {
  add(bytes.size());
  put(bytes.data(), bytes.size());
}

AnswerKey KeyHash::finish() {
  ::crypto_generichash_update(state_of(state_), buffer_.data(), used_);
  AnswerKey key;
  ::crypto_generichash_final(state_of(state_), reinterpret_cast<unsigned char*>(key.data()),
                             key.size());
  // Zeros say that there is none.
  if (std::ranges::all_of(key, [](char c) { return c == 0; })) key[0] = 1;
  return key;
}

AnswerKey answer_key(const Puzzle& puzzle, std::string_view solver, std::string_view instance) {
  KeyHash hash;
  hash.add(puzzle.name);
  hash.add(solver);
  puzzle.add_to_key(instance, hash);
  return hash.finish();
}

}  // namespace puzzled
