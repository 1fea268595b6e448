#include "tests/host/slot_support.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>

#include "proto/wire.h"
#include "workers/host/clocks.h"
#include "workers/puzzles/bishops/bishops.h"

namespace puzzled::host {
namespace {

constexpr Limits kLimits{10'000'000, 256U << 20U, 16U << 20U};

std::string right_answer(const BishopsCase& c) {
  std::string instance;
  std::string answer;
  bishops::encode_instance({c.n, c.k}, instance);
  bishops::solve_staircase(instance, answer);
  return answer;
}

}  // namespace

std::string serialise(const BishopsCase& c) {
  std::string instance;
  bishops::encode_instance({c.n, c.k}, instance);
  proto::Case message;
  message.set_instance(instance);
  if (c.claimed) message.set_expected(right_answer(c));
  return message.SerializeAsString();
}

std::vector<BishopsCase> good_cases(std::uint32_t count) {
  std::vector<BishopsCase> cases;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t n = 1 + i % 8;
    cases.push_back({n, i / 8 % std::min(n * n, 12U), i % 3 == 0});
  }
  return cases;
}

std::shared_ptr<Dispatch> make_dispatch(const std::string& solver,
                                        const std::vector<BishopsCase>& cases) {
  static std::uint64_t last_lease = 0;
  auto dispatch = std::make_shared<Dispatch>();
  dispatch->boot = Boot{1};
  dispatch->lease = LeaseId{++last_lease};
  dispatch->attempt = 1;
  dispatch->puzzle = "bishops";
  dispatch->solver = solver;
  dispatch->limits = kLimits;
  dispatch->case_count = static_cast<std::uint32_t>(cases.size());
  for (const BishopsCase& c : cases) wire::append_case(serialise(c), dispatch->cases);
  return dispatch;
}

SlotRunner::SlotRunner(SlotOptions options) : slot(0, options) {}

Outcome SlotRunner::run(const DispatchPtr& dispatch) {
  Outcome outcome;
  slot.start(dispatch, events_);
  while (!outcome.finished && slot.fatal().empty()) turn(outcome);
  return outcome;
}

void SlotRunner::turn(Outcome& outcome, bool trim_when_late) {
  if (events_.empty()) {
    pollfd item{slot.fd(), POLLIN, 0};
    const std::int64_t left_ns = slot.next_check_ns() - monotonic_ns();
    const std::int64_t left_ms = std::clamp<std::int64_t>(left_ns / 1'000'000 + 1, 0, 60'000);
    if (::poll(&item, 1, static_cast<int>(left_ms)) > 0) slot.on_readable(events_);
    if (monotonic_ns() >= slot.next_check_ns()) slot.on_check(events_);
  }
  const std::vector<Event> events = std::exchange(events_, {});
  for (const Event& event : events) {
    if (const auto* results = std::get_if<event::SlotResults>(&event)) {
      proto::CaseResultList list;
      if (results->results != nullptr) {
        ++outcome.parts;
        ASSERT_TRUE(list.ParseFromString(*results->results));
      }
      for (const proto::CaseResult& r : list.results()) {
        EXPECT_TRUE(outcome.results.emplace(r.position(), r).second) << "twice: " << r.position();
      }
      outcome.finished = outcome.finished || results->finished;
    } else if (const auto* back = std::get_if<event::SlotReturned>(&event)) {
      outcome.returned.insert(outcome.returned.end(), back->positions.begin(),
                              back->positions.end());
    } else if (std::holds_alternative<event::SlotLate>(event)) {
      ++outcome.late;
      if (trim_when_late) slot.trim(events_);
    }
  }
}

void expect_only(const Outcome& outcome, const std::vector<BishopsCase>& cases,
                 std::uint32_t trouble, proto::Verdict verdict) {
  EXPECT_TRUE(outcome.returned.empty());
  ASSERT_EQ(outcome.results.size(), cases.size());
  for (const auto& [position, result] : outcome.results) {
    if (position == trouble) {
      EXPECT_EQ(result.verdict(), verdict) << result.message();
      continue;
    }
    const BishopsCase& c = cases[position];
    EXPECT_EQ(result.verdict(), c.claimed ? proto::ACCEPTED : proto::SOLVED) << result.message();
    EXPECT_TRUE(result.has_answer());
    EXPECT_EQ(result.answer(), right_answer(c));
  }
}

}  // namespace puzzled::host
