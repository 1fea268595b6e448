// A broker that reuses answers, for the tests of that.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/broker/driver.h"

namespace puzzled {

inline BrokerOptions with_cache() {
  BrokerOptions options;
  options.answer_cache = true;
  options.answer_cache_cost_us = 200;
  return options;
}

// A store that has answers of "bishops", by version v1.
inline Recovery with_answers(const std::string& version = "v1") {
  Recovery recovery = Driver::first_boot();
  recovery.has_answers = true;
  recovery.versions.push_back(
      {.puzzle = "bishops", .solver = "fast", .version = version, .last_job = {}});
  return recovery;
}

class ReuseTest : public ::testing::Test {
 protected:
  explicit ReuseTest(Recovery recovery = with_answers(), BrokerOptions options = with_cache())
      : t(options, std::move(recovery)) {}

  Effects& open(std::uint8_t id, bool no_cache = false, const std::string& version = "") {
    JobSpec spec;
    spec.puzzle = "bishops";
    spec.solver = "fast";
    spec.no_cache = no_cache;
    spec.solver_version = version;
    return t.step(event::OpenJob{Driver::kClient, ++t.request, bytes16(id), spec});
  }
  Effects& add_keyed(std::uint8_t id, ChunkNo chunk_no, std::uint32_t count) {
    event::AddChunk chunk{
        Driver::kClient, ++t.request, bytes16(id), chunk_no, {}, make_cases(count), 7};
    chunk.keys = std::string(kAnswerKeyBytes * count, 'k');
    return t.step(std::move(chunk));
  }
  // The store's answer to the last load.
  Effects& loaded(const LoadChunk& load, const std::vector<std::uint32_t>& known) {
    event::ChunkLoaded event{load.job, load.chunk_no, make_cases(load.case_count), {}, load.ask};
    event.look_up = load.look_up;
    for (const std::uint32_t index : known) event.known.push_back({.index = index, .source = 40});
    return t.step(std::move(event));
  }
  // Results of this lease of worker 1, each with an answer and a key.
  Effects& results_with_keys(std::uint64_t lease, std::uint32_t count, std::uint64_t busy_us,
                             bool cached = false, Verdict verdict = Verdict::kSolved) {
    ResultSet results = make_results(range(0, count), verdict);
    for (CaseResult& result : results.results) {
      result.has_answer = true;
      result.answer = "a";
      result.key = kKey;
      result.cached = cached && result.position > 0;
    }
    return t.step(
        event::WorkerResults{PeerId{1}, Boot{1}, LeaseId{lease}, 1, 0, results, busy_us, 1});
  }
  static constexpr std::string_view kKey = "0123456789abcdef";
  static_assert(kKey.size() == kAnswerKeyBytes);

  LoadChunk only_load() {
    EXPECT_EQ(t.effects.loads.size(), 1U);
    return t.effects.loads.empty() ? LoadChunk{} : t.effects.loads[0];
  }
  bool keys_wanted() { return t.sent_when_durable<message::JobOpened>().at(0).keys_wanted; }

  Driver t;
};

}  // namespace puzzled
