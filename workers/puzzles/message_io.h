// Decoding and encoding of a puzzle's messages without allocation on the hot path.
#pragma once

#include <google/protobuf/message_lite.h>

#include <limits>
#include <string>
#include <string_view>

#include "workers/puzzles/puzzle.h"

namespace puzzled {

// Parses `bytes` into `message`. Throws InvalidWire ("the WHAT cannot be decoded").
template <class Message>
void decode_message(std::string_view bytes, Message& message, std::string_view what) {
  constexpr auto kBytesMax = static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (bytes.size() <= kBytesMax &&
      message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return;
  }
  throw InvalidWire("the " + std::string(what) + " cannot be decoded");
}

// A message of this thread that keeps its memory: for small messages of the hot path.
template <class Message>
Message& scratch_message() {
  thread_local Message message;
  return message;
}

}  // namespace puzzled
