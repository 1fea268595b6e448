#include <fmt/format.h>

#include "workers/puzzles/bishops/bishops.h"

namespace puzzled::bishops {

CheckResult check(std::string_view instance, std::string_view claimed, std::string_view right) {
  decode_instance(instance);
  if (decode_answer(claimed) == decode_answer(right)) return {true, ""};
  // Both can be thousands of digits long; the summaries keep the message readable.
  return {false, fmt::format("found {}, expected {}", summarize(claimed), summarize(right))};
}

}  // namespace puzzled::bishops
