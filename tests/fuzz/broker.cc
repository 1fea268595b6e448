// Hostile peers at the daemon's state machine: the input is a script of frames of three clients and
// three workers, pauses and disconnections, carried out as the reactor would. Every reply must
// decode at the other side, every request gets at most one, every case at most one result.
#include "daemon/broker/broker.h"

#include <array>
#include <map>
#include <set>
#include <utility>

#include "daemon/net/codec.h"
#include "proto/base/digest.h"
#include "tests/fuzz/broker_script.h"
#include "tests/fuzz/target.h"
#include "tests/net/frames.h"
#include "workers/host/codec.h"

namespace puzzled {
namespace {

constexpr std::size_t kStepsMax = 200;

BrokerOptions small_options() {
  BrokerOptions options;
  options.dispatch_cases_max = 8;
  options.window_bytes_max = 16'384;
  options.job_window_bytes_max = 2'048;
  options.unacknowledged_chunks_max = 3;
  options.open_jobs_max = 4;
  options.workers_max = 2;
  options.worker_leases_max = 4;
  options.waits_max = 4;
  options.upload_expiry_ms = 600'000;
  return options;
}

Recovery first_boot() {
  Recovery recovery;
  recovery.boot = Boot{1};
  return recovery;
}

class Daemon {
 public:
  Daemon() : broker_(small_options(), first_boot()) {}

  void carry_out(std::uint8_t op, std::string_view body) {
    const std::uint64_t number = op % fuzz::kPeers;
    // A connection that is gone comes back as another.
    const std::uint64_t peer = number + connections_[number] * fuzz::kConnectionStep;
    switch (static_cast<fuzz::Op>(op / fuzz::kPeers % fuzz::kOps)) {
      case fuzz::Op::kClient:
        return receive_client(fuzz::kFirstClient + peer, body);
      case fuzz::Op::kWorker:
        return receive_worker(fuzz::kFirstWorker + peer, body);
      case fuzz::Op::kPause:
        now_.steady_ms += fuzz::pause_ms(number);
        now_.wall_ms += fuzz::pause_ms(number);
        return step(event::Tick{});
      case fuzz::Op::kGone:
        ++connections_[number];
        open_requests_.erase(fuzz::kFirstClient + peer);
        step(event::ClientGone{{fuzz::kFirstClient + peer}});
        return step(event::WorkerGone{{fuzz::kFirstWorker + peer}});
      case fuzz::Op::kCommit:
        return commit();
    }
  }

  void commit() {
    if (effects_step_ > durable_step_) {
      durable_step_ = effects_step_;
      for (const Send& send : std::exchange(held_, {})) check(send);
      step(event::RecordsDurable{durable_step_});
    }
    for (event::ChunkLoaded& loaded : std::exchange(loaded_, {})) step(std::move(loaded));
    for (const event::ChunkCompared& one : std::exchange(compared_, {})) step(one);
    for (event::CanariesLoaded& one : std::exchange(canaries_, {})) step(std::move(one));
  }

 private:
  struct StoredChunk {
    CaseNo first_case;
    ChunkCasesPtr cases;
    std::uint64_t hash = 0;
    std::set<std::uint32_t> done;
    std::map<std::uint32_t, KnownResult> known;
  };

  void receive_client(std::uint64_t peer, std::string_view body) {
    proto::ClientRequest request;
    if (!request.ParseFromArray(body.data(), static_cast<int>(body.size()))) return;
    if (request.has_add_chunk()) test::hash_chunk(*request.mutable_add_chunk());
    codec::ClientInput input = codec::decode_client({peer}, test::frame(request), {});
    if (auto* event = std::get_if<Event>(&input)) {
      open_requests_[peer].insert(request.id());
      step(std::move(*event));
    }
  }

  void receive_worker(std::uint64_t peer, std::string_view body) {
    proto::FromWorker sent;
    if (!sent.ParseFromArray(body.data(), static_cast<int>(body.size()))) return;
    codec::WorkerInput input = codec::decode_worker({peer}, test::frame(sent), {});
    if (auto* event = std::get_if<Event>(&input)) return step(std::move(*event));
    step(event::WorkerGone{{peer}});
  }

  void step(Event event) {
    Effects effects;
    effects.step = effects_step_;
    broker_.step(now_, std::move(event), effects);
    broker_.check_invariants();
    effects_step_ = effects.step;
    for (const Record& record : effects.records) std::visit([&](auto& r) { store(r); }, record);
    for (const LoadChunk& load : effects.loads) {
      const StoredChunk& chunk = chunks_.at({load.job.value, load.chunk_no});
      ASSERT(chunk.first_case == load.first_case && chunk.cases->count() == load.case_count);
      loaded_.push_back(
          {load.job, load.chunk_no, chunk.cases, {chunk.done.begin(), chunk.done.end()}, load.ask});
    }
    for (const CompareChunk& compare : effects.comparisons) {
      const StoredChunk& chunk = chunks_.at({compare.job.value, compare.chunk_no});
      compared_.push_back(
          {compare.peer, compare.request, compare.chunk_no, chunk.hash == compare.hash});
    }
    for (const LoadCanaries& load : effects.canary_loads) canaries_.push_back(answer(load));
    for (const Send& send : effects.now) check(send);
    for (Send& send : effects.when_durable) {
      if (effects.step <= durable_step_) {
        check(send);
      } else {
        held_.push_back(std::move(send));
      }
    }
    static_cast<void>(broker_.workers(now_, WorkerNo{}, 1'000));
    ASSERT(broker_.next_deadline() > 0);
  }

  [[nodiscard]] event::CanariesLoaded answer(const LoadCanaries& load) const {
    event::CanariesLoaded loaded;
    loaded.job = load.job;
    loaded.chunk_no = load.chunk_no;
    loaded.epoch = load.epoch;
    const auto chunk = chunks_.find({load.job.value, load.chunk_no});
    if (chunk == chunks_.end()) return loaded;  // a job without any
    loaded.first_case = chunk->second.first_case;
    loaded.cases = chunk->second.cases;
    for (const auto& [index, known] : chunk->second.known) loaded.known.push_back(known);
    return loaded;
  }

  void store(const record::InsertChunk& r) {
    const StoredChunk chunk{r.first_case, r.cases, r.hash, {}, {}};
    ASSERT(chunks_.try_emplace({r.job.value, r.chunk_no}, chunk).second);
  }
  void store(const record::InsertResults& r) {
    for (const record::ResultRow& row : r.rows) {
      StoredChunk& chunk = chunks_.at({r.job.value, row.chunk_no});
      const std::uint64_t position = row.case_no.value - chunk.first_case.value;
      ASSERT(position < chunk.cases->count() && row.index < r.results.results.size());
      const auto index = static_cast<std::uint32_t>(position);
      ASSERT(chunk.done.insert(index).second);
      const CaseResult& result = r.results.results[row.index];
      chunk.known[index] = {.index = index,
                            .verdict = result.verdict,
                            .time_us = result.time_us,
                            .memory_bytes = result.memory_bytes,
                            .has_answer = result.has_answer,
                            .answer_bytes = result.answer.size(),
                            .answer_digest = wire::digest_of(result.answer)};
    }
  }
  void store(const record::ReviseResults& r) {
    StoredChunk& chunk = chunks_.at({r.job.value, r.chunk_no});
    for (std::uint32_t i = 0; i < r.count; ++i) {
      const std::uint64_t index = r.first_case.value + i - chunk.first_case.value;
      ASSERT(chunk.done.erase(static_cast<std::uint32_t>(index)) == 1);
      chunk.known.erase(static_cast<std::uint32_t>(index));
    }
  }
  template <class Other>
  void store(const Other&) {}

  // As the reactor does with a message, and then the peer.
  void check(const Send& send) {
    if (const auto* to_client = std::get_if<ClientMessage>(&send.what)) {
      const std::uint64_t id = std::visit([](const auto& m) { return m.request; }, *to_client);
      proto::ClientReply reply;
      ASSERT(wire::decode(codec::encode(*to_client), wire::Role::kBroker, wire::kMessageBytesMax,
                          reply) == wire::DecodeError::kNone);
      ASSERT(reply.id() == id);
      const auto open = open_requests_.find(send.to.value);
      if (open == open_requests_.end()) return;  // gone
      const auto request = open->second.find(id);
      ASSERT(request != open->second.end());
      open->second.erase(request);
      return;
    }
    const std::string frame = codec::encode(std::get<WorkerMessage>(send.what));
    ASSERT(std::holds_alternative<host::Event>(host::decode_frame(frame)));
  }

  Broker broker_;
  Now now_{1'000, 1'700'000'000'000};
  std::array<std::uint64_t, fuzz::kPeers> connections_{};
  std::uint64_t effects_step_ = 0;
  std::uint64_t durable_step_ = 0;
  std::vector<Send> held_;
  std::vector<event::ChunkLoaded> loaded_;
  std::vector<event::ChunkCompared> compared_;
  std::vector<event::CanariesLoaded> canaries_;
  std::map<std::pair<std::uint64_t, ChunkNo>, StoredChunk> chunks_;
  std::map<std::uint64_t, std::multiset<std::uint64_t>> open_requests_;
};

}  // namespace
}  // namespace puzzled

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace puzzled;
  std::string_view in = fuzz::input(data, size);
  Daemon daemon;
  for (std::size_t step = 0; step < kStepsMax && !in.empty(); ++step) {
    const auto op = static_cast<std::uint8_t>(in.front());
    in.remove_prefix(1);
    daemon.carry_out(op, fuzz::take_part(in));
    // Half of the bytes commit at once, so that most inputs get somewhere.
    if (op < 128) daemon.commit();
  }
  daemon.commit();
  return 0;
}
