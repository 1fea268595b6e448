// Model clients, workers, a store and a network in one thread, all from a seed. After every step
// the broker checks its invariants; in the end every case must have exactly one result on record.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "daemon/broker/broker.h"
#include "tests/broker/driver.h"
#include "tests/broker/model_disk.h"

namespace puzzled {
namespace {

struct ModelWorker {
  struct Held {
    std::uint32_t attempt = 1;
    std::uint32_t count = 0;
    std::set<std::uint32_t> open;
    std::uint32_t next_part = 0;
    bool sent_all = false;
    std::map<std::uint32_t, std::vector<std::uint32_t>> unstored;
  };
  std::uint64_t peer = 0;
  Bytes16 start{};
  std::vector<std::string> puzzles;
  std::uint32_t capacity = 1;
  Boot boot;
  bool wants_ready = true;
  bool dead = false;
  std::map<std::uint64_t, Held> leases;
  std::uint64_t progress = 0;
};

struct ModelClient {
  std::uint8_t id = 0;
  std::string puzzle;
  std::int32_t priority = 0;
  std::vector<std::uint32_t> chunks;
  std::uint32_t next = 0;
  bool opened = false;
  bool sealed = false;
  bool accepted_seal = false;
  bool cancelled = false;
  std::uint64_t job = 0;
  bool done = false;  // was told so
};

// What the runs came across: a test that meets no fault proves nothing.
struct Met {
  std::uint64_t dispatches = 0;
  std::uint64_t alone = 0;
  std::uint64_t results = 0;
  std::uint64_t attempts = 0;
  std::uint64_t quarantined = 0;
  std::uint64_t stale = 0;
  std::uint64_t revoked = 0;
  std::uint64_t loads = 0;
  std::uint64_t loads_with_done = 0;
  std::uint64_t restarts = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t finished = 0;
  std::uint64_t errors = 0;
};

class World {
 public:
  World(std::uint64_t seed, Met& met) : random_(seed), met_(met) {
    options_.heartbeat_interval_ms = random_.from_to(10, 200);
    options_.liveness_ms = options_.heartbeat_interval_ms * 3;
    options_.lease_margin_ms = random_.from_to(1, 5'000);
    options_.dispatch_cases_first = random_.from_to(1, 20);
    options_.dispatch_cases_max = random_.from_to(1, 60);
    options_.dispatch_bytes_max = random_.from_to(50, 2'000);
    options_.attempts_max = random_.from_to(1, 4);
    options_.window_bytes_max = random_.from_to(500, 20'000);
    options_.job_window_bytes_max = random_.from_to(500, 10'000);
    options_.undurable_results_bytes_max = random_.from_to(500, 50'000);
    options_.unacknowledged_chunks_max = random_.from_to(1, 4);
    restart();
    const std::uint32_t clients = random_.from_to(1, 8);
    for (std::uint32_t i = 0; i < clients; ++i) {
      ModelClient client;
      client.id = static_cast<std::uint8_t>(i + 1);
      client.puzzle = kPuzzles[random_.below(kPuzzles.size())];
      client.priority = static_cast<std::int32_t>(random_.from_to(0, 2)) - 1;
      for (std::uint32_t n = random_.from_to(0, 12); n > 0; --n) {
        client.chunks.push_back(random_.from_to(random_.one_in(5) ? 0 : 1, 50));
      }
      clients_.push_back(std::move(client));
    }
    for (std::uint32_t n = random_.from_to(1, 5); n > 0; --n) add_worker();
  }

  void run() {
    for (int i = 0; i < 3'000; ++i) chaos();
    calm_ = true;
    // One worker that can do everything, and time for all that was begun to end.
    add_worker();
    workers_.back().puzzles = kPuzzles;
    for (int i = 0; i < 30'000 && !all_done(); ++i) peace();
    EXPECT_TRUE(all_done()) << "something waits for ever" << state();
    for (const auto& [id, job] : disk_.jobs) {
      if (job.cancelled) continue;
      std::uint64_t cases = 0;
      for (const auto& [no, chunk] : job.chunks) cases += chunk.cases->count();
      EXPECT_EQ(job.results.size(), cases);
      EXPECT_TRUE(job.finished);
    }
    EXPECT_EQ(broker_->leases(), 0U);
  }

 private:
  // ---- The daemon's shell.
  void restart() {
    ++met_.restarts;
    uncommitted_.clear();
    held_.clear();
    loads_.clear();
    boot_ = Boot{boot_.value + 1};
    durable_ = 0;
    broker_ = std::make_unique<Broker>(options_, disk_.recover(boot_));
    connection_base_ += 1'000;
    for (ModelWorker& worker : workers_) worker.peer = 0;  // every connection is gone
    for (ModelClient& client : clients_) {
      client.opened = false;
      client.sealed = false;
    }
  }

  void step(Event event) {
    Effects effects;
    broker_->step(now_, std::move(event), effects);
    broker_->check_invariants();
    count(effects);
    if (!effects.records.empty()) {
      ASSERT_GT(effects.step, last_step());
      uncommitted_.push_back({effects.step, std::move(effects.records)});
    }
    for (Send& send : effects.when_durable) held_.push_back({effects.step, std::move(send)});
    for (const LoadChunk& load : effects.loads) loads_.push_back({last_step(), load});
    for (const Send& send : effects.now) deliver(send);
  }
  void count(const Effects& effects) {
    for (const Record& record : effects.records) {
      met_.attempts += std::holds_alternative<record::InsertAttempt>(record) ? 1 : 0;
      met_.cancelled += std::holds_alternative<record::CancelJob>(record) ? 1 : 0;
      met_.finished += std::holds_alternative<record::FinishJob>(record) ? 1 : 0;
      const auto* results = std::get_if<record::InsertResults>(&record);
      if (results == nullptr) continue;
      met_.results += results->rows.size();
      met_.quarantined += results->results.results[0].message.starts_with("quarantined: ") ? 1 : 0;
    }
    for (const LoadChunk& load : effects.loads) {
      ++met_.loads;
      met_.loads_with_done += load.with_done ? 1 : 0;
    }
  }
  [[nodiscard]] std::uint64_t last_step() const {
    return uncommitted_.empty() ? durable_ : uncommitted_.back().first;
  }
  void commit() {
    if (uncommitted_.empty()) return release();
    std::uint64_t n = 1 + random_.below(uncommitted_.size());
    for (; n > 0; --n) {
      durable_ = uncommitted_.front().first;
      for (const Record& record : uncommitted_.front().second) disk_.apply(record);
      uncommitted_.pop_front();
    }
    step(event::RecordsDurable{durable_});
    release();
  }
  void release() {
    while (!held_.empty() && held_.front().first <= durable_) {
      const Send send = std::move(held_.front().second);
      held_.pop_front();
      deliver(send);
    }
  }
  void load() {
    if (loads_.empty()) return;
    while (durable_ < loads_.front().first && !uncommitted_.empty()) commit();
    if (loads_.empty() || durable_ < loads_.front().first) return;
    const LoadChunk load = loads_.front().second;
    loads_.pop_front();
    const Disk::Chunk& chunk = disk_.jobs.at(load.job.value).chunks.at(load.chunk_no);
    std::vector<std::uint32_t> done;
    if (load.with_done) done.assign(chunk.done.begin(), chunk.done.end());
    EXPECT_EQ(chunk.cases->count(), load.case_count);
    step(event::ChunkLoaded{load.job, load.chunk_no, chunk.cases, std::move(done)});
  }

  // ---- The network. What is sent to a connection that is gone is lost.
  void deliver(const Send& send) {
    if (const auto* to_client = std::get_if<ClientMessage>(&send.what)) {
      if (send.to == kCanceller) tell_canceller(*to_client);
      for (ModelClient& client : clients_) {
        if (client.id == send.to.value) tell_client(client, *to_client);
      }
      return;
    }
    for (ModelWorker& worker : workers_) {
      if (worker.peer != send.to.value || worker.peer == 0 || worker.dead) continue;
      std::visit([&](const auto& m) { tell(worker, m); }, std::get<WorkerMessage>(send.what));
      return;
    }
  }

  // ---- Clients.
  void tell_client(ModelClient& client, const ClientMessage& message) {
    // Whatever is promised must be on the disk by then.
    if (const auto* sealed = std::get_if<message::JobSealed>(&message)) {
      client.accepted_seal = true;
      client.job = sealed->job.value;
      EXPECT_TRUE(disk_.jobs.at(sealed->job.value).sealed);
    }
    if (const auto* done = std::get_if<message::JobDone>(&message)) {
      client.done = true;
      const Disk::JobRow& job = disk_.jobs.at(done->job.value);
      EXPECT_TRUE(job.finished || job.cancelled) << "told too early";
    }
    if (const auto* accepted = std::get_if<message::ChunkAccepted>(&message)) {
      const auto job = std::ranges::find_if(disk_.jobs, [&](const auto& entry) {
        return entry.second.request_id == bytes16(client.id);
      });
      ASSERT_NE(job, disk_.jobs.end());
      EXPECT_TRUE(job->second.chunks.contains(accepted->chunk_no));
    }
    if (const auto* opened = std::get_if<message::JobOpened>(&message)) {
      EXPECT_TRUE(disk_.jobs.contains(opened->job.value));
      EXPECT_GE(disk_.jobs.at(opened->job.value).chunks.size(), opened->next_chunk);
      client.next = opened->next_chunk;
      client.opened = true;
    }
    if (const auto* error = std::get_if<message::Error>(&message)) {
      using message::ErrorCode;
      ++met_.errors;
      client.opened = client.sealed = false;  // ask where to go on
      if (error->code == ErrorCode::kJobCancelled) client.cancelled = true;
      EXPECT_NE(error->code, ErrorCode::kConflict) << error->text;
      EXPECT_NE(error->code, ErrorCode::kInvalidArgument) << error->text;
    }
  }
  // Cancelling is promised with the commit, too: who gets no answer asks again.
  void cancel(JobId job) {
    to_cancel_.insert(job.value);
    step(event::CancelJob{kCanceller, ++request_, job, "no more"});
  }
  void tell_canceller(const ClientMessage& message) {
    if (const auto* cancelled = std::get_if<message::JobCancelled>(&message)) {
      EXPECT_TRUE(disk_.jobs.at(cancelled->job.value).cancelled) << "told too early";
      to_cancel_.erase(cancelled->job.value);
    }
    if (const auto* error = std::get_if<message::Error>(&message)) {
      EXPECT_EQ(error->code, message::ErrorCode::kJobFinished);
    }
  }
  void move_client() {
    ModelClient& client = clients_[random_.below(clients_.size())];
    if (client.done || client.cancelled) return;
    if (client.accepted_seal) {
      step(event::WaitJob{PeerId{client.id}, ++request_, JobId{client.job}});
      return;
    }
    const PeerId peer{client.id};
    if (!client.opened) {
      JobSpec spec;
      spec.puzzle = client.puzzle;
      spec.solver = "fast";
      spec.priority = client.priority;
      spec.limits.time_limit_us = 1'000;
      step(event::OpenJob{peer, ++request_, bytes16(client.id), spec});
      client.next = 0;
      client.opened = random_.one_in(2);  // some do not wait for the reply
      return;
    }
    if (client.next < client.chunks.size()) {
      const ChunkNo no = client.next++;
      step(event::AddChunk{
          peer, ++request_, bytes16(client.id), no, {}, make_cases(client.chunks[no], 7), kHash});
    } else if (!client.sealed || random_.one_in(3)) {
      client.sealed = true;
      std::uint64_t digest = wire::kEmptyDigest;
      std::uint64_t cases = 0;
      for (const std::uint32_t chunk : client.chunks) {
        digest = wire::fold_digest(digest, kHash);
        cases += chunk;
      }
      step(event::SealJob{peer, ++request_, bytes16(client.id),
                          static_cast<std::uint32_t>(client.chunks.size()), cases, 0, digest});
    }
  }

  // ---- Workers.
  void add_worker() {
    ModelWorker worker;
    for (auto& byte : worker.start) byte = static_cast<std::uint8_t>(random_.below(256));
    worker.capacity = random_.from_to(1, 4);
    for (const std::string& puzzle : kPuzzles) {
      if (!random_.one_in(3)) worker.puzzles.push_back(puzzle);
    }
    workers_.push_back(std::move(worker));
  }
  void say_ready(ModelWorker& worker) {
    if (worker.peer == 0) worker.peer = ++connection_base_;
    worker.wants_ready = false;
    event::WorkerReady e;
    e.peer = PeerId{worker.peer};
    e.start_id = worker.start;
    e.name = "w";
    e.capacity = worker.capacity;
    for (const std::string& puzzle : worker.puzzles) e.offers.push_back({puzzle, "fast", "1"});
    e.boot = worker.boot;
    for (const auto& [id, held] : worker.leases) e.leases.push_back(LeaseId{id});
    step(std::move(e));
  }
  void tell(ModelWorker& worker, const message::Welcome& m) {
    if (m.boot.value == 0) {
      worker.wants_ready = true;
      return;
    }
    if (m.boot != worker.boot) worker.leases.clear();
    worker.boot = m.boot;
  }
  void tell(ModelWorker& worker, const message::Dispatch& m) {
    ++met_.dispatches;
    met_.alone += m.alone ? 1 : 0;
    EXPECT_EQ(m.boot, boot_);
    if (m.boot != worker.boot) return;
    ModelWorker::Held held;
    held.attempt = m.attempt;
    for (const message::Slice& slice : m.slices) {
      EXPECT_GT(slice.count, 0U);
      EXPECT_TRUE(std::ranges::any_of(disk_.jobs.at(m.job.value).chunks, [&](const auto& entry) {
        return entry.second.cases == slice.cases;
      })) << "dispatched before it was durable";
      EXPECT_LE(slice.first + slice.count, slice.cases->count());
      held.count += slice.count;
    }
    EXPECT_LE(held.count, options_.dispatch_cases_max);
    for (std::uint32_t i = 0; i < held.count; ++i) held.open.insert(i);
    EXPECT_TRUE(worker.leases.emplace(m.lease.value, held).second);
  }
  void tell(ModelWorker& worker, const message::Stored& m) {
    const auto it = worker.leases.find(m.lease.value);
    if (it == worker.leases.end()) return;
    it->second.unstored.erase(m.part);
    if (it->second.unstored.empty() && it->second.open.empty()) worker.leases.erase(it);
  }
  void tell(ModelWorker& worker, const message::Stale& m) {
    ++met_.stale;
    worker.leases.erase(m.lease.value);
  }
  void tell(ModelWorker& worker, const message::Revoke& m) {
    met_.revoked += m.leases.size();
    for (const LeaseId lease : m.leases) worker.leases.erase(lease.value);
  }
  void tell(ModelWorker&, const message::Drain&) {}
  void tell(ModelWorker&, const message::Heartbeat&) {}
  void tell(ModelWorker& worker, const message::Refused& m) {
    ADD_FAILURE() << "a worker was refused: " << m.text;
    worker.dead = true;
  }
  void send_part(ModelWorker& worker, std::uint64_t lease, std::uint32_t part) {
    const ModelWorker::Held& held = worker.leases.at(lease);
    step(event::WorkerResults{PeerId{worker.peer}, worker.boot, LeaseId{lease}, held.attempt, part,
                              make_results(held.unstored.at(part)), random_.below(10'000),
                              worker.capacity});
  }
  void beat(ModelWorker& worker) {
    event::WorkerHeartbeat e;
    e.peer = PeerId{worker.peer};
    e.boot = worker.boot;
    e.capacity = worker.capacity;
    for (const auto& [id, held] : worker.leases) {
      e.leases.push_back(LeaseId{id});
      if (!held.open.empty())
        e.slots.push_back({LeaseId{id}, *held.open.begin(), ++worker.progress});
    }
    step(std::move(e));
  }
  void work(ModelWorker& worker) {
    if (worker.leases.empty()) return;
    auto it = worker.leases.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random_.below(worker.leases.size())));
    const std::uint64_t lease = it->first;
    ModelWorker::Held& held = it->second;
    if (!held.unstored.empty() && random_.one_in(4)) {
      return send_part(worker, lease, held.unstored.begin()->first);
    }
    if (held.open.empty()) return;
    std::vector<std::uint32_t> some;
    while (!held.open.empty() && (some.empty() || !random_.one_in(20))) {
      some.push_back(*held.open.begin());
      held.open.erase(held.open.begin());
    }
    if (!calm_ && random_.one_in(6)) {
      event::WorkerReturn e{PeerId{worker.peer}, worker.boot, LeaseId{lease},
                            held.attempt,        {},          worker.capacity};
      for (const std::uint32_t position : some) e.positions.push_back({position, 1});
      if (held.open.empty() && held.unstored.empty()) worker.leases.erase(it);
      return step(std::move(e));
    }
    held.unstored[held.next_part] = std::move(some);
    send_part(worker, lease, held.next_part++);
  }
  void move_worker() {
    ModelWorker& worker = workers_[random_.below(workers_.size())];
    if (worker.dead) return;
    if (worker.peer == 0 || worker.wants_ready) return say_ready(worker);
    random_.one_in(3) ? beat(worker) : work(worker);
  }
  // Something bad, or just unusual.
  void fault() {
    ModelWorker& worker = workers_[random_.below(workers_.size())];
    switch (random_.below(7)) {
      case 0:  // dies; another process takes its place
        worker.dead = true;
        if (random_.one_in(2) && worker.peer != 0) step(event::WorkerGone{PeerId{worker.peer}});
        std::erase_if(workers_, [](const ModelWorker& w) { return w.dead; });
        return add_worker();
      case 1:  // loses its connection
        if (worker.peer != 0) step(event::WorkerGone{PeerId{worker.peer}});
        worker.peer = 0;
        return;
      case 2: {  // goes away properly
        if (worker.peer != 0) step(event::WorkerGoodbye{PeerId{worker.peer}, "bye"});
        worker.dead = true;
        std::erase_if(workers_, [](const ModelWorker& w) { return w.dead; });
        return add_worker();
      }
      case 3:
        worker.capacity = random_.from_to(0, 4);
        return;
      case 4:
        if (random_.one_in(3)) restart();
        return;
      case 5:
        return pass(options_.liveness_ms);
      default:
        if (!disk_.jobs.empty() && random_.one_in(6)) {
          cancel(disk_job());
        }
    }
  }
  // Who waits for what, for people who look into a failure.
  [[nodiscard]] std::string state() const {
    std::string text;
    for (const auto& [id, job] : disk_.jobs) {
      if (job.cancelled || job.finished) continue;
      std::uint64_t cases = 0;
      for (const auto& [no, chunk] : job.chunks) cases += chunk.cases->count();
      const JobView view = broker_->job_view(JobId{id});
      text += "\njob " + std::to_string(id) + " of " + job.spec->puzzle +
              (job.sealed ? " sealed" : " open") + ", " + std::to_string(job.results.size()) +
              " of " + std::to_string(cases) + " done, " + std::to_string(view.leased) +
              " leased; " + view.waiting_for;
    }
    for (const ModelClient& client : clients_) {
      if (client.done || client.cancelled) continue;
      text += "\nclient " + std::to_string(client.id) + (client.opened ? " opened" : "") +
              " at chunk " + std::to_string(client.next) + " of " +
              std::to_string(client.chunks.size()) + (client.sealed ? " sealed" : "") +
              (client.accepted_seal ? " accepted" : "");
    }
    for (const ModelWorker& worker : workers_) {
      text += "\nworker on " + std::to_string(worker.peer) + " holds " +
              std::to_string(worker.leases.size()) + " of " + std::to_string(worker.capacity) +
              (worker.wants_ready ? " wants ready" : "");
    }
    return text + "\n" + std::to_string(uncommitted_.size()) + " steps uncommitted";
  }
  JobId disk_job() {
    auto it = disk_.jobs.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random_.below(disk_.jobs.size())));
    return JobId{it->first};
  }

  void pass(std::uint64_t ms) {
    now_.steady_ms += static_cast<std::int64_t>(ms);
    now_.wall_ms += static_cast<std::int64_t>(ms);
    step(event::Tick{});
  }
  void chaos() {
    switch (random_.below(12)) {
      case 0:
        return fault();
      case 1:
      case 2:
        return commit();
      case 3:
        return load();
      case 4:
        return pass(random_.below(options_.heartbeat_interval_ms));
      case 5:
      case 6:
        return move_client();
      default:
        return move_worker();
    }
  }
  void peace() {
    const std::set<std::uint64_t> open = to_cancel_;
    for (const std::uint64_t job : open) {
      if (disk_.jobs.at(job).finished) {
        to_cancel_.erase(job);
      } else {
        cancel(JobId{job});
      }
    }
    move_client();
    commit();
    load();
    pass(random_.below(options_.heartbeat_interval_ms / 4));
    for (ModelWorker& worker : workers_) {
      if (worker.dead) continue;
      worker.capacity = std::max(1U, worker.capacity);
      if (worker.peer == 0 || worker.wants_ready) {
        say_ready(worker);
      } else {
        beat(worker);
        work(worker);
      }
    }
  }
  [[nodiscard]] bool all_done() const {
    for (const ModelClient& client : clients_) {
      if (!client.done && !client.cancelled) return false;
    }
    for (const auto& [id, job] : disk_.jobs) {
      if (!job.cancelled && !job.finished) return false;
    }
    return to_cancel_.empty() && uncommitted_.empty() && broker_->leases() == 0;
  }

  static constexpr PeerId kCanceller{99};
  Random random_;
  Met& met_;
  BrokerOptions options_;
  bool calm_ = false;
  Now now_{1'000, 1'700'000'000'000};
  Boot boot_;
  std::unique_ptr<Broker> broker_;
  Disk disk_;
  std::deque<std::pair<std::uint64_t, std::vector<Record>>> uncommitted_;
  std::deque<std::pair<std::uint64_t, Send>> held_;
  std::deque<std::pair<std::uint64_t, LoadChunk>> loads_;
  std::uint64_t durable_ = 0;
  std::uint64_t request_ = 0;
  std::uint64_t connection_base_ = 1'000;
  std::set<std::uint64_t> to_cancel_;
  std::vector<ModelClient> clients_;
  std::vector<ModelWorker> workers_;
};

TEST(Random, EveryCaseEndsWithOneResult) {
  const char* given = std::getenv("PUZZLED_SEED");
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  const std::uint64_t count = given != nullptr ? 1 : 300;
  std::cout << "seeds " << first << " to " << first + count - 1 << '\n';
  Met met;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("PUZZLED_SEED=" + std::to_string(seed));
    std::cerr << "\rseed " << seed << ' ';  // an abort must be repeatable, too
    World(seed, met).run();
    if (testing::Test::HasFailure()) {
      std::cout << "failed: repeat with PUZZLED_SEED=" << seed << '\n';
      return;
    }
  }
  const std::vector<std::pair<std::string, std::uint64_t>> counts = {
      {"dispatches", met.dispatches},
      {"alone", met.alone},
      {"results", met.results},
      {"attempts", met.attempts},
      {"quarantined", met.quarantined},
      {"stale", met.stale},
      {"revoked", met.revoked},
      {"loads", met.loads},
      {"with done", met.loads_with_done},
      {"restarts", met.restarts},
      {"cancelled", met.cancelled},
      {"finished", met.finished},
      {"errors", met.errors}};
  for (const auto& [name, number] : counts) {
    std::cout << name << ' ' << number << '\n';
    EXPECT_GT(number, given == nullptr ? 50U : 0U) << name << ": hardly met, so hardly tested";
  }
}

}  // namespace
}  // namespace puzzled
