// A Scaler and what it sees, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "client/scaler/scaler.h"

namespace puzzled::scaler {

using State = Allocation::State;

struct World : ::testing::Test {
  void rebuild(const ScalerOptions& with) {
    std::destroy_at(&scaler);
    std::construct_at(&scaler, with);
  }
  // What is seen `ms` later, decided on and, if all goes well, carried out.
  Decision after(std::int64_t ms) {
    now_ms += ms;
    return scaler.decide(now_ms, seen);
  }
  Decision carried_out_after(std::int64_t ms) {
    Decision decision = after(ms);
    for (const End& end : decision.ends) scaler.ended(now_ms, end);
    return decision;
  }
  // The engine's clock is another.
  [[nodiscard]] std::int64_t engine_ms() const { return 1'700'000'000'000 + now_ms; }
  void allocate(const std::string& id, State state = State::kRunning) {
    seen.allocations.push_back({.id = id, .state = state, .detail = "", .since_ms = engine_ms()});
  }
  void connect(const std::string& id, std::uint32_t leases = 1) {
    seen.workers.push_back(
        {.name = "w-" + id, .allocation = id, .slots = 1, .leases = leases, .draining = false});
  }
  // A worker that does what it should.
  void work(const std::string& id, std::uint32_t leases = 1) {
    allocate(id);
    connect(id, leases);
  }
  void set_state(const std::string& id, State state, const std::string& detail = "") {
    for (Allocation& allocation : seen.allocations) {
      if (allocation.id != id) continue;
      allocation.state = state;
      allocation.detail = detail;
    }
  }
  void forget(const std::string& id) {
    std::erase_if(seen.allocations, [&](const Allocation& a) { return a.id == id; });
  }
  void disconnect(const std::string& id) {
    std::erase_if(seen.workers, [&](const Worker& w) { return w.allocation == id; });
  }
  static std::vector<std::string> ids(const Decision& decision, How how) {
    std::vector<std::string> ids;
    for (const End& end : decision.ends) {
      if (end.how == how) ids.push_back(end.id);
    }
    return ids;
  }
  static std::string text(const Decision& decision) {
    std::string text;
    for (const Note& note : decision.notes) text += note.text + "\n";
    return text;
  }

  ScalerOptions options{.min = 0, .max = 4};
  Scaler scaler{options};
  Observation seen;
  std::int64_t now_ms = 1'000'000;
};

}  // namespace puzzled::scaler
