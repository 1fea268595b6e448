// Drives a Broker in tests: short ways to make events, a clock, and a store that is a list.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "daemon/broker/broker.h"
#include "daemon/broker/trace.h"
#include "proto/base/digest.h"

namespace puzzled {

inline Bytes16 bytes16(std::uint8_t n) {
  Bytes16 bytes{};
  bytes[0] = n;
  return bytes;
}

// `count` cases of `case_bytes` bytes each.
inline ChunkCasesPtr make_cases(std::uint32_t count, std::uint32_t case_bytes = 10) {
  auto cases = std::make_shared<ChunkCases>();
  cases->bytes.assign(std::size_t{count} * case_bytes, 'x');
  for (std::uint32_t i = 0; i <= count; ++i) cases->offsets.push_back(i * case_bytes);
  return cases;
}

inline ResultSet make_results(const std::vector<std::uint32_t>& positions,
                              Verdict verdict = Verdict::kSolved) {
  ResultSet set;
  set.body = std::make_shared<const std::string>();
  for (const std::uint32_t position : positions) {
    CaseResult result;
    result.position = position;
    result.verdict = verdict;
    set.results.push_back(result);
  }
  return set;
}

inline std::vector<std::uint32_t> range(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  for (std::uint32_t i = 0; i < count; ++i) all[i] = first + i;
  return all;
}

// Steps a broker, checks its invariants each time, keeps the effects of the last step and, with
// `durable_at_once`, reports records as durable in a step of their own.
class Driver {
 public:
  explicit Driver(BrokerOptions options = {}, Recovery recovery = first_boot())
      : broker(std::make_unique<Broker>(options, std::move(recovery))) {}

  static Recovery first_boot() {
    Recovery recovery;
    recovery.boot = Boot{1};
    return recovery;
  }

  // The effects of this step, followed by those of the step that reports it durable.
  Effects& step(Event event) {
    effects = {};
    one_step(std::move(event), effects);
    if (durable_at_once && effects.step > durable) {
      durable = effects.step;
      one_step(event::RecordsDurable{durable}, effects);
    }
    return effects;
  }
  Effects& tick_after(std::int64_t ms) {
    now.steady_ms += ms;
    now.wall_ms += ms;
    return step(event::Tick{});
  }

  // ---- Events.
  Effects& open(std::uint8_t id, const std::string& puzzle = "bishops", std::int32_t priority = 0) {
    JobSpec spec;
    spec.puzzle = puzzle;
    spec.solver = "fast";
    spec.priority = priority;
    return step(event::OpenJob{kClient, ++request, bytes16(id), spec});
  }
  Effects& add(std::uint8_t id, ChunkNo chunk_no, std::uint32_t count, std::uint64_t hash = 7,
               std::uint32_t case_bytes = 10) {
    return step(event::AddChunk{
        kClient, ++request, bytes16(id), chunk_no, {}, make_cases(count, case_bytes), hash});
  }
  Effects& seal(std::uint8_t id, std::uint32_t chunks, std::uint64_t cases,
                std::uint64_t hash = 7) {
    std::uint64_t digest = wire::kEmptyDigest;
    for (std::uint32_t i = 0; i < chunks; ++i) digest = wire::fold_digest(digest, hash);
    return step(event::SealJob{kClient, ++request, bytes16(id), chunks, cases, 0, digest});
  }
  // A sealed job with one chunk.
  void submit(std::uint8_t id, std::uint32_t cases, const std::string& puzzle = "bishops",
              std::int32_t priority = 0) {
    open(id, puzzle, priority);
    add(id, 0, cases);
    seal(id, 1, cases);
  }
  Effects& ready(std::uint64_t peer, std::uint8_t start, std::uint32_t capacity = 1,
                 const std::vector<std::string>& puzzles = {"bishops"}, Boot boot = {},
                 std::vector<LeaseId> leases = {}) {
    event::WorkerReady e;
    e.peer = PeerId{peer};
    e.start_id = bytes16(start);
    e.name = "w" + std::to_string(start);
    e.host = "here";
    e.slots = capacity;
    e.capacity = capacity;
    for (const std::string& puzzle : puzzles) e.offers.push_back({puzzle, "fast", "v1"});
    e.boot = boot;
    e.leases = std::move(leases);
    return step(std::move(e));
  }
  Effects& results(std::uint64_t peer, std::uint64_t lease, std::vector<std::uint32_t> positions,
                   std::uint32_t attempt = 1, std::uint32_t part = 0, std::uint32_t capacity = 1) {
    return step(event::WorkerResults{PeerId{peer}, Boot{1}, LeaseId{lease}, attempt, part,
                                     make_results(positions), 1000 * positions.size(), capacity});
  }
  Effects& give_back(std::uint64_t peer, std::uint64_t lease, std::vector<PositionRange> positions,
                     std::uint32_t capacity = 1, std::uint32_t attempt = 1) {
    return step(event::WorkerReturn{PeerId{peer}, Boot{1}, LeaseId{lease}, attempt,
                                    std::move(positions), capacity});
  }
  Effects& heartbeat(std::uint64_t peer, std::vector<std::uint64_t> leases,
                     std::vector<event::BusySlot> slots = {}, std::uint32_t capacity = 1) {
    std::vector<LeaseId> ids;
    for (const std::uint64_t lease : leases) ids.push_back(LeaseId{lease});
    return step(event::WorkerHeartbeat{PeerId{peer}, Boot{1}, ids, std::move(slots), capacity});
  }

  // ---- What came of the last step.
  template <class Message>
  std::vector<Message> sent_now() const {
    return pick<Message>(effects.now);
  }
  template <class Message>
  std::vector<Message> sent_when_durable() const {
    return pick<Message>(effects.when_durable);
  }
  template <class What>
  std::vector<What> recorded() const {
    std::vector<What> found;
    for (const Record& record : effects.records) {
      if (const auto* what = std::get_if<What>(&record)) found.push_back(*what);
    }
    return found;
  }
  std::optional<message::ErrorCode> error() const {
    auto errors = sent_now<message::Error>();
    if (errors.empty()) errors = sent_when_durable<message::Error>();
    if (errors.empty()) return std::nullopt;
    return errors.front().code;
  }
  // Number of cases of the only dispatch; 0 if there was none.
  std::uint32_t dispatched() const {
    std::uint32_t count = 0;
    for (const auto& dispatch : sent_now<message::Dispatch>()) {
      for (const auto& slice : dispatch.slices) count += slice.count;
    }
    return count;
  }
  std::vector<WorkerView> workers() const {
    return broker->workers(now, WorkerNo{}, 1'000).workers;
  }
  std::string waiting_for(std::uint64_t job) const {
    return broker->job_view(JobId{job}).waiting_for;
  }

  static constexpr PeerId kClient{100};
  std::unique_ptr<Broker> broker;
  Effects effects;
  Now now{1'000, 1'700'000'000'000};
  bool durable_at_once = true;
  bool loads_at_once = false;  // answers LoadChunk in a step of its own
  std::uint64_t durable = 0;
  std::uint64_t request = 0;
  std::string* trace = nullptr;  // if set, every step is appended to it

 private:
  void one_step(Event event, Effects& into) {
    Effects mine;
    // Without a number it answers what was asked last.
    if (auto* loaded = std::get_if<event::ChunkLoaded>(&event); loaded && loaded->ask == 0) {
      loaded->ask = asks_[{loaded->job.value, loaded->chunk_no}];
    }
    if (trace != nullptr) {
      *trace += "[" + std::to_string(now.steady_ms) + "] " + describe(event) + "\n";
    }
    broker->step(now, std::move(event), mine);
    broker->check_invariants();
    if (trace != nullptr) *trace += describe(mine);
    into.step = mine.step;
    for (const Record& record : mine.records) keep(record);
    const std::vector<LoadChunk> loads = mine.loads;
    for (const LoadChunk& load : loads) asks_[{load.job.value, load.chunk_no}] = load.ask;
    const auto append = [](auto& to, auto& from) {
      to.insert(to.end(), std::make_move_iterator(from.begin()),
                std::make_move_iterator(from.end()));
    };
    append(into.records, mine.records);
    append(into.when_durable, mine.when_durable);
    append(into.now, mine.now);
    append(into.loads, mine.loads);
    append(into.comparisons, mine.comparisons);
    append(into.canary_loads, mine.canary_loads);
    append(into.notices, mine.notices);
    if (!loads_at_once) return;
    for (const LoadChunk& load : loads) {
      const Kept& chunk = chunks_.at({load.job.value, load.chunk_no});
      one_step(event::ChunkLoaded{load.job,
                                  load.chunk_no,
                                  chunk.cases,
                                  {chunk.done.begin(), chunk.done.end()},
                                  load.ask},
               into);
    }
  }

  // The store, for loads_at_once.
  struct Kept {
    CaseNo first_case;
    ChunkCasesPtr cases;
    std::set<std::uint32_t> done;
  };
  void keep(const Record& record) {
    if (const auto* chunk = std::get_if<record::InsertChunk>(&record)) {
      chunks_[{chunk->job.value, chunk->chunk_no}] = {chunk->first_case, chunk->cases, {}};
    }
    if (const auto* revised = std::get_if<record::ReviseResults>(&record)) {
      Kept& chunk = chunks_.at({revised->job.value, revised->chunk_no});
      for (std::uint32_t i = 0; i < revised->count; ++i) {
        chunk.done.erase(
            static_cast<std::uint32_t>(revised->first_case.value + i - chunk.first_case.value));
      }
    }
    if (const auto* results = std::get_if<record::InsertResults>(&record)) {
      for (const record::ResultRow& row : results->rows) {
        const auto it = chunks_.find({results->job.value, row.chunk_no});
        if (it == chunks_.end()) continue;
        it->second.done.insert(
            static_cast<std::uint32_t>(row.case_no.value - it->second.first_case.value));
      }
    }
  }
  std::map<std::pair<std::uint64_t, ChunkNo>, Kept> chunks_;
  std::map<std::pair<std::uint64_t, ChunkNo>, std::uint64_t> asks_;

  template <class Message>
  static std::vector<Message> pick(const std::vector<Send>& sends) {
    std::vector<Message> found;
    for (const Send& send : sends) {
      std::visit(
          [&](const auto& side) {
            std::visit(
                [&]<class Sent>(const Sent& message) {
                  if constexpr (std::is_same_v<Sent, Message>) found.push_back(message);
                },
                side);
          },
          send.what);
    }
    return found;
  }
};

}  // namespace puzzled
