// Reading the messages that pass a FrameProxy.
#pragma once

#include <string_view>

#include "proto/wire.h"

namespace puzzled::testing {

// The envelope in a frame; an empty one if it cannot be read.
template <class Envelope>
Envelope decoded(std::string_view frame) {
  Envelope envelope;
  if (frame.size() > wire::kHeaderBytes) {
    const std::string_view body = frame.substr(wire::kHeaderBytes);
    envelope.ParseFromArray(body.data(), static_cast<int>(body.size()));
  }
  return envelope;
}

}  // namespace puzzled::testing
