// What starts and ends workers: one interface, so that the rest does not care which it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "client/scaler/types.h"

namespace puzzled::scaler {

struct EngineError {
  std::string text;  // what is wrong, in the engine's own words; may hold bytes of others
};

class Engine {
 public:
  Engine() = default;
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Asks for `count` workers; gives their allocations' ids. An error does not tell that there are
  // none: what was asked for is seen by the next list().
  virtual std::variant<std::vector<std::string>, EngineError> submit(std::uint32_t count) = 0;
  // All allocations of this fleet, in no order.
  virtual std::variant<std::vector<Allocation>, EngineError> list() = 0;
  // REQUIRES: ids of list() or submit(). Those that are over already are no error.
  virtual std::optional<EngineError> end(const std::vector<std::string>& ids, How how) = 0;
  // The allocation of a worker that bears this name; nullopt: it is not of this fleet.
  [[nodiscard]] virtual std::optional<std::string> allocation_of(
      std::string_view worker_name) const = 0;
};

}  // namespace puzzled::scaler
