// Between frames and the Session's plain structs: all of the worker's protobuf for the broker.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/base/labels.h"
#include "workers/host/session_types.h"

namespace puzzled::host {

// What the broker is told about this process, the same in every Ready.
struct Identity {
  std::array<std::uint8_t, 16> start_id{};
  std::string name;
  std::string host;
  std::uint32_t pid = 0;
  std::uint32_t slots = 1;
  std::string version;
  Labels labels;
};

// The frame for a message. Offers are those of all_puzzles().
std::string encode_message(const Identity& identity, const Message& message);

// The event of a broker's frame, or one printable sentence that says what is wrong with it. A frame
// of a version that this worker does not work with is a Refused.
// A Dispatch is checked: its case count and limits are as the contract says.
std::variant<Event, std::string> decode_frame(std::string_view frame);

}  // namespace puzzled::host
