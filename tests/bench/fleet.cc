#include "tests/bench/fleet.h"

#include <algorithm>
#include <string>
#include <utility>

#include "proto/base/digest.h"
#include "tests/bench/support.h"

namespace puzzled::bench {
namespace {

constexpr PeerId kClient{1'000'000};
constexpr std::uint32_t kChunkCases = 1'000;
constexpr std::uint32_t kCaseBytes = 20;
constexpr std::int64_t kCaseMs = 5;
constexpr std::int64_t kHeartbeatMs = 1'000;
constexpr std::uint32_t kCapacity = 2;
constexpr std::size_t kBurst = 256;  // messages that the daemon reads before it acts on them

ChunkCasesPtr chunk() {
  static const ChunkCasesPtr made = [] {
    auto cases = std::make_shared<ChunkCases>();
    cases->bytes.assign(std::size_t{kChunkCases} * kCaseBytes, 'x');
    for (std::uint32_t i = 0; i <= kChunkCases; ++i) cases->offsets.push_back(i * kCaseBytes);
    return cases;
  }();
  return made;
}

Bytes16 id_of(std::uint64_t number) {
  Bytes16 id{};
  for (std::size_t i = 0; i < 8; ++i) id[i] = static_cast<std::uint8_t>(number >> (8 * i));
  return id;
}

// What reading the clock twice seems to take, in seconds. (The thread's CPU clock is a system call,
// which takes as long as a step of the broker.)
double clock_cost_s() {
  static const double cost = [] {
    std::vector<double> costs;
    for (int i = 0; i < 1'001; ++i) {
      const double start = wall_s();
      costs.push_back(wall_s() - start);
    }
    return median(std::move(costs));
  }();
  return cost;
}

ResultSet results_of(std::uint32_t cases) {
  static const auto body = std::make_shared<const std::string>();
  ResultSet set{body, std::vector<CaseResult>(cases)};
  for (std::uint32_t i = 0; i < cases; ++i) {
    set.results[i].position = i;
    set.results[i].verdict = Verdict::kSolved;
  }
  return set;
}

}  // namespace

Fleet::Fleet(std::uint32_t workers, std::uint32_t kinds) : workers_(workers) {
  Recovery recovery;
  recovery.boot = Boot{1};
  broker_ = std::make_unique<Broker>(BrokerOptions{}, std::move(recovery));
  std::vector<Event> events;
  for (std::uint32_t i = 0; i < workers; ++i) {
    event::WorkerReady ready;
    ready.peer = PeerId{i + 1};
    ready.start_id = id_of(i + 1);
    ready.name = "w" + std::to_string(i);
    ready.capacity = kCapacity;
    ready.offers.push_back({"bishops", "fast", "1"});
    if (kinds > 1) ready.labels = {{"kind", std::to_string(i % kinds)}};
    events.emplace_back(std::move(ready));
    due_.push({now_.steady_ms + 1 + std::int64_t{i} % kHeartbeatMs, ++order_, i, {}, 0});
  }
  step_all(events);
}

void Fleet::add_job(std::uint64_t cases, std::optional<std::uint32_t> kind) {
  JobSpec spec;
  spec.puzzle = "bishops";
  spec.solver = "fast";
  if (kind) spec.require = {{"kind", std::to_string(*kind)}};
  const Bytes16 id = id_of(++jobs_);
  std::vector<Event> events;
  events.emplace_back(event::OpenJob{kClient, 1, id, spec});
  const auto chunks = static_cast<std::uint32_t>(cases / kChunkCases);
  std::uint64_t digest = wire::kEmptyDigest;
  for (std::uint32_t i = 0; i < chunks; ++i) {
    digest = wire::fold_digest(digest, i);
    events.emplace_back(event::AddChunk{kClient, i + 2, id, i, {}, chunk(), i});
    if (events.size() >= BrokerOptions{}.unacknowledged_chunks_max) {
      step_all(events);
    }
  }
  events.emplace_back(event::SealJob{kClient, chunks + 2, id, chunks,
                                     std::uint64_t{chunks} * kChunkCases, 0, digest});
  step_all(events);
}

double Fleet::run(std::uint64_t cases) {
  const std::uint64_t end = done_ + cases;
  broker_s_ = 0;
  while (done_ < end) {
    const std::int64_t passed = std::max<std::int64_t>(due_.top().at_ms - now_.steady_ms, 0);
    now_.steady_ms += passed;
    now_.wall_ms += passed;
    std::vector<Event>& events = burst_;
    while (events.size() < kBurst && due_.top().at_ms <= now_.steady_ms) {
      const Due due = due_.top();
      due_.pop();
      events.push_back(happen(due));
    }
    if (broker_->next_deadline() <= now_.steady_ms) events.emplace_back(event::Tick{});
    step_all(events);
  }
  return broker_s_;
}

Event Fleet::happen(const Due& due) {
  Worker& worker = workers_[due.worker];
  const PeerId peer{due.worker + 1};
  if (due.lease.value != 0) {
    std::erase(worker.leases, due.lease);
    done_ += due.cases;
    return event::WorkerResults{
        peer,     Boot{1}, due.lease, 1, 0, results_of(due.cases), due.cases * kCaseMs * 1'000ULL,
        kCapacity};
  }
  due_.push({due.at_ms + kHeartbeatMs, ++order_, due.worker, {}, 0});
  event::WorkerHeartbeat beat{peer, Boot{1}, worker.leases, {}, kCapacity};
  if (!worker.leases.empty()) {
    beat.slots.push_back({worker.leases.front(), 0, static_cast<std::uint64_t>(due.at_ms)});
  }
  return beat;
}

// Leaves `events` empty, with its memory: freeing and taking that would be measured too.
void Fleet::step_all(std::vector<Event>& events) {
  const double clock_cost = clock_cost_s();
  while (!events.empty()) {
    events_ += events.size();
    const double start = wall_s();
    for (Event& event : events) broker_->step(now_, std::move(event), effects_);
    broker_s_ += wall_s() - start - clock_cost;
    events.clear();
    take_effects();
    std::swap(events, follow_up_);
  }
}

void Fleet::take_effects() {
  if (!effects_.records.empty()) follow_up_.emplace_back(event::RecordsDurable{effects_.step});
  for (const LoadChunk& load : effects_.loads) {
    follow_up_.emplace_back(event::ChunkLoaded{load.job, load.chunk_no, chunk(), {}, load.ask});
  }
  for (const Send& send : effects_.now) {
    const auto* message = std::get_if<WorkerMessage>(&send.what);
    if (message == nullptr) continue;
    if (const auto* dispatch = std::get_if<message::Dispatch>(message)) {
      plan(*dispatch, static_cast<std::uint32_t>(send.to.value - 1));
    }
  }
  effects_.clear();
}

void Fleet::plan(const message::Dispatch& dispatch, std::uint32_t worker) {
  std::uint32_t cases = 0;
  for (const message::Slice& slice : dispatch.slices) cases += slice.count;
  Worker& at = workers_[worker];
  at.leases.push_back(dispatch.lease);
  // Workers do not begin all at once.
  if (at.free_ms == 0) at.free_ms = now_.steady_ms + worker % (kCaseMs * 4);
  const std::int64_t percent =
      varied_ ? 50 + static_cast<std::int64_t>(wire::fold_digest(0, dispatch.lease.value) % 101)
              : 100;
  at.free_ms = std::max(at.free_ms, now_.steady_ms) + cases * kCaseMs * percent / 100;
  due_.push({at.free_ms, ++order_, worker, dispatch.lease, cases});
}

}  // namespace puzzled::bench
