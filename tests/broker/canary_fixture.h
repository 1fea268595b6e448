// A broker with a marked job, for the tests of canaries.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "proto/base/digest.h"
#include "tests/broker/driver.h"

namespace puzzled {

inline constexpr std::string_view kRight = "right";

inline BrokerOptions every_dispatch() {
  BrokerOptions options;
  options.canary_rate = 1;
  options.dispatch_cases_max = 5;  // four and a canary, whatever the cost
  return options;
}

inline JobSpec plain_spec() {
  JobSpec spec;
  spec.puzzle = "bishops";
  spec.solver = "fast";
  return spec;
}

// Job 1 is done and marked: its two cases are the canaries of bishops/fast.
class CanaryTest : public ::testing::Test {
 protected:
  explicit CanaryTest(BrokerOptions options = every_dispatch()) : d(options) {
    d.loads_at_once = true;
    d.submit(1, 2);
    d.ready(50, 50, 1);
    d.results(50, 1, {0, 1});
    d.step(event::WorkerGoodbye{PeerId{50}, "done"});
    mark(1);
    answer_load();
  }

  Effects& mark(std::uint64_t job, bool off = false) {
    return d.step(event::MarkCanary{Driver::kClient, ++d.request, JobId{job}, off});
  }
  // What a restart finds where job 1 is done, marked, and was submitted with this.
  static Recovery recovered_canary(JobSpec spec) {
    Recovery recovery = Driver::first_boot();
    recovery.last_job = JobId{1};
    recovery.last_worker = WorkerNo{7};
    RecoveredJob job;
    job.job = JobId{1};
    job.request_id = bytes16(1);
    job.spec = std::make_shared<const JobSpec>(std::move(spec));
    job.sealed = job.finished = job.canary = true;
    job.chunk_count = 1;
    job.case_count = job.done_count = 2;
    job.digest = wire::kEmptyDigest;
    recovery.jobs.push_back(std::move(job));
    return recovery;
  }
  void restart(BrokerOptions options, Recovery recovery) {
    d.broker = std::make_unique<Broker>(options, std::move(recovery));
    d.durable = 0;
    d.step(event::Tick{});
  }

  // Of as many known results as there are; none: what is stored makes no canary.
  void answer_load(std::uint32_t known = 2) {
    ASSERT_EQ(d.effects.canary_loads.size(), 1U);
    event::CanariesLoaded loaded;
    loaded.job = d.effects.canary_loads[0].job;
    loaded.chunk_no = d.effects.canary_loads[0].chunk_no;
    loaded.epoch = d.effects.canary_loads[0].epoch;
    loaded.first_case = CaseNo{1};
    loaded.cases = canaries;
    for (std::uint32_t i = 0; i < known; ++i) {
      loaded.known.push_back({.index = i,
                              .verdict = Verdict::kSolved,
                              .has_answer = true,
                              .answer_bytes = kRight.size(),
                              .answer_digest = wire::digest_of(kRight)});
    }
    d.step(std::move(loaded));
  }

  Effects& ready(std::uint64_t peer, const std::string& host, Labels labels = {},
                 const std::string& version = "v1", std::uint32_t capacity = 1) {
    event::WorkerReady e;
    e.peer = PeerId{peer};
    e.start_id = bytes16(static_cast<std::uint8_t>(peer));
    e.name = "w" + std::to_string(peer);
    e.host = host;
    e.capacity = capacity;
    e.offers.push_back({"bishops", "fast", version});
    e.labels = std::move(labels);
    return d.step(std::move(e));
  }
  void submit(std::uint8_t id, const JobSpec& spec, std::uint32_t cases) {
    d.step(event::OpenJob{Driver::kClient, ++d.request, bytes16(id), spec});
    d.add(id, 0, cases);
    d.seal(id, 1, cases);
  }

  // Where the canary is in the only dispatch of the last step.
  [[nodiscard]] std::uint32_t canary_position() const {
    const auto dispatches = d.sent_now<message::Dispatch>();
    EXPECT_EQ(dispatches.size(), 1U);
    std::uint32_t position = 0;
    for (const message::Slice& slice : dispatches.at(0).slices) {
      if (slice.cases == canaries) return position;
      position += slice.count;
    }
    ADD_FAILURE() << "there is none";
    return 0;
  }
  [[nodiscard]] std::uint64_t lease() const {
    return d.sent_now<message::Dispatch>().at(0).lease.value;
  }

  // All of a dispatch, with this answer to its canary.
  Effects& answer(std::uint64_t peer, std::uint64_t lease, std::uint32_t count,
                  std::uint32_t canary, std::string_view says) {
    return answer(peer, lease, range(0, count), canary, says, 0);
  }
  Effects& answer(std::uint64_t peer, std::uint64_t lease, std::vector<std::uint32_t> positions,
                  std::uint32_t canary, std::string_view says, std::uint32_t part) {
    event::WorkerResults e{PeerId{peer}, Boot{1}, LeaseId{lease}, 1, part, make_results(positions),
                           1'000,        1};
    for (CaseResult& result : e.results.results) {
      if (result.position != canary) continue;
      result.has_answer = true;
      result.answer = says;
    }
    return d.step(std::move(e));
  }

  const ChunkCasesPtr canaries = make_cases(2);
  Driver d;
};

}  // namespace puzzled
